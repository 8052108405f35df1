// SPDX-License-Identifier: Apache-2.0
// Keeps pods to the zones and regions that their volumes are labelled with.
#include <algorithm>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/pod_claims.h"

namespace berth::scheduler {
namespace {

constexpr std::string_view kZone = "topology.kubernetes.io/zone",
                           kRegion = "topology.kubernetes.io/region",
                           kBetaZone = "failure-domain.beta.kubernetes.io/zone",
                           kBetaRegion = "failure-domain.beta.kubernetes.io/region";

std::string_view without_beta(std::string_view key) {
  if (key == kBetaZone) return kZone;
  if (key == kBetaRegion) return kRegion;
  return key;
}

struct Zones final : CycleState {
  std::vector<ZoneLabel> labels;
};

bool fits(const std::vector<ZoneLabel>& wanted, const Labels& node) {
  // A cluster in one zone may do without labels.
  if (!node.has(kZone) && !node.has(kRegion) && !node.has(kBetaZone) && !node.has(kBetaRegion))
    return true;
  return std::all_of(wanted.begin(), wanted.end(), [&node](const ZoneLabel& zone) {
    std::optional<std::string_view> value = node.find(zone.key);
    if (!value) value = node.find(without_beta(zone.key));
    return value && zone.values.contains(*value);
  });
}

Hint after_class_added(const Pod&, const Change& change, const ClusterState&) {
  return change.after.member("volumeBindingMode").equals("WaitForFirstConsumer") ? Hint::kQueue
                                                                                 : Hint::kSkip;
}

Hint after_volume(const Pod&, const Change& change, const ClusterState&) {
  if (!change.before.valid()) return Hint::kQueue;
  return zones_of(change.before.labels()) == zones_of(change.after.labels()) ? Hint::kSkip
                                                                             : Hint::kQueue;
}

class VolumeZone final : public Filter {
 public:
  explicit VolumeZone(const PluginContext& context)
      : Plugin(context),
        reason_(context.reasons.id(context.id, Code::kUnresolvable,
                                   {"node(s) had no available volume zone"})) {}

  PreFilterResult prepare(Cycle& cycle) const override {
    if (!cycle.pod.volumes) return PreFilterResult::skip();
    std::vector<ZoneLabel> labels;
    Status status = zones_of_pod(cycle, labels);
    if (!status.ok()) return {std::move(status)};
    if (labels.empty()) return PreFilterResult::skip();
    cycle.emplace_state<Zones>(slot()).labels = std::move(labels);
    return {};
  }

  Status filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                Rejections* why) const override {
    if (!cycle.pod.volumes) return {};
    std::vector<ZoneLabel> found;
    const Zones* zones = cycle.state<Zones>(slot());
    if (zones == nullptr) {  // PreFilter is switched off
      Status status = zones_of_pod(cycle, found);
      if (!status.ok()) {
        if (!status.rejected()) return status;
        keep.for_each([&](std::uint32_t row) {
          keep.erase(row);
          if (why != nullptr) why->reject(row, why->table().id(id(), status.code, status.reasons));
        });
        return {};
      }
    }
    const std::vector<ZoneLabel>& labels = zones == nullptr ? found : zones->labels;
    keep.for_each([&](std::uint32_t row) {
      if (fits(labels, *cycle.cluster.node(rows.node[row]).labels)) return;
      keep.erase(row);
      if (why != nullptr) why->reject(row, reason_);
    });
    return {};
  }

  std::optional<std::vector<EventInterest>> events() const override {
    return {{{{EventResource::kStorageClass, action::kAdd}, after_class_added},
             {{EventResource::kNode, action::kAdd | action::kUpdateNodeLabel}},
             {{EventResource::kPersistentVolumeClaim, action::kAdd | action::kUpdate},
              if_named_by_volume},
             {{EventResource::kPersistentVolume, action::kAdd | action::kUpdate}, after_volume}}};
  }

 private:
  // Of claims only: k8s 1.36 does not look at ephemeral volumes here.
  static Status zones_of_pod(const Cycle& cycle, std::vector<ZoneLabel>& labels) {
    const StorageState& storage = cycle.cluster.storage();
    for (const PodVolume& volume : volumes_of(cycle.pod)) {
      if (volume.kind != PodVolume::Kind::kClaim) continue;
      if (volume.claim.empty()) return Status::unresolvable("PersistentVolumeClaim had no name");
      const ClaimPtr claim = storage.claim(claim_key(cycle.pod, volume.claim));
      if (!claim) return Status::unresolvable(claim_not_found(volume.claim));
      if (claim->volume_name.empty()) {
        Status status = check_unbound(storage, *claim);
        if (!status.ok()) return status;
        continue;
      }
      const VolumePtr bound = storage.volume(claim->volume_name);
      if (!bound)
        return Status::unresolvable(
            fmt::format("persistentvolume \"{}\" not found", claim->volume_name));
      labels.insert(labels.end(), bound->zones.begin(), bound->zones.end());
    }
    return {};
  }

  static Status check_unbound(const StorageState& storage, const Claim& claim) {
    if (claim.class_name.empty())
      return Status::unresolvable("PersistentVolumeClaim had no pv name and storageClass name");
    const StorageClassPtr of = storage.storage_class(claim.class_name);
    if (!of)
      return Status::unresolvable(
          fmt::format("storageclass.storage.k8s.io \"{}\" not found", claim.class_name));
    if (!of->binding_mode)
      return Status::unresolvable(
          fmt::format("VolumeBindingMode not set for StorageClass \"{}\"", claim.class_name));
    if (of->waits()) return {};
    return Status::unresolvable("PersistentVolume had no name");
  }

  ReasonId reason_;
};

}  // namespace

std::unique_ptr<Plugin> make_volume_zone(const PluginContext& context) {
  return std::make_unique<VolumeZone>(context);
}

}  // namespace berth::scheduler
