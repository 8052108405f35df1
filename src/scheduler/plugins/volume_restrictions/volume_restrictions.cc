// SPDX-License-Identifier: Apache-2.0
// Keeps pods off nodes where a disk that only one may use is in use, and away altogether from
// claims that only one pod may use.
#include <algorithm>
#include <set>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/what_if.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/pod_claims.h"

namespace berth::scheduler {
namespace {

using Kind = PodVolume::Kind;

bool share_a_monitor(json::Slice a, json::Slice b) {
  for (const json::Slice one : a.elements())
    for (const json::Slice other : b.elements())
      if (one.text() == other.text()) return true;
  return false;
}

bool conflict(const PodVolume& a, const PodVolume& b) {
  if (a.kind != b.kind) return false;
  const bool both_read = a.read_only && b.read_only;
  const auto same = [&](std::string_view source, std::string_view member) {
    return a.source[source][member].text() == b.source[source][member].text();
  };
  switch (a.kind) {
    case Kind::kGcePd:
      return !both_read && same("gcePersistentDisk", "pdName");
    case Kind::kEbs:
      return same("awsElasticBlockStore", "volumeID");
    case Kind::kIscsi:
      return !both_read && same("iscsi", "iqn");
    case Kind::kRbd:
      return !both_read && same("rbd", "pool") && same("rbd", "image") &&
             share_a_monitor(a.source["rbd"]["monitors"], b.source["rbd"]["monitors"]);
    default:
      return false;
  }
}

bool restricted(const PodVolume& volume) {
  return volume.kind == Kind::kGcePd || volume.kind == Kind::kEbs || volume.kind == Kind::kIscsi ||
         volume.kind == Kind::kRbd;
}

bool disks_conflict(const Pod& pod, const Pod& other) {
  for (const PodVolume& volume : volumes_of(pod))
    for (const PodVolume& held : volumes_of(other))
      if (conflict(volume, held)) return true;
  return false;
}

struct Claims final : CycleState {
  std::set<std::string, std::less<>> names;  // those that only one pod may use
  std::int32_t in_use = 0;
  bool disks = false;  // the pod has disks that can conflict
};

Hint after_pod_gone(const Pod& pod, const Change& change, const ClusterState&) {
  const Pod* gone = change.pod_before.get();
  if (gone == nullptr) return Hint::kQueue;
  if (gone->ns != pod.ns) return Hint::kSkip;
  if (disks_conflict(pod, *gone)) return Hint::kQueue;
  for (const PodVolume& volume : volumes_of(pod))
    for (const PodVolume& held : volumes_of(*gone))
      if (volume.kind == Kind::kClaim && held.kind == Kind::kClaim && volume.claim == held.claim)
        return Hint::kQueue;
  return Hint::kSkip;
}

class VolumeRestrictions final : public Filter {
 public:
  explicit VolumeRestrictions(const PluginContext& context)
      : Plugin(context),
        no_disk_(context.reasons.id(context.id, Code::kUnschedulable,
                                    {"node(s) had no available disk"})),
        claim_in_use_(context.reasons.id(
            context.id, Code::kUnschedulable,
            {"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
             "already in-use by another pod"})) {}

  PreFilterResult prepare(Cycle& cycle) const override {
    const Pod& pod = cycle.pod;
    if (!pod.volumes) return PreFilterResult::skip();
    Claims& claims = cycle.emplace_state<Claims>(slot());
    for (const PodVolume& volume : volumes_of(pod)) {
      claims.disks = claims.disks || restricted(volume);
      if (volume.kind != Kind::kClaim) continue;
      const ClaimPtr claim = cycle.cluster.storage().claim(claim_key(pod, volume.claim));
      if (!claim) return {Status::unresolvable(claim_not_found(volume.claim))};
      if (claim->for_one_pod) claims.names.insert(claim->name);
    }
    for (const std::string& name : claims.names)
      if (cycle.cluster.claim_users(claim_key(pod, name)) > 0) ++claims.in_use;
    if (!claims.disks && claims.in_use == 0) return PreFilterResult::skip();
    return {};
  }

  Status filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                Rejections* why) const override {
    const Claims* claims = cycle.state<Claims>(slot());
    if (claims == nullptr)  // what kube-scheduler says where PreFilter is switched off
      return Status::error("cannot read \"PreFilterVolumeRestrictions\" from cycleState");
    keep.for_each([&](std::uint32_t row) {
      bool taken = false;
      if (claims->disks)
        rows.for_each_pod(
            row, [&](const Pod& other) { taken = taken || disks_conflict(cycle.pod, other); });
      if (!taken && claims->in_use + moved_in(rows, row) <= 0) return;
      keep.erase(row);
      if (why != nullptr) why->reject(row, taken ? no_disk_ : claim_in_use_);
    });
    return {};
  }

  // k8s 1.36: what is moved is told by the names of claims alone, whatever their namespaces; and a
  // pod counts once for each of its volumes, while the pods on nodes count once a claim.
  bool sees_moves() const override { return true; }
  void moved(const Cycle& cycle, const Rows&, std::uint32_t, const Pod& pod, int sign,
             std::vector<std::int32_t>& deltas) const override {
    const Claims& claims = *cycle.state<Claims>(slot());
    if (deltas.empty()) deltas.push_back(0);
    for (const PodVolume& volume : volumes_of(pod))
      if (volume.kind == Kind::kClaim && claims.names.contains(volume.claim)) deltas[0] += sign;
  }

  std::optional<std::vector<EventInterest>> events() const override {
    return {{{{EventResource::kPod, action::kDelete}, after_pod_gone},
             {{EventResource::kNode, action::kAdd}},
             {{EventResource::kPersistentVolumeClaim, action::kAdd}, if_named_by_volume}}};
  }

 private:
  std::int32_t moved_in(const Rows& rows, std::uint32_t row) const {
    if (rows.what_if == nullptr) return 0;
    const std::span<const std::int32_t> deltas = rows.what_if->deltas(rows.begin + row, slot());
    return deltas.empty() ? 0 : deltas[0];
  }

  ReasonId no_disk_, claim_in_use_;
};

}  // namespace

std::unique_ptr<Plugin> make_volume_restrictions(const PluginContext& context) {
  return std::make_unique<VolumeRestrictions>(context);
}

}  // namespace berth::scheduler
