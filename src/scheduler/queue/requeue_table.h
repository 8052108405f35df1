// SPDX-License-Identifier: Apache-2.0
// Which plugin waits for which event, and whether an event is worth another attempt of a pod.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "scheduler/framework/event.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/profile.h"
#include "scheduler/queue/queue_observer.h"
#include "scheduler/queue/queued_pod.h"

namespace berth::scheduler {

// What one plugin of a profile waits for.
struct PluginEvents {
  PluginId id = PluginId::kNone;
  // nullopt: it does not say, so everything in all_events(); empty: nothing.
  std::optional<std::vector<EventInterest>> events;
};

// What the queue must know of a profile.
struct QueueProfile {
  std::string scheduler_name;
  std::vector<const PreEnqueue*> pre_enqueue;  // in profile order
  // Those that can refuse a pod: that play PreEnqueue, Filter, Reserve or Permit.
  std::vector<PluginEvents> plugins;
};

QueueProfile queue_profile(const Profile&);

// What a plugin that does not say gets, and the extenders as a whole.
std::vector<EventInterest> all_events();

enum class Strategy : std::uint8_t { kSkip, kAfterBackoff, kImmediately };

// Immutable once made, but for the memory of event kinds; loop-confined.
class RequeueTable {
 public:
  struct HintOf {
    PluginId plugin = PluginId::kNone;
    const HintFn* hint = nullptr;
  };
  // An event as it comes in, with everything that can be known without looking at a pod.
  struct Kind {
    ClusterEvent event;
    std::string label;
    bool wildcard = false;
    bool of_interest = false;  // to some plugin of some profile
    PluginSet registered;      // plugins that registered it, in any profile
    struct InProfile {
      PluginSet interested;
      std::vector<HintOf> hints;  // in registration order
    };
    std::vector<InProfile> profiles;
  };
  static constexpr int kNoProfile = -1;

  // `extender`: the pseudo-plugin that stands for all extenders; kNone where there are none.
  RequeueTable(std::vector<QueueProfile> profiles, PluginId extender);
  RequeueTable(const RequeueTable&) = delete;
  RequeueTable& operator=(const RequeueTable&) = delete;

  const std::vector<QueueProfile>& profiles() const { return profiles_; }
  int profile_of(const Pod&) const;             // by scheduler name, or kNoProfile
  const Kind& kind(const ClusterEvent&) const;  // lives as long as the table
  std::span<const ClusterEvent> events_of(PluginId) const;

  // Could any hint say yes? Where not, decide() answers kSkip for every pod of that profile with
  // those rejectors.
  static bool may_wake(const Kind&, int profile, PluginSet rejectors);
  // isPodWorthRequeuing.
  Strategy decide(const QueuedPod&, const Kind&, const Change&, const ClusterState&, const Clock&,
                  QueueObserver&) const;

 private:
  std::vector<QueueProfile> profiles_;
  std::vector<std::vector<ClusterEvent>> by_plugin_;  // 64 of them
  mutable std::deque<Kind> kinds_;                    // a few dozen; found by walking
};

}  // namespace berth::scheduler
