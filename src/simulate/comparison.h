// SPDX-License-Identifier: Apache-2.0
// The same days of a cluster's life, lived several times in virtual time: without scavengers, with
// them as a stock kube-scheduler would treat them, and by Berth's choice of whom to interrupt.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/world.h"
#include "simulate/workload/backlog.h"
#include "simulate/workload/trace.h"

namespace berth::simulate {

enum class Variant : std::uint8_t {
  kNone,      // no scavengers: what ordinary pods can expect
  kPlain,     // Jobs of a low priority, and nobody who looks after them
  kStock,     // scavenger jobs; victims in kube-scheduler's order
  kExtender,  // the same scheduler, and our extender beside it
  kOwn,       // Berth's scheduler
  kPacked,    // the same, with a profile of its own for scavengers, which packs them
};
std::string_view word_of(Variant);   // "stock": of files and flags
std::string_view title_of(Variant);  // "stock order": for people

struct Scenario {
  Trace trace;
  std::vector<Program> programs;  // all submitted at the beginning
  int nodes = 0;
  std::int64_t node_cores = 32, node_gib = 128;
  Duration length{};
  Duration bucket = 30min;  // of curves
  int grace_seconds = 10;   // in which simulated pods stop
  Seed seed = 1;

  double cores() const { return static_cast<double>(nodes * node_cores); }
  // How much longer an ordinary pod may wait because a scavenger is in its place: it gets no notice
  // here, so what is left is its time to stop, and two seconds to notice.
  Duration reclaim_bound() const { return std::chrono::seconds(grace_seconds + 2); }
};

struct Outcome {
  Variant setup{};
  std::size_t ordinary_pods = 0, never_placed = 0;
  double utilisation = 0, ordinary_utilisation = 0;  // of all cores, 0 to 1
  Duration wait_p50{}, wait_p99{}, wait_most{};
  std::vector<Duration> waits = {};                                        // ascending
  double held_core_hours = 0, useful_core_hours = 0, lost_core_hours = 0;  // of scavengers
  int interruptions = 0, completed = 0, started = 0;
  std::vector<double> utilisation_over_time = {}, lost_over_time = {};  // a value a bucket
  std::vector<double> lost_by_life = {};  // core-hours, where it is of several lives

  double goodput() const { return held_core_hours > 0 ? useful_core_hours / held_core_hours : 0; }
  double interruptions_a_job() const {
    return started > 0 ? static_cast<double>(interruptions) / started : 0;
  }
};

// Nothing but the scenario and the set-up decides about the outcome.
Result<Outcome> live(const Scenario&, Variant);

// Several lives of one set-up as one: amounts add up, shares and curves are means, and waits are
// those of all pods. Of at least one.
Outcome pooled(std::span<const Outcome>);

}  // namespace berth::simulate
