// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue/queue_observer.h"

namespace berth::scheduler {
namespace {

std::string_view text_of(HintResult result) {
  switch (result) {
    case HintResult::kSkip:
      return "QueueSkip";
    case HintResult::kQueue:
      return "Queue";
    case HintResult::kError:
      return "Error";
  }
  return "";
}

}  // namespace

std::string_view name_of(Place place) {
  switch (place) {
    case Place::kNowhere:
      return "None";
    case Place::kActive:
      return "Active";
    case Place::kBackoff:
      return "Backoff";
    case Place::kErrorBackoff:
      return "ErrorBackoff";
    case Place::kUnschedulable:
      return "Unschedulable";
    case Place::kInFlight:
      return "InFlight";
  }
  return "";
}

QueueObserver& QueueObserver::none() {
  static QueueObserver nobody;
  return nobody;
}

void LoggingObserver::moved(const QueuedPod& queued, Place from, Place to, std::string_view event) {
  if (!log_.enabled(LogLevel::kDebug)) return;
  log_.debug("pod moved between scheduling queues", {{"pod", queued.pod->text()},
                                                     {"event", event},
                                                     {"from", name_of(from)},
                                                     {"queue", name_of(to)},
                                                     {"attempts", queued.attempts},
                                                     {"gated", queued.gated()}});
}

void LoggingObserver::hint_ran(PluginId plugin, std::string_view profile, std::string_view event,
                               HintResult result, Duration took) {
  if (!log_.enabled(LogLevel::kDebug)) return;
  log_.debug("queueing hint", {{"plugin", plugin_name_(plugin)},
                               {"profile", profile},
                               {"event", event},
                               {"hint", text_of(result)},
                               {"took", took}});
}

}  // namespace berth::scheduler
