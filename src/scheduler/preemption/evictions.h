// SPDX-License-Identifier: Apache-2.0
// Evicts the victims of a preemption. Either while other pods are tried: all but the last at once,
// the last when those are gone, so that the preemptor is not tried again before its room is really
// free. Or all at once, and the caller waits.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/framework/plugin.h"
#include "scheduler/framework/services.h"
#include "scheduler/preemption/dry_run.h"

namespace berth::scheduler {

// Loop-confined.
class Evictions {
 public:
  Evictions(Services& services, PluginId plugin) : services_(services), plugin_(plugin) {}

  void start(const PodPtr& preemptor, const PreemptionCandidate&);
  // `done`: all were told to go, or the first that could not be. Never inline.
  void run(const PodPtr& preemptor, const PreemptionCandidate&, Fn<void(Result<Ok>)> done);
  // The preemptor should not be tried now: victims of it are still to be evicted.
  bool holds(const Pod& preemptor) const;

 private:
  struct Run {
    PodPtr preemptor;
    std::string node;
    std::vector<PodPtr> victims;
    std::size_t pending = 0;
    bool failed = false, last = false;
    bool awaited = false;
    Instant started = {};
    Fn<void(Result<Ok>)> done = nullptr;  // of who waits
  };
  using RunPtr = std::shared_ptr<Run>;
  static RunPtr run_of(const PodPtr& preemptor, const PreemptionCandidate&);
  void clear_lesser_nominations(const Run&);
  void settle(const RunPtr&, Result<Ok>);
  void evict(const RunPtr&, const PodPtr& victim);
  void erase(const RunPtr&, const PodPtr& victim);
  void told(const RunPtr&, const PodPtr& victim, bool in_memory);
  void one_done(const RunPtr&, Result<Ok>);
  void finish(const RunPtr&);
  bool evict_in_memory(const Pod& victim);

  Services& services_;
  PluginId plugin_;
  std::map<std::string, RunPtr, std::less<>> running_;  // by the preemptor's uid
};

}  // namespace berth::scheduler
