// SPDX-License-Identifier: Apache-2.0
#include "controllers/state_diagram.h"

#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controllers/batchjob/batchjob_table.h"
#include "controllers/scheduling/scheduling_table.h"

namespace berth::controllers {
namespace {

template <class Rows>
std::string drawn(const Rows& rows) {
  using Pair = std::pair<std::string_view, std::string_view>;
  std::vector<Pair> order;  // as in the table, so that a change of a row is a change of a line
  std::map<Pair, std::vector<std::string>> arrows;
  for (const auto& row : rows) {
    if (row.state == row.next) continue;
    const Pair pair{name_of(row.state), name_of(row.next)};
    if (arrows[pair].empty()) order.push_back(pair);
    const std::string_view action = name_of(row.action);
    arrows[pair].push_back(action.empty() ? std::string(name_of(row.input))
                                          : fmt::format("{} / {}", name_of(row.input), action));
  }
  std::string text = fmt::format("stateDiagram-v2\n  [*] --> {}\n", name_of(rows.front().state));
  for (const Pair& pair : order)
    text += fmt::format("  {} --> {}: {}\n", pair.first, pair.second,
                        fmt::join(arrows.at(pair), "<br>"));
  return text;
}

}  // namespace

std::string batch_job_diagram() { return drawn(job_rows()); }
std::string scheduling_diagram() {
  return drawn(scheduling_rows()) +
         fmt::format("  {} --> [*]\n", name_of(SchedulingState::kReleasing));
}

}  // namespace berth::controllers
