// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/cost.h"

#include <algorithm>

#include "policy/scavenge/resources.h"

namespace berth::scavenge {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Since the beginning of the basis; nothing before it, and nothing where times are nonsense.
Duration elapsed(const CostBasis& basis, WallTime now) {
  std::int64_t nanos = 0;
  if (__builtin_sub_overflow(now.unix_nanos, basis.since.unix_nanos, &nanos)) nanos = 0;
  return Duration(std::max<std::int64_t>(0, nanos));
}
Duration into_window(const CostBasis& basis, WallTime now) {
  return basis.window > Duration{} ? elapsed(basis, now) % basis.window : Duration{};
}
Duration step_of(const CostBasis& basis) {
  return std::max(Duration(1), basis.window / std::max(1, basis.steps));
}

}  // namespace

Duration lost_time(const CostBasis& basis, WallTime now) {
  if (basis.reported) return into_window(basis, now);
  const Duration expected = basis.interval / 2;
  if (expected > Duration{} && expected <= step_of(basis))
    return std::min(into_window(basis, now), expected);
  return step_of(basis) * running_priority(basis, now);
}

std::int64_t cost_at(const CostBasis& basis, WallTime now) {
  const std::int64_t lost = lost_time(basis, now).count();
  const std::int64_t rate = std::max<std::int64_t>(0, basis.rate_milli);
  return saturating_add(scaled(lost, rate, kSecond), std::max<std::int64_t>(0, basis.restart));
}

int running_priority(const CostBasis& basis, WallTime now) {
  // A window that the steps do not divide has a last step that is a little longer.
  const std::int64_t step = into_window(basis, now) / step_of(basis);
  return static_cast<int>(std::min<std::int64_t>(step, std::max(1, basis.steps) - 1));
}

std::optional<WallTime> start_over(const CostBasis& basis, WallTime now) {
  if (basis.window <= Duration{}) return std::nullopt;
  const std::int64_t windows = elapsed(basis, now) / basis.window;
  if (windows == 0) return std::nullopt;
  return basis.since + basis.window * windows;
}

WallTime next_step(const CostBasis& basis, WallTime now) {
  if (basis.window <= Duration{}) return {INT64_MAX};
  const WallTime begun = start_over(basis, now).value_or(basis.since);
  const int step = running_priority(basis, now) + 1;
  return begun + (step < basis.steps ? step_of(basis) * step : basis.window);
}

std::int64_t rate_milli(const kube::ResourceList& member, int members, const CostWeights& weights) {
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  std::int64_t rate = 0;
  for (const auto& [resource, quantity] : member) {
    const std::int64_t amount = amount_of(resource, quantity);
    if (resource == "cpu")
      rate = saturating_add(rate, scaled(amount, weights.core_milli, 1000));
    else if (resource == "memory")
      rate = saturating_add(rate, scaled(amount, weights.gib_milli, kGib));
    else if (is_gpu(resource))
      rate = saturating_add(rate, saturating_multiply(amount, weights.gpu_milli));
  }
  return saturating_multiply(std::max<std::int64_t>(0, rate), std::max(0, members));
}

}  // namespace berth::scavenge
