// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/recommend.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "policy/scavenge/resources.h"

namespace berth::scavenge {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

struct Measured {
  std::string_view resource;
  int percentile;
  std::int64_t least, unit;
};

// The smallest sample that so many in a hundred do not exceed.
std::int64_t percentile_of(std::vector<std::int64_t> values, int percentile) {
  const std::size_t rank =
      (values.size() * static_cast<std::size_t>(std::clamp(percentile, 1, 100)) + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}
std::int64_t amount_in(const kube::ResourceList& list, std::string_view resource,
                       std::int64_t otherwise) {
  const auto found = list.find(resource);
  return found == list.end() ? otherwise : amount_of(resource, found->second);
}
std::int64_t rounded_up(std::int64_t amount, std::int64_t unit) {
  const std::int64_t over = amount % unit;
  return over == 0 ? amount : saturating_add(amount, unit - over);
}

}  // namespace

std::optional<Recommendation> recommend(const kube::ResourceList& member,
                                        std::span<const UsageSample> samples,
                                        const RecommendRules& rules) {
  if (samples.empty() || samples.size() < rules.least_samples) return std::nullopt;
  const auto [first, last] = std::minmax_element(
      samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  if (last->at - first->at < rules.least_time) return std::nullopt;

  Recommendation advice{.samples = samples.size()};
  for (const Measured& each :
       {Measured{"cpu", rules.cpu_percentile, 10, 10},
        Measured{"memory", rules.memory_percentile, 16 * kMebibyte, kMebibyte}}) {
    const std::int64_t asked = amount_in(member, each.resource, 0);
    std::vector<std::int64_t> values;
    for (const UsageSample& sample : samples)
      if (sample.usage.count(each.resource) > 0)
        values.push_back(amount_in(sample.usage, each.resource, 0));
    if (asked == 0 || values.size() < rules.least_samples) continue;
    const std::int64_t seen = percentile_of(std::move(values), each.percentile);
    const std::int64_t margin = scaled(seen, std::max(0, rules.margin_percent), 100);
    const std::int64_t least = std::max(each.least, amount_in(rules.least, each.resource, 0));
    const std::int64_t most =
        std::max(least, amount_in(rules.most, each.resource, saturating_multiply(asked, 4)));
    const std::int64_t wanted =
        std::clamp(rounded_up(saturating_add(seen, margin), each.unit), least, most);
    const std::int64_t difference = wanted > asked ? wanted - asked : asked - wanted;
    if (difference < scaled(asked, std::max(1, rules.worth_it_percent), 100)) continue;
    advice.requests[std::string(each.resource)] = quantity_of(each.resource, wanted);
    advice.seen[std::string(each.resource)] = quantity_of(each.resource, seen);
    advice.message +=
        fmt::format("{}{}: {} asked for, {} used, {} would do", advice.message.empty() ? "" : "; ",
                    each.resource, amount_text(each.resource, asked),
                    amount_text(each.resource, seen), amount_text(each.resource, wanted));
  }
  if (advice.requests.empty()) return std::nullopt;
  return advice;
}

}  // namespace berth::scavenge
