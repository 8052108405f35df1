// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/measure.h"

#include <algorithm>
#include <vector>

#include "policy/scavenge/resources.h"

namespace berth::scavenge {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr Duration kFirstBackOff = 30s, kLongestBackOff = 10min;
constexpr std::size_t kReportsLookedAt = 30;

Duration quarter(Duration window) { return std::max(Duration{}, window / 4); }

}  // namespace

std::optional<WallTime> accepted_checkpoint(WallTime reported, WallTime since, WallTime seen,
                                            std::optional<WallTime> last_taken) {
  if (last_taken && seen < *last_taken + kBetweenReports) return std::nullopt;
  const WallTime at = std::min(reported, seen);
  if (at <= since) return std::nullopt;
  return at;
}

std::optional<Duration> checkpoint_cost(std::span<const Duration> reported, Duration window) {
  const std::span<const Duration> last = reported.last(std::min(kReportsLookedAt, reported.size()));
  std::vector<Duration> costs;
  for (const Duration cost : last)
    if (cost > Duration{}) costs.push_back(std::min(cost, quarter(window)));
  if (costs.empty()) return std::nullopt;
  const auto middle = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2);
  std::nth_element(costs.begin(), middle, costs.end());
  return *middle;
}

Duration restart_time(WallTime started, WallTime first_progress, std::optional<Duration> interval,
                      Duration window) {
  const Duration waited = first_progress - started - interval.value_or(Duration{});
  return std::clamp(waited, Duration{}, quarter(window));
}

std::int64_t restart_cost(Duration restart_time, std::int64_t rate_milli) {
  return scaled(std::max<std::int64_t>(0, restart_time.count()),
                std::max<std::int64_t>(0, rate_milli), kSecond);
}

Duration back_off(std::int64_t interruptions_in_a_row) {
  if (interruptions_in_a_row <= 0) return Duration{};
  Duration wait = kFirstBackOff;
  for (std::int64_t i = 1; i < interruptions_in_a_row && wait < kLongestBackOff; ++i) wait *= 2;
  return std::min(wait, kLongestBackOff);
}

std::optional<WallTime> not_before(WallTime interrupted, std::int64_t interruptions_in_a_row,
                                   bool preemptor_waits) {
  if (preemptor_waits) return std::nullopt;
  return interrupted + back_off(interruptions_in_a_row);
}

}  // namespace berth::scavenge
