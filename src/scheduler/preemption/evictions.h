// SPDX-License-Identifier: Apache-2.0
// Evicts the victims of a preemption while other pods are tried: all but the last at once, the last
// when those are gone, so that the preemptor is not tried again before its room is really free.
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
  // The preemptor should not be tried now: victims of it are still to be evicted.
  bool holds(const Pod& preemptor) const;

 private:
  struct Run {
    PodPtr preemptor;
    std::string node;
    std::vector<PodPtr> victims;
    std::size_t pending = 0;
    bool failed = false, last = false;
    Instant started;
  };
  void evict(const std::shared_ptr<Run>&, const PodPtr& victim);
  void erase(const std::shared_ptr<Run>&, const PodPtr& victim);
  void told(const std::shared_ptr<Run>&, const PodPtr& victim, bool in_memory);
  void one_done(const std::shared_ptr<Run>&, bool ok);
  void finish(const std::shared_ptr<Run>&);
  bool evict_in_memory(const Pod& victim);

  Services& services_;
  PluginId plugin_;
  std::map<std::string, std::shared_ptr<Run>, std::less<>> running_;  // by the preemptor's uid
};

}  // namespace berth::scheduler
