// SPDX-License-Identifier: Apache-2.0
// Keeps pods off nodes whose CSI drivers could not attach their volumes as well.
#include <algorithm>

#include "scheduler/cache/attached_volumes.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/what_if.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/pod_claims.h"

namespace berth::scheduler {
namespace {

using Kind = PodVolume::Kind;

struct Wanted {
  std::vector<Attachable> volumes;  // sorted, none twice
  Status status;                    // not ok: they cannot be told
};

bool attachable(const PodVolume& volume) {
  return by_claim(volume) || migratable(volume) != nullptr;
}

Wanted wanted_by(const Pod& pod, const StorageState& storage, bool has_csi_node) {
  Wanted wanted;
  if (Result<Ok> found = AttachableFinder(storage, has_csi_node).add(pod, true, wanted.volumes);
      !found)
    wanted.status = found.error().reason == Reason::kNotFound
                        ? Status::unresolvable(std::move(found.error().message))
                        : Status::error(std::move(found.error().message));
  sort_out(wanted.volumes);
  return wanted;
}

struct Limits final : CycleState {
  Wanted with_csi_node, without;
};

Hint after_pod_gone(const Pod&, const Change& change, const ClusterState&) {
  const Pod* gone = change.pod_before.get();
  if (gone == nullptr) return Hint::kQueue;
  if (!gone->assigned() && gone->nominated_node_name.empty()) return Hint::kSkip;
  const std::vector<PodVolume>& volumes = volumes_of(*gone);
  return std::any_of(volumes.begin(), volumes.end(), attachable) ? Hint::kQueue : Hint::kSkip;
}

Hint after_attachment_gone(const Pod& pod, const Change& change, const ClusterState&) {
  const std::string attacher = change.before.member("spec")["attacher"].text();
  for (const PodVolume& volume : volumes_of(pod)) {
    if (volume.kind == Kind::kClaim) return Hint::kQueue;
    const InTreePlugin* plugin = migratable(volume);
    if (plugin == nullptr) continue;
    // An error queues.
    if (plugin->driver == attacher || !csi_source_of_inline(*plugin, volume.source))
      return Hint::kQueue;
  }
  return Hint::kSkip;
}

std::map<std::string, std::int64_t> counts_of(const kube::Object& csi_node) {
  std::map<std::string, std::int64_t> out;
  for (const json::Slice driver : csi_node.member("spec")["drivers"].elements())
    out[driver["name"].text()] = driver["allocatable"]["count"].integer().value_or(0);
  return out;
}

Hint after_csi_node(const Pod&, const Change& change, const ClusterState&) {
  const std::map<std::string, std::int64_t> before = counts_of(change.before);
  for (const auto& [driver, count] : counts_of(change.after)) {
    const auto old = before.find(driver);
    if (count > (old == before.end() ? 0 : old->second)) return Hint::kQueue;
  }
  return Hint::kSkip;
}

class NodeVolumeLimits final : public Filter {
 public:
  explicit NodeVolumeLimits(const PluginContext& context)
      : Plugin(context),
        reason_(context.reasons.id(context.id, Code::kUnschedulable,
                                   {"node(s) exceed max volume count"})) {}

  PreFilterResult prepare(Cycle& cycle) const override {
    const std::vector<PodVolume>& volumes = volumes_of(cycle.pod);
    if (std::none_of(volumes.begin(), volumes.end(), attachable)) return PreFilterResult::skip();
    fill(cycle, cycle.emplace_state<Limits>(slot()));
    return {};
  }

  Status filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                Rejections* why) const override {
    if (!cycle.pod.volumes) return {};
    Limits own;
    const Limits* limits = cycle.state<Limits>(slot());
    if (limits == nullptr) {  // PreFilter is switched off
      fill(cycle, own);
      limits = &own;
    }
    const StorageState& storage = cycle.cluster.storage();
    Status ended;
    keep.for_each([&](std::uint32_t row) {
      if (!ended.ok()) return;
      const CsiNodePtr& csi_node = storage.csi_node(cycle.cluster.node(rows.node[row]).name);
      const Wanted& wanted = csi_node ? limits->with_csi_node : limits->without;
      ReasonId reason = reason_;
      if (wanted.status.rejected()) {
        if (why != nullptr)
          reason = why->table().id(id(), wanted.status.code, wanted.status.reasons);
      } else if (!wanted.status.ok()) {
        ended = wanted.status;
        return;
      } else {
        if (wanted.volumes.empty() || !csi_node || csi_node->limits.empty()) return;
        const Result<bool> room = has_room(*csi_node, wanted.volumes, rows, row);
        if (!room) {
          ended = Status::error(room.error().message);
          return;
        }
        if (*room) return;
      }
      keep.erase(row);
      if (why != nullptr) why->reject(row, reason);
    });
    return ended;
  }

  std::optional<std::vector<EventInterest>> events() const override {
    return {{{{EventResource::kCsiNode, action::kAdd}},
             {{EventResource::kCsiNode, action::kUpdate}, after_csi_node},
             {{EventResource::kPod, action::kDelete}, after_pod_gone},
             {{EventResource::kPersistentVolumeClaim, action::kAdd}, if_named},
             {{EventResource::kVolumeAttachment, action::kDelete}, after_attachment_gone}}};
  }

 private:
  static void fill(const Cycle& cycle, Limits& limits) {
    const StorageState& storage = cycle.cluster.storage();
    limits.with_csi_node = wanted_by(cycle.pod, storage, true);
    limits.without = wanted_by(cycle.pod, storage, false);
  }

  static Result<bool> has_room(const CsiNode& csi_node, const std::vector<Attachable>& wanted,
                               const Rows& rows, std::uint32_t row) {
    if (rows.what_if == nullptr)
      return has_room(csi_node, wanted, rows.cluster->attached_on(rows.node[row]));
    AttachedBuilder builder(rows.cluster->storage());
    rows.for_each_pod(row, [&builder](const Pod& pod) { builder.add(pod); });
    return has_room(csi_node, wanted, builder.finish(csi_node.name));
  }

  // `wanted` is by driver.
  static Result<bool> has_room(const CsiNode& csi_node, const std::vector<Attachable>& wanted,
                               const NodeAttached& attached) {
    if (!attached.error.empty()) return invalid(attached.error);
    for (auto volume = wanted.begin(); volume != wanted.end();) {
      const std::string& driver = volume->driver;
      std::int64_t more = 0;
      for (; volume != wanted.end() && volume->driver == driver; ++volume)
        more += attached.has(*volume) ? 0 : 1;
      const auto limit = csi_node.limits.find(driver);
      if (more > 0 && limit != csi_node.limits.end() &&
          attached.count_of(driver) + more > limit->second)
        return false;
    }
    return true;
  }

  ReasonId reason_;
};

}  // namespace

std::unique_ptr<Plugin> make_node_volume_limits(const PluginContext& context) {
  return std::make_unique<NodeVolumeLimits>(context);
}

}  // namespace berth::scheduler
