// SPDX-License-Identifier: Apache-2.0
// What would happen if a Scheduling were submitted: the grants to come are played with durations
// drawn from the history. The order is that of plan_grants(); only the durations are guesses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "policy/slots/plan.h"

namespace berth::slots {

// What is known of a job's runs.
struct Samples {
  struct Run {
    std::size_t width = 0;
    Duration startup{};  // from grant to running
    Duration length{};   // running
  };
  std::vector<Run> runs;                   // successful ones, the oldest first
  std::optional<Duration> estimated = {};  // by the user
};
Samples samples_of(const kube::BatchJobView&);

struct ForecastInput {
  SlotTable table;
  Ledger ledger;
  std::vector<Demand> by_ticket;
  JobsView jobs;
  std::vector<kube::SlotQuota> quotas = {};
  bool exclusive = true;                  // one Scheduling at a time
  std::map<Key, Samples> samples = {};    // by job
  std::map<GrantId, Duration> ages = {};  // of grants
  std::set<Key> acquired = {};            // Schedulings that have had all they want once
  std::map<Key, Waiting> stopped = {};    // those that start nothing more, and why
  // By Scheduling: jobs that others, on other Testbeds, keep from it.
  std::map<Key, std::map<Key, std::string>> kept = {};
};

struct Quantiles {
  Duration p10{}, p50{}, p90{};  // from now
};
struct RunForecast {
  Key scheduling, job;
  int nth = 0;  // run of the job in that Scheduling, from 0
  // Of the typical play, in which all take the median of their time: what can be drawn into one
  // picture. Other draws may differ. Not there: it starts in others only.
  std::set<SlotNumber> slots = {};
  std::optional<Duration> begin = {}, finish = {};
  std::optional<Waiting> waits = {};  // what keeps it from starting now
  int draws = 0;                      // in which it starts
  std::optional<Quantiles> start = {}, end = {};
  std::size_t samples = 0;   // that its duration is drawn from
  bool open_end = false;     // nobody knows how long it takes
  std::set<Key> after = {};  // jobs whose end it waits for
};
// A run that has its slots already.
struct HeldForecast {
  Grant grant;
  std::optional<Duration> finish = {};  // of the typical play
  std::optional<Quantiles> end = {};    // none: nobody knows how long it takes
  std::size_t samples = 0;
};
struct Forecast {
  std::vector<HeldForecast> held;  // by grant
  std::vector<RunForecast> runs;   // in the order of the typical play
  int draws = 0;
  double order_share = 1;  // of the draws that have this order
  bool certain() const { return order_share == 1; }
  std::set<Key> overdue;       // run longer than they ever have
  std::vector<Waiting> never;  // what still waits when nothing moves any more (typical play)
};
Forecast forecast(const ForecastInput&, std::uint64_t seed, int draws = 200);

// The same draft, the same answer.
std::uint64_t seed_of(std::string_view draft);

}  // namespace berth::slots
