// SPDX-License-Identifier: Apache-2.0
#include "cli/score_table.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "cli/wrap.h"

namespace berth::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLongestName = 44;  // longer names are cut in the middle
constexpr std::size_t kHeadWidth = 11;    // names of plugins are broken into lines of about this

std::string shortened(std::string_view name) {
  if (name.size() <= kLongestName) return std::string(name);
  const std::size_t half = (kLongestName - 3) / 2;
  return fmt::format("{}...{}", name.substr(0, half), name.substr(name.size() - half));
}

// "NodeResourcesBalancedAllocation" as lines of whole words, each as narrow as kHeadWidth allows.
std::vector<std::string> head_of(std::string_view plugin) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < plugin.size();) {
    std::size_t end = at + 1;
    while (end < plugin.size() && (plugin[end] < 'A' || plugin[end] > 'Z')) ++end;
    const std::string_view word = plugin.substr(at, end - at);
    if (lines.empty() || lines.back().size() + word.size() > kHeadWidth)
      lines.emplace_back(word);
    else
      lines.back() += word;
    at = end;
  }
  return lines;
}

struct Column {
  std::vector<std::string> head;
  std::vector<std::int64_t> values;  // by place among the feasible nodes
  std::size_t width = 0;
};

Column column_of(std::vector<std::string> head, std::vector<std::int64_t> values) {
  Column column{std::move(head), std::move(values)};
  for (const std::string& line : column.head) column.width = std::max(column.width, line.size());
  for (const std::int64_t value : column.values)
    column.width = std::max(column.width, std::to_string(value).size());
  return column;
}

struct Layout {
  std::vector<Column> columns;
  std::string equal;  // "ImageLocality 0, TaintToleration 300": the same on every node
};

// Plugins that tell nodes apart get columns, those that do so most first where not all have room;
// what is left is summed up.
Layout layout_of(const scheduler::Judgement& judgement, std::size_t room) {
  const scheduler::Decision& decision = judgement.decision();
  Layout layout;
  std::vector<std::size_t> telling;
  for (std::size_t i = 0; i < decision.scores.size(); ++i) {
    const auto& values = decision.scores[i].weighted;
    const bool same =
        values.size() > 1 &&
        std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
    if (!same)
      telling.push_back(i);
    else
      layout.equal +=
          fmt::format("{}{} {}", layout.equal.empty() ? "" : ", ",
                      judgement.profile().plugin_name(decision.scores[i].plugin), values.front());
  }
  const auto spread = [&](std::size_t i) {
    const auto& values = decision.scores[i].weighted;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return std::pair(*most - *least, *most);
  };
  std::vector<std::size_t> by_weight = telling;
  std::stable_sort(by_weight.begin(), by_weight.end(),
                   [&](std::size_t a, std::size_t b) { return spread(a) > spread(b); });
  std::vector<Column> made(decision.scores.size());
  std::size_t needed = 0;
  for (const std::size_t i : telling) {
    made[i] = column_of(head_of(judgement.profile().plugin_name(decision.scores[i].plugin)),
                        decision.scores[i].weighted);
    needed += made[i].width + kGap;
  }
  constexpr std::size_t kRest = 6 + kGap;
  while (needed > room && by_weight.size() > 1) {
    if (by_weight.size() == telling.size()) room -= std::min(room, kRest);
    needed -= made[by_weight.back()].width + kGap;
    by_weight.pop_back();
  }
  std::vector<std::int64_t> rest(decision.feasible.size());
  for (const std::size_t i : telling) {
    if (std::find(by_weight.begin(), by_weight.end(), i) != by_weight.end()) {
      layout.columns.push_back(std::move(made[i]));
      continue;
    }
    for (std::size_t row = 0; row < rest.size(); ++row)
      rest[row] += decision.scores[i].weighted[row];
  }
  if (by_weight.size() < telling.size()) layout.columns.push_back(column_of({"others"}, rest));
  return layout;
}

void print_line(std::string line, std::ostream& out) {
  line.resize(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

}  // namespace

void print_scores(const scheduler::Judgement& judgement, std::size_t lines, std::string_view also,
                  std::size_t columns, std::ostream& out) {
  const scheduler::Decision& decision = judgement.decision();
  std::vector<std::size_t> order(decision.feasible.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto name = [&](std::size_t i) { return judgement.node_name(decision.feasible[i]); };
  // What must be seen first of equals, then by name.
  const auto rank = [&](std::size_t i) {
    return std::tuple(-decision.totals[i], name(i) != judgement.chosen(), name(i));
  };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (i < lines || name(order[i]) == judgement.chosen() || name(order[i]) == also)
      shown.push_back(order[i]);

  std::size_t name_width = 4;
  for (const std::size_t i : shown) name_width = std::max(name_width, shortened(name(i)).size());
  const Column total = column_of({"TOTAL"}, decision.totals);
  const std::size_t taken = 2 + name_width + kGap + total.width;
  const Layout layout = layout_of(judgement, columns > taken ? columns - taken : 0);

  std::size_t head_lines = 1;
  for (const Column& column : layout.columns) head_lines = std::max(head_lines, column.head.size());
  for (std::size_t at = 0; at < head_lines; ++at) {
    const bool last = at + 1 == head_lines;
    std::string line = fmt::format("  {:<{}}  {:>{}}", last ? "NODE" : "", name_width,
                                   last ? "TOTAL" : "", total.width);
    for (const Column& column : layout.columns) {
      const std::size_t above = head_lines - column.head.size();
      line += fmt::format("  {:>{}}", at < above ? "" : column.head[at - above], column.width);
    }
    print_line(std::move(line), out);
  }
  for (const std::size_t i : shown) {
    std::string line = fmt::format("{} {:<{}}  {:>{}}", name(i) == judgement.chosen() ? '*' : ' ',
                                   shortened(name(i)), name_width, decision.totals[i], total.width);
    for (const Column& column : layout.columns)
      line += fmt::format("  {:>{}}", column.values[i], column.width);
    print_line(std::move(line), out);
  }
  if (shown.size() < order.size())
    out << fmt::format("  and {} more, down to {} (--all-nodes lists them)\n",
                       order.size() - shown.size(), decision.totals[order.back()]);
  if (!layout.equal.empty()) wrap("Equal on all of them: " + layout.equal, 2, columns, out);
}

}  // namespace berth::cli
