// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/reasons.h"

#include <limits>

#include "base/check.h"

namespace berth::scheduler {

ReasonId ReasonTable::id(PluginId plugin, Code code, std::vector<std::string> reasons) {
  const auto [at, fresh] = ids_.try_emplace({plugin, code, std::move(reasons)}, ReasonId::kNone);
  if (fresh) {
    BERTH_CHECK(all_.size() <= std::numeric_limits<std::uint16_t>::max(),
                "more than 65,535 distinct reasons");
    at->second = static_cast<ReasonId>(all_.size());
    all_.push_back({code, std::get<2>(at->first), plugin});
  }
  return at->second;
}

const Status& ReasonTable::status(ReasonId id) const { return all_[static_cast<std::size_t>(id)]; }

}  // namespace berth::scheduler
