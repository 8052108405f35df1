// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/labels.h"

#include <algorithm>

namespace berth::scheduler {

Labels::Labels(std::vector<Pair> pairs) : pairs_(std::move(pairs)) {
  const auto by_key = [](const Pair& a, const Pair& b) { return a.first < b.first; };
  if (!std::is_sorted(pairs_.begin(), pairs_.end(), by_key))
    std::stable_sort(pairs_.begin(), pairs_.end(), by_key);
  // Of a run of equal keys the last stays.
  const auto kept = std::unique(pairs_.rbegin(), pairs_.rend(),
                                [](const Pair& a, const Pair& b) { return a.first == b.first; });
  pairs_.erase(pairs_.begin(), kept.base());
}

Labels Labels::from_json(json::Slice labels) {
  std::vector<Pair> pairs;
  for (const auto& [key, value] : labels.members()) pairs.emplace_back(key, value.text());
  return Labels(std::move(pairs));
}

std::optional<std::string_view> Labels::find(std::string_view key) const {
  const auto at =
      std::lower_bound(pairs_.begin(), pairs_.end(), key,
                       [](const Pair& pair, std::string_view k) { return pair.first < k; });
  if (at == pairs_.end() || at->first != key) return std::nullopt;
  return at->second;
}

bool matches(const kube::Requirement& requirement, const Labels& labels) {
  return requirement.matches(labels.find(requirement.key()));
}

bool matches(const kube::LabelSelector& selector, const Labels& labels) {
  return selector.matches(LabelsLookup{labels});
}

bool matches(const kube::NodeSelector& selector, const Labels& labels, std::string_view node_name) {
  return selector.matches(LabelsLookup{labels}, node_name).value_or(false);
}

std::int64_t score(const kube::PreferredNodeTerms& terms, const Labels& labels,
                   std::string_view node_name) {
  return terms.score(LabelsLookup{labels}, node_name);
}

}  // namespace berth::scheduler
