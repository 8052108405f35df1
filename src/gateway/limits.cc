// SPDX-License-Identifier: Apache-2.0
#include "gateway/limits.h"

#include <algorithm>

namespace berth::gateway {
namespace {

constexpr std::size_t kMostAddresses = 10'000;

}  // namespace

std::optional<Duration> Pace::take(Instant now) {
  const Instant turn = std::max(next_, now) + interval_;
  if (const Duration ahead = turn - now; ahead > tolerance_) return ahead - tolerance_;
  next_ = turn;
  return std::nullopt;
}

std::optional<Duration> RequestLimits::take(const std::string& address, Instant now) {
  auto at = addresses_.find(address);
  if (at == addresses_.end()) {
    // Whoever has been quiet is as good as new.
    if (addresses_.size() >= kMostAddresses)
      std::erase_if(addresses_, [now](const auto& entry) { return entry.second.idle(now); });
    if (addresses_.size() >= kMostAddresses) return Duration(1s);
    at = addresses_.emplace(address, Pace(per_address_, 2 * per_address_)).first;
  }
  if (const auto wait = at->second.take(now)) return wait;
  return all_.take(now);
}

}  // namespace berth::gateway
