// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "scheduler/cache/pod_fields.h"

namespace berth::scheduler {
namespace {

using Kind = PodVolume::Kind;

// kInline: CSI volumes, and in-tree ones that have a CSI driver by now (as GCE and EBS also have).
constexpr std::pair<std::string_view, Kind> kSources[] = {
    {"persistentVolumeClaim", Kind::kClaim},
    {"ephemeral", Kind::kEphemeral},
    {"gcePersistentDisk", Kind::kGcePd},
    {"awsElasticBlockStore", Kind::kEbs},
    {"iscsi", Kind::kIscsi},
    {"rbd", Kind::kRbd},
    {"csi", Kind::kInline},
    {"azureDisk", Kind::kInline},
    {"azureFile", Kind::kInline},
    {"cinder", Kind::kInline},
    {"portworxVolume", Kind::kInline},
    {"vsphereVolume", Kind::kInline},
};

const std::pair<std::string_view, Kind>* source_named(std::string_view name) {
  for (const auto& source : kSources)
    if (source.first == name) return &source;
  return nullptr;
}

}  // namespace

std::shared_ptr<const PodVolumes> volumes_of(const PodFields& fields, const kube::Object& pod) {
  std::shared_ptr<PodVolumes> out;
  for (const json::Slice volume : fields.volumes) {
    json::Slice name, found;
    Kind kind = Kind::kClaim;
    for (const auto& [key, value] : volume.members()) {
      if (key == "name") {
        name = value;
      } else if (const auto* source = source_named(key); source != nullptr && stated(value)) {
        found = value;
        kind = source->second;
      }
    }
    if (!found.present()) continue;
    if (!out) out = std::make_shared<PodVolumes>();
    PodVolume& made = out->list.emplace_back();
    made.kind = kind;
    made.name = name.text();
    made.read_only = found["readOnly"].boolean();
    if (kind == Kind::kClaim) {
      made.claim = found["claimName"].text();
    } else if (kind == Kind::kEphemeral) {
      made.claim = std::string(pod.name()) + "-" + made.name;
    } else {
      made.source = volume;
      out->document = pod;
    }
  }
  return out;
}

}  // namespace berth::scheduler
