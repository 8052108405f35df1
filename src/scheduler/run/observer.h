// SPDX-License-Identifier: Apache-2.0
// Somebody who wants to see what the scheduler does: each attempt and each move in the queue.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/scope.h"
#include "scheduler/cycle/decision.h"
#include "scheduler/queue/queue_observer.h"

namespace berth::scheduler {

class Scheduler;

// One attempt that has ended. Views: valid during the call.
struct AttemptReport {
  enum class Outcome : std::uint8_t { kPlaced, kUnschedulable, kError };
  struct Refusal {
    std::string_view plugin;
    std::string_view reason;
    std::uint32_t nodes = 0;
  };

  const Pod& pod;
  Outcome outcome = Outcome::kError;
  std::string_view node = {};  // where it was placed
  int attempt = 0;             // from 1
  Duration took{};             // from the queue to the end
  StageTimes stages = {};
  Duration bind{};          // reserve, permit and bind
  std::uint32_t nodes = 0;  // that there are
  std::uint32_t fit = 0;
  std::span<const Refusal> refused = {};  // by reason, where nothing fits
  std::string_view message = {};          // why not
};

// Called on the scheduler's loop, in the midst of its work: must not call it back, except in
// began().
class SchedulerObserver : public QueueObserver {
 public:
  // It begins to try pods. The scope is the scheduler's: what it runs may look at the scheduler.
  virtual void began(const Scheduler&, Scope&) {}
  virtual void attempted(const AttemptReport&) {}
};

// Of a diagnosis, for a report: how many nodes each reason kept away, the most first.
std::vector<AttemptReport::Refusal> refusals_of(const Diagnosis&,
                                                std::span<const std::string_view> plugin_names);

}  // namespace berth::scheduler
