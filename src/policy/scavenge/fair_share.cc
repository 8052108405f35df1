// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/fair_share.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace berth::scavenge {
namespace {

constexpr double kNextToNothing = 1e-6;  // core-hours
constexpr double kLeastWeight = 1e-6;

}  // namespace

FairShares advance(FairShares shares, const std::map<std::string, std::int64_t>& running_rates,
                   WallTime now, const FairShareRules& rules) {
  if (now <= shares.as_of) return shares;
  // The first time there is nothing to count from.
  const bool first = shares.as_of == WallTime{};
  const double hours = std::chrono::duration<double, std::ratio<3600>>(now - shares.as_of).count();
  shares.as_of = now;
  if (first) return shares;
  double kept = 1, added = hours;
  if (rules.half_life > Duration{}) {
    const double half_life =
        std::chrono::duration<double, std::ratio<3600>>(rules.half_life).count();
    kept = std::exp2(-hours / half_life);
    added = (1 - kept) * half_life / std::numbers::ln2;
  }
  for (auto& [user, used] : shares.core_hours) used *= kept;
  for (const auto& [user, rate] : running_rates)
    if (rate > 0) shares.core_hours[user] += static_cast<double>(rate) / 1000 * added;
  std::erase_if(shares.core_hours,
                [](const auto& each) { return !(each.second > kNextToNothing); });
  return shares;
}

std::map<std::string, double> by_weight(const FairShares& shares, const FairShareRules& rules) {
  std::map<std::string, double> result;
  for (const auto& [user, used] : shares.core_hours) {
    const auto weight = rules.weights.find(user);
    result[user] =
        used / (weight == rules.weights.end() ? 1 : std::max(kLeastWeight, weight->second));
  }
  return result;
}

}  // namespace berth::scavenge
