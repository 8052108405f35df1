// SPDX-License-Identifier: Apache-2.0
// What is counted and timed inside of decisions, for one profile. Counters are added up here and
// told now and then: a decision from a cache takes microseconds.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/executor.h"
#include "scheduler/cycle/decision.h"
#include "scheduler/framework/plugin_probe.h"
#include "scheduler/framework/profile.h"
#include "scheduler/metrics/scheduler_metrics.h"

namespace berth::scheduler {

// Loop-confined. Everything it is given outlives it.
class DecisionMetrics final : public PluginProbe {
 public:
  DecisionMetrics(SchedulerMetrics&, const Profile&, const Clock&);

  // After every decision, whatever it was.
  void decided(const Decision&);
  void tell();  // what was added up

  Instant now() const override { return clock_.now(); }
  void ran(PluginId, Point, Code, Instant since) override;

 private:
  enum Counted : std::size_t { kPreFilters, kFilters, kPreScores, kScores, kCounted };
  template <class Plugins>
  void count(Counted, const Plugins&, PluginSet skipped);

  const Profile& profile_;
  const Clock& clock_;
  ProfileMetrics& stages_;
  std::vector<PluginMetrics*> plugins_;                         // by id; null: not in the profile
  std::vector<std::array<std::uint64_t, kCounted>> evaluated_;  // by id, since tell()
};

}  // namespace berth::scheduler
