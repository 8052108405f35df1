// SPDX-License-Identifier: Apache-2.0
#include "differences.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::scheduler::parity {
namespace {

using json::Slice;
using ByName = std::map<std::string, Slice>;

ByName members(Slice object) {
  ByName all;
  for (auto [key, value] : object.members()) all[std::string(key)] = value;
  return all;
}

Slice find(const ByName& all, const std::string& name) {
  const auto at = all.find(name);
  return at == all.end() ? Slice() : at->second;
}

std::vector<std::string> texts(Slice list) {
  std::vector<std::string> all;
  for (const Slice element : list.elements()) all.push_back(element.text());
  return all;
}

std::string verdict(Slice v) {
  if (v["fits"].boolean()) return "fits";
  std::vector<std::string> reasons = texts(v["reasons"]);
  std::sort(reasons.begin(), reasons.end());
  return fmt::format("{} {} [{}]", v["plugin"].text(), v["code"].text(), fmt::join(reasons, "; "));
}

// Node -> victims and violations, sorted, as one text.
std::map<std::string, std::string> candidates(Slice preemption) {
  std::map<std::string, std::string> all;
  for (const Slice candidate : preemption["candidates"].elements()) {
    std::vector<std::string> victims = texts(candidate["victims"]);
    std::sort(victims.begin(), victims.end());
    all[candidate["node"].text()] = fmt::format("[{}] violating {}", fmt::join(victims, " "),
                                                candidate["pdbViolations"].integer().value_or(-1));
  }
  return all;
}

class Comparison {
 public:
  Comparison(Slice want, Slice got) : want_(want), got_(got) {}

  std::vector<std::string> run() {
    if (got_["error"] && !got_["error"].text().empty()) {
      differs("error", "", "no error", got_["error"].text());
      return std::move(found_);
    }
    const std::string wanted = verdict(want_["preFilter"]), given = verdict(got_["preFilter"]);
    if (wanted != given) {
      differs("preFilter", "", wanted, given);
      return std::move(found_);
    }
    filters();
    scores();
    choice();
    preemption();
    return std::move(found_);
  }

 private:
  void differs(std::string_view kind, std::string_view node, std::string_view want,
               std::string_view got) {
    found_.push_back(
        fmt::format("{}: {}{}want {} got {}", kind, node, node.empty() ? "" : ": ", want, got));
  }
  void filters() {
    const ByName ours = members(got_["filter"]);
    for (const auto& [node, w] : members(want_["filter"])) {
      const Slice g = find(ours, node);
      if (!g)
        differs("filter", node, verdict(w), "no verdict");
      else if (verdict(w) != verdict(g))
        differs(w["fits"].boolean() == g["fits"].boolean() ? "reason" : "filter", node, verdict(w),
                verdict(g));
    }
  }
  // Plugins that the recorded answer does not have are not compared.
  void scores() {
    const ByName ours = members(got_["scores"]), our_totals = members(got_["totals"]);
    const ByName totals = members(want_["totals"]);
    for (const auto& [node, plugins] : members(want_["scores"])) {
      const Slice g = find(ours, node);
      for (auto [plugin, score] : plugins.members())
        if (g[plugin].raw() != score.raw())
          differs(fmt::format("score:{}", plugin), node, score.raw(), g[plugin].raw());
      if (find(our_totals, node).raw() != find(totals, node).raw())
        differs("total", node, find(totals, node).raw(), find(our_totals, node).raw());
    }
  }
  void choice() {
    if (want_["chosen"].text().empty()) return;
    if (want_["chosen"].text() != got_["chosen"].text())
      differs("choice", "", want_["chosen"].text(), got_["chosen"].text());
    if (texts(want_["order"]) != texts(got_["order"]))
      differs("order", "", want_["order"].raw(), got_["order"].raw());
  }
  void preemption() {
    const Slice w = want_["preemption"], g = got_["preemption"];
    if (!w || w.is_null()) return;
    if (!g) return differs("preemption", "", w.raw(), "nothing");
    if (w["eligible"].boolean() != g["eligible"].boolean())
      return differs("preemption", "", w.raw(), g.raw());
    if (candidates(w) != candidates(g)) return differs("victims", "", w.raw(), g.raw());
    const std::vector<std::string> ties = texts(w["ties"]);
    const std::string chosen = g["chosen"].text();
    if (w["chosen"].text() != chosen && std::find(ties.begin(), ties.end(), chosen) == ties.end())
      differs("chosen", "", fmt::format("one of {}", w["ties"].raw()), chosen);
  }

  Slice want_, got_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> differences(Slice want, Slice got) { return Comparison(want, got).run(); }

}  // namespace berth::scheduler::parity
