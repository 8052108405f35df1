// SPDX-License-Identifier: Apache-2.0
#include "controllers/persistent_volume/provisioning.h"

#include "controllers/persistent_volume/matching.h"
#include "json/writer.h"

namespace berth::controllers {
namespace {

using kube::Object;

constexpr const char* kHostname = "kubernetes.io/hostname";

// On the node that was chosen; where none was, wherever the class allows.
void write_affinity(json::Writer& w, const Object& storage_class, const Object* node) {
  const auto open = [&w] {
    w.member("nodeAffinity").object().member("required").object();
    w.member("nodeSelectorTerms").array();
  };
  if (node != nullptr) {
    const std::string host = node->label(kHostname);
    open();
    w.object().member("matchExpressions").array().object().member("key").string(kHostname);
    w.member("operator").string("In").member("values").array();
    w.string(host.empty() ? node->name() : std::string_view(host)).end().end().end().end();
    w.end().end().end();
    return;
  }
  const json::Slice allowed = storage_class.member("allowedTopologies");
  if (allowed.size() == 0) return;
  open();
  for (const json::Slice term : allowed.elements()) {
    w.object().member("matchExpressions").array();
    for (const json::Slice one : term["matchLabelExpressions"].elements()) {
      w.object().member("key").string(one["key"].text()).member("operator").string("In");
      w.member("values").raw(one["values"].raw()).end();
    }
    w.end().end();
  }
  w.end().end().end();
}

}  // namespace

std::string provisioned_name(const Object& claim) { return "pvc-" + std::string(claim.uid()); }

std::string provisioned_json(const Object& claim, const Object& storage_class, const Object* node) {
  const json::Slice spec = claim.member("spec");
  const json::Slice given_policy = storage_class.member("reclaimPolicy");
  const std::string policy = given_policy.is_string() ? given_policy.text() : "Delete";
  const std::string name = provisioned_name(claim);
  json::Writer w;
  w.object().member("apiVersion").string("v1").member("kind").string("PersistentVolume");
  w.member("metadata").object().member("name").string(name);
  w.member("annotations").object();
  w.member(volume_annotation::kProvisionedBy).string(kSimulated).end();
  if (policy == "Delete") w.member("finalizers").array().string(kProvisionerFinalizer).end();
  w.end();
  w.member("spec").object();
  w.member("capacity").object().member("storage");
  w.raw(spec["resources"]["requests"]["storage"].raw()).end();
  if (spec["accessModes"].present()) w.member("accessModes").raw(spec["accessModes"].raw());
  if (spec["volumeMode"].is_string()) w.member("volumeMode").raw(spec["volumeMode"].raw());
  if (spec["volumeAttributesClassName"].is_string())
    w.member("volumeAttributesClassName").raw(spec["volumeAttributesClassName"].raw());
  w.member("claimRef").raw(claim_ref_json(claim));
  w.member("persistentVolumeReclaimPolicy").string(policy);
  w.member("storageClassName").string(storage_class.name());
  if (storage_class.member("mountOptions").size() > 0)
    w.member("mountOptions").raw(storage_class.member("mountOptions").raw());
  w.member("csi").object().member("driver").string(kSimulated);
  w.member("volumeHandle").string(name).end();
  write_affinity(w, storage_class, node);
  w.end().end();
  return w.take();
}

bool waits_for_consumer(const Object& storage_class) {
  return storage_class.member("volumeBindingMode").equals("WaitForFirstConsumer");
}

bool is_default_class(const Object& storage_class) {
  return storage_class.annotation("storageclass.kubernetes.io/is-default-class") == "true" ||
         storage_class.annotation("storageclass.beta.kubernetes.io/is-default-class") == "true";
}

}  // namespace berth::controllers
