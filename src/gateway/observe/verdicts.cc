// SPDX-License-Identifier: Apache-2.0
#include "gateway/observe/verdicts.h"

#include <algorithm>
#include <map>

namespace berth::gateway {

using scheduler::Judgement;

std::uint32_t Verdicts::against(std::uint32_t row) const {
  return static_cast<std::uint32_t>(std::count_if(
      filters.begin(), filters.end(), [&](const Column& one) { return one.verdict[row] != 0; }));
}

bool Verdicts::refuses(std::uint32_t row, std::string_view plugin) const {
  return std::any_of(filters.begin(), filters.end(), [&](const Column& one) {
    return one.plugin == plugin && one.verdict[row] != 0;
  });
}

bool Verdicts::only(std::uint32_t row, std::string_view plugin) const {
  return against(row) == 1 && refuses(row, plugin);
}

Verdicts all_verdicts(const Judgement& judgement) {
  Verdicts all;
  const std::uint32_t rows = judgement.cluster().size();
  all.first.assign(rows, -1);
  if (judgement.outcome() != Judgement::Outcome::kFits &&
      judgement.outcome() != Judgement::Outcome::kFitsNowhere)
    return all;
  std::map<std::string, std::uint32_t> known;
  const auto reason = [&](const scheduler::Status& status) {
    const auto [found, fresh] =
        known.emplace(status.message(), static_cast<std::uint32_t>(all.reasons.size() + 1));
    if (fresh) all.reasons.push_back(found->first);
    return found->second;
  };
  const scheduler::Decision& decision = judgement.decision();
  const scheduler::Cycle& cycle = decision.attempt->cycle;
  const auto& named = decision.prepared.named;
  for (const scheduler::Filter* filter : judgement.profile().filters()) {
    Verdicts::Column column{filter->name(), std::vector<std::uint32_t>(rows)};
    if (!cycle.skipped.has(filter->id())) {
      scheduler::RowSet keep(rows, true);
      scheduler::Rejections why(judgement.reasons(), rows);
      // A filter that fails has nothing to say here; the decision itself told of it.
      if (filter->filter(cycle, judgement.cluster().rows(), keep, &why).ok())
        for (std::uint32_t row = 0; row < rows; ++row)
          if (!keep.has(row)) column.verdict[row] = reason(why.status(row));
    }
    // A plugin that named nodes refused all others before any filter was asked.
    if (named && decision.prepared.absent.plugin == filter->id())
      for (std::uint32_t row = 0; row < rows; ++row)
        if (column.verdict[row] == 0 &&
            std::find(named->begin(), named->end(), judgement.node_name(row)) == named->end())
          column.verdict[row] = reason(decision.prepared.absent);
    all.filters.push_back(std::move(column));
  }
  for (std::uint32_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < all.filters.size() && all.first[row] < 0; ++i)
      if (all.filters[i].verdict[row] != 0) all.first[row] = static_cast<std::int32_t>(i);
  return all;
}

}  // namespace berth::gateway
