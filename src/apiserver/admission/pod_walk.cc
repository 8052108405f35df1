// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/pod_walk.h"

namespace berth::apiserver {

namespace {

bool volume_names_secret(Peek volume) {
  for (const std::string_view source : {"azureFile", "secret"})
    if (!volume[source]["secretName"].text().empty()) return true;
  for (const std::string_view source :
       {"cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"})
    if (volume[source]["secretRef"]) return true;
  if (volume["csi"]["nodePublishSecretRef"]) return true;
  for (const json::Value& source : volume["projected"]["sources"].elements())
    if (Peek(source)["secret"]) return true;
  return false;
}

}  // namespace

bool names_secrets(Peek spec) {
  if (spec["imagePullSecrets"].size() > 0) return true;
  bool found = false;
  each_container(spec, [&](Peek container, std::string_view, std::size_t) {
    for (const json::Value& env : container["env"].elements())
      if (Peek(env)["valueFrom"]["secretKeyRef"]) found = true;
    for (const json::Value& from : container["envFrom"].elements())
      if (Peek(from)["secretRef"]) found = true;
  });
  for (const json::Value& volume : spec["volumes"].elements())
    if (volume_names_secret(volume)) found = true;
  return found;
}

std::string name_suffix(Random& random) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  for (int i = 0; i < 5; ++i) out += kAlphabet[random.below(kAlphabet.size())];
  return out;
}

}  // namespace berth::apiserver
