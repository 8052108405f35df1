// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/observer.h"

#include <algorithm>
#include <map>

namespace berth::scheduler {

std::vector<AttemptReport::Refusal> refusals_of(const Diagnosis& diagnosis,
                                                std::span<const std::string_view> plugin_names) {
  const auto name = [&](PluginId id) {
    const auto at = static_cast<std::size_t>(id);
    return at < plugin_names.size() ? plugin_names[at] : std::string_view();
  };
  std::vector<AttemptReport::Refusal> refused;
  if (diagnosis.prefilter) {
    const Status& status = *diagnosis.prefilter;
    refused.push_back({name(status.plugin),
                       status.reasons.empty() ? std::string_view() : status.reasons.front(),
                       diagnosis.nodes});
    return refused;
  }
  if (diagnosis.table == nullptr) return refused;
  std::map<ReasonId, std::uint32_t> counts;
  for (const ReasonId reason : diagnosis.by_row)
    if (reason != ReasonId::kNone) ++counts[reason];
  for (const auto& [reason, nodes] : counts) {
    const Status& status = diagnosis.table->status(reason);
    refused.push_back({name(status.plugin),
                       status.reasons.empty() ? std::string_view() : status.reasons.front(),
                       nodes});
  }
  std::stable_sort(refused.begin(), refused.end(),
                   [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
  return refused;
}

}  // namespace berth::scheduler
