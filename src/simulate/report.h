// SPDX-License-Identifier: Apache-2.0
// A comparison for people and for programs: a table, JSON, a picture.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulate/comparison.h"

namespace berth::simulate {

struct Verdict {
  // Of lost core-hours, against the stock order; nothing where either was not run.
  std::optional<double> saved;
  std::vector<double> saved_by_life = {};  // the same, life by life, where there are several
  std::optional<double> saved_by_extender = {}, saved_by_packing = {};
  // The longest p99 wait with scavengers, less that without; nothing where either was not run.
  std::optional<Duration> longer_wait;
  bool within_bound = true;  // it is at most the reclaim bound

  // What is promised: so much less work is lost than in the stock order, and nobody waits longer
  // than the bound.
  static constexpr double kPromisedSaving = 0.3;
  bool complete() const { return saved && longer_wait; }  // all that is needed was run
  bool kept() const { return complete() && *saved >= kPromisedSaving && within_bound; }
};
Verdict verdict_of(const Scenario&, std::span<const Outcome>);

std::string table(const Scenario&, std::span<const Outcome>);
std::string json_report(const Scenario&, std::span<const Outcome>);
// An SVG that needs nothing else: lost work and utilisation over time, and the numbers as bars.
std::string plot(const Scenario&, std::span<const Outcome>);

}  // namespace berth::simulate
