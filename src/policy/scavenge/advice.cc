// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/advice.h"

#include <algorithm>
#include <cmath>

namespace berth::scavenge {
namespace {

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

std::optional<Duration> advised_interval(Duration checkpoint_cost, Duration between_interruptions) {
  if (checkpoint_cost <= Duration{} || between_interruptions <= Duration{}) return std::nullopt;
  const double cost = seconds(checkpoint_cost);
  const double between = seconds(between_interruptions);
  if (cost >= 2 * between) return std::max(checkpoint_cost, between_interruptions);
  const double ratio = cost / (2 * between);
  const double tau = std::sqrt(2 * cost * between) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - cost;
  const auto advised = std::chrono::round<std::chrono::seconds>(std::chrono::duration<double>(tau));
  return std::max(checkpoint_cost, std::min<Duration>(advised, between_interruptions));
}

double waste(Duration interval, Duration checkpoint_cost, Duration between_interruptions) {
  if (interval <= Duration{} || between_interruptions <= Duration{}) return 1;
  return std::min(1.0, seconds(checkpoint_cost) / seconds(interval) +
                           seconds(interval) / (2 * seconds(between_interruptions)));
}

std::optional<Duration> mean_between(std::span<const Duration> runs_that_were_interrupted) {
  constexpr std::size_t kMost = 30;
  const std::size_t count = std::min(kMost, runs_that_were_interrupted.size());
  if (count == 0) return std::nullopt;
  Duration sum{};
  for (const Duration run : runs_that_were_interrupted.last(count))
    sum += run / static_cast<std::int64_t>(count);  // a sum of whole runs might overflow
  return sum;
}

}  // namespace berth::scavenge
