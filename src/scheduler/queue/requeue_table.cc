// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue/requeue_table.h"

#include <algorithm>

#include "base/check.h"

namespace berth::scheduler {
namespace {

constexpr std::size_t kMaxPlugins = 64;

bool about_another(const Change& change, const Pod& pod) {
  if (change.pod_after) return change.pod_after->uid != pod.uid;
  return change.node_after != nullptr || change.after.valid();
}

// k8s 1.36: whoever wants new nodes but not new taints hears of taints all the same, and has no say
// in it.
void add_implicit_taint_event(std::vector<EventInterest>& events) {
  bool node_add = false;
  bool node_taint = false;
  for (const EventInterest& interest : events) {
    if (interest.event.resource != EventResource::kNode) continue;
    node_add |= (interest.event.action & action::kAdd) != 0;
    node_taint |= (interest.event.action & action::kUpdateNodeTaint) != 0;
  }
  if (node_add && !node_taint)
    events.push_back({{EventResource::kNode, action::kUpdateNodeTaint}, nullptr});
}

}  // namespace

std::vector<EventInterest> all_events() {
  std::vector<EventInterest> events;
  // VolumeAttachment and ResourceSlice are not among them in 1.36 either.
  for (const EventResource resource :
       {EventResource::kPod, EventResource::kNode, EventResource::kPersistentVolume,
        EventResource::kPersistentVolumeClaim, EventResource::kCsiNode, EventResource::kCsiDriver,
        EventResource::kCsiStorageCapacity, EventResource::kStorageClass,
        EventResource::kResourceClaim, EventResource::kDeviceClass})
    events.push_back({{resource, action::kAll}, nullptr});
  return events;
}

QueueProfile queue_profile(const Profile& profile) {
  QueueProfile made;
  made.scheduler_name = profile.name();
  made.pre_enqueue.assign(profile.pre_enqueue().begin(), profile.pre_enqueue().end());
  for (const auto& plugin : profile.plugins()) {
    const Plugin* role = plugin.get();
    if (dynamic_cast<const PreEnqueue*>(role) != nullptr ||
        dynamic_cast<const Filter*>(role) != nullptr ||
        dynamic_cast<const Reserve*>(role) != nullptr ||
        dynamic_cast<const Permit*>(role) != nullptr)
      made.plugins.push_back({role->id(), role->events()});
  }
  return made;
}

RequeueTable::RequeueTable(std::vector<QueueProfile> profiles, PluginId extender)
    : profiles_(std::move(profiles)), by_plugin_(kMaxPlugins) {
  for (QueueProfile& profile : profiles_) {
    if (extender != PluginId::kNone) profile.plugins.push_back({extender, std::nullopt});
    for (PluginEvents& plugin : profile.plugins) {
      const auto number = static_cast<std::size_t>(plugin.id);
      BERTH_CHECK(number < kMaxPlugins, "a plugin's number is beyond what a PluginSet holds");
      if (!plugin.events) plugin.events = all_events();
      add_implicit_taint_event(*plugin.events);
      for (const EventInterest& interest : *plugin.events)
        by_plugin_[number].push_back(interest.event);
    }
  }
}

int RequeueTable::profile_of(const Pod& pod) const {
  for (std::size_t i = 0; i < profiles_.size(); ++i)
    if (profiles_[i].scheduler_name == pod.spec->scheduler_name) return static_cast<int>(i);
  return kNoProfile;
}

const RequeueTable::Kind& RequeueTable::kind(const ClusterEvent& event) const {
  const auto known = std::find_if(kinds_.begin(), kinds_.end(),
                                  [&](const Kind& kind) { return kind.event == event; });
  if (known != kinds_.end()) return *known;

  Kind& kind = kinds_.emplace_back();
  kind.event = event;
  kind.label = event.label();
  kind.wildcard = event.wildcard();
  kind.of_interest = kind.wildcard;
  for (const QueueProfile& profile : profiles_) {
    Kind::InProfile& in = kind.profiles.emplace_back();
    for (const PluginEvents& plugin : profile.plugins) {
      for (const EventInterest& interest : *plugin.events) {
        if (!matches(interest.event, event)) continue;
        kind.of_interest = true;
        in.interested.insert(plugin.id);
        in.hints.push_back({plugin.id, interest.hint ? &interest.hint : nullptr});
      }
    }
    kind.registered = kind.registered | in.interested;
  }
  return kind;
}

std::span<const ClusterEvent> RequeueTable::events_of(PluginId plugin) const {
  if (plugin == PluginId::kNone) return {};
  return by_plugin_[static_cast<std::size_t>(plugin)];
}

bool RequeueTable::may_wake(const Kind& kind, int profile, PluginSet rejectors) {
  if (rejectors.empty() || kind.wildcard || profile == kNoProfile) return true;
  const PluginSet interested = kind.profiles[static_cast<std::size_t>(profile)].interested;
  return (interested.bits() & rejectors.bits()) != 0;
}

Strategy RequeueTable::decide(const QueuedPod& queued, const Kind& kind, const Change& change,
                              const ClusterState& cluster, const Clock& clock,
                              QueueObserver& observer) const {
  const PluginSet rejectors = queued.rejectors();
  if (rejectors.empty()) return Strategy::kAfterBackoff;
  // A wildcard with an object is meant for that pod alone.
  if (kind.wildcard)
    return about_another(change, *queued.pod) ? Strategy::kSkip : Strategy::kAfterBackoff;
  const int profile = profile_of(*queued.pod);
  if (profile == kNoProfile) return Strategy::kAfterBackoff;

  Strategy strategy = Strategy::kSkip;
  for (const HintOf& of : kind.profiles[static_cast<std::size_t>(profile)].hints) {
    if (!rejectors.has(of.plugin)) continue;
    const Instant start = clock.now();
    const Hint hint = of.hint != nullptr ? (*of.hint)(*queued.pod, change, cluster) : Hint::kQueue;
    observer.hint_ran(of.plugin, queued.pod->spec->scheduler_name, kind.label,
                      hint == Hint::kSkip    ? HintResult::kSkip
                      : hint == Hint::kError ? HintResult::kError
                                             : HintResult::kQueue,
                      clock.now() - start);
    if (hint == Hint::kSkip) continue;
    if (queued.pending_plugins.has(of.plugin)) return Strategy::kImmediately;
    if (queued.pending_plugins.empty()) return Strategy::kAfterBackoff;
    strategy = Strategy::kAfterBackoff;  // a pending plugin may still say more
  }
  return strategy;
}

}  // namespace berth::scheduler
