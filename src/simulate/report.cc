// SPDX-License-Identifier: Apache-2.0
#include "simulate/report.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::simulate {
namespace {

double seconds(Duration span) { return std::chrono::duration<double>(span).count(); }

const Outcome* outcome_of(std::span<const Outcome> outcomes, Variant setup) {
  const auto found = std::find_if(outcomes.begin(), outcomes.end(),
                                  [&](const Outcome& each) { return each.setup == setup; });
  return found == outcomes.end() ? nullptr : &*found;
}

struct Row {
  std::string_view name;
  std::string (*cell)(const Outcome&);
};
bool scavenges(const Outcome& outcome) { return outcome.setup != Variant::kNone; }
std::string only_with(const Outcome& outcome, std::string text) {
  return scavenges(outcome) ? text : std::string("-");
}
const Row kRows[] = {
    {"utilisation of cores",
     [](const Outcome& o) { return fmt::format("{:.1f} %", 100 * o.utilisation); }},
    {"of it by ordinary pods",
     [](const Outcome& o) { return fmt::format("{:.1f} %", 100 * o.ordinary_utilisation); }},
    {"ordinary pods: wait, median",
     [](const Outcome& o) { return fmt::format("{:.1f} s", seconds(o.wait_p50)); }},
    {"ordinary pods: wait, p99",
     [](const Outcome& o) { return fmt::format("{:.1f} s", seconds(o.wait_p99)); }},
    {"ordinary pods: longest wait",
     [](const Outcome& o) { return fmt::format("{:.1f} s", seconds(o.wait_most)); }},
    {"ordinary pods never placed",
     [](const Outcome& o) { return fmt::format("{}", o.never_placed); }},
    {"scavenged core-hours",
     [](const Outcome& o) { return only_with(o, fmt::format("{:.0f}", o.held_core_hours)); }},
    {"useful core-hours",
     [](const Outcome& o) { return only_with(o, fmt::format("{:.0f}", o.useful_core_hours)); }},
    {"lost core-hours",
     [](const Outcome& o) { return only_with(o, fmt::format("{:.1f}", o.lost_core_hours)); }},
    {"goodput",
     [](const Outcome& o) { return only_with(o, fmt::format("{:.1f} %", 100 * o.goodput())); }},
    {"interruptions",
     [](const Outcome& o) { return only_with(o, fmt::format("{}", o.interruptions)); }},
    {"interruptions a job",
     [](const Outcome& o) { return only_with(o, fmt::format("{:.2f}", o.interruptions_a_job())); }},
    {"jobs completed",
     [](const Outcome& o) { return only_with(o, fmt::format("{}", o.completed)); }},
};

std::string compared(double saved) {
  return fmt::format("{:.0f} % {} work than the stock order", 100 * std::abs(saved),
                     saved < 0 ? "more" : "less");
}

}  // namespace

Verdict verdict_of(const Scenario& scenario, std::span<const Outcome> outcomes) {
  Verdict verdict;
  const Outcome* const stock = outcome_of(outcomes, Variant::kStock);
  const Outcome* const own = outcome_of(outcomes, Variant::kOwn);
  const Outcome* const none = outcome_of(outcomes, Variant::kNone);
  const Outcome* const extender = outcome_of(outcomes, Variant::kExtender);
  const Outcome* const packed = outcome_of(outcomes, Variant::kPacked);
  if (stock != nullptr && own != nullptr && stock->lost_core_hours > 0) {
    verdict.saved = 1 - own->lost_core_hours / stock->lost_core_hours;
    const std::size_t lives = std::min(stock->lost_by_life.size(), own->lost_by_life.size());
    for (std::size_t i = 0; i < lives && lives > 1; ++i)
      if (stock->lost_by_life[i] > 0)
        verdict.saved_by_life.push_back(1 - own->lost_by_life[i] / stock->lost_by_life[i]);
  }
  if (stock != nullptr && extender != nullptr && stock->lost_core_hours > 0)
    verdict.saved_by_extender = 1 - extender->lost_core_hours / stock->lost_core_hours;
  if (stock != nullptr && packed != nullptr && stock->lost_core_hours > 0)
    verdict.saved_by_packing = 1 - packed->lost_core_hours / stock->lost_core_hours;
  if (none == nullptr) return verdict;
  for (const Outcome& each : outcomes)
    if (scavenges(each))
      verdict.longer_wait =
          std::max(verdict.longer_wait.value_or(Duration::min()), each.wait_p99 - none->wait_p99);
  verdict.within_bound = !verdict.longer_wait || *verdict.longer_wait <= scenario.reclaim_bound();
  return verdict;
}

std::string table(const Scenario& scenario, std::span<const Outcome> outcomes) {
  std::size_t first = 0;
  for (const Row& row : kRows) first = std::max(first, row.name.size());
  const std::size_t lives = outcomes.empty() ? 0 : outcomes.front().lost_by_life.size();
  std::string text = fmt::format(
      "{} nodes of {} cores, {} of virtual time{}, {} ordinary pods, {} scavenger jobs{}\n\n",
      scenario.nodes, scenario.node_cores,
      fmt::format("{:.1f} days", seconds(scenario.length) / 86'400),
      lives > 1 ? fmt::format(" {} times over", lives) : "",
      lives > 1 ? outcomes.front().ordinary_pods : scenario.trace.pods.size(),
      scenario.programs.size(), lives > 1 ? " each" : "");
  text += std::string(first, ' ');
  for (const Outcome& each : outcomes) text += fmt::format("  {:>16}", title_of(each.setup));
  text += "\n";
  for (const Row& row : kRows) {
    text += fmt::format("{:<{}}", row.name, first);
    for (const Outcome& each : outcomes) text += fmt::format("  {:>16}", row.cell(each));
    text += "\n";
  }
  const Verdict verdict = verdict_of(scenario, outcomes);
  text += "\n";
  if (verdict.saved) text += fmt::format("Berth loses {}.\n", compared(*verdict.saved));
  if (verdict.saved_by_extender)
    text += fmt::format("The extender loses {}.\n", compared(*verdict.saved_by_extender));
  if (verdict.saved_by_packing)
    text +=
        fmt::format("Berth, packing scavengers, loses {}.\n", compared(*verdict.saved_by_packing));
  if (!verdict.saved_by_life.empty()) {
    text += "Berth, life by life:";
    for (const double saved : verdict.saved_by_life) text += fmt::format(" {:.0f} %", 100 * saved);
    text += " less.\n";
  }
  if (verdict.longer_wait)
    text += fmt::format(
        "With scavengers ordinary pods wait at most {:.1f} s longer (p99); the bound is {:.0f} s: "
        "{}.\n",
        seconds(*verdict.longer_wait), seconds(scenario.reclaim_bound()),
        verdict.within_bound ? "met" : "MISSED");
  return text;
}

std::string json_report(const Scenario& scenario, std::span<const Outcome> outcomes) {
  json::Writer w;
  w.object();
  w.member("nodes").integer(scenario.nodes);
  w.member("nodeCores").integer(scenario.node_cores);
  w.member("seconds").number(seconds(scenario.length));
  w.member("ordinaryPods").integer(static_cast<std::int64_t>(scenario.trace.pods.size()));
  w.member("scavengerJobs").integer(static_cast<std::int64_t>(scenario.programs.size()));
  w.member("seed").integer(static_cast<std::int64_t>(scenario.seed));
  w.member("reclaimBoundSeconds").number(seconds(scenario.reclaim_bound()));
  const Verdict verdict = verdict_of(scenario, outcomes);
  if (verdict.saved) w.member("lostWorkSaved").number(*verdict.saved);
  if (verdict.saved_by_extender)
    w.member("lostWorkSavedByExtender").number(*verdict.saved_by_extender);
  if (verdict.saved_by_packing)
    w.member("lostWorkSavedByPacking").number(*verdict.saved_by_packing);
  if (!verdict.saved_by_life.empty()) {
    w.member("lostWorkSavedByLife").array();
    for (const double saved : verdict.saved_by_life) w.number(saved);
    w.end();
  }
  if (verdict.longer_wait) w.member("longerWaitSeconds").number(seconds(*verdict.longer_wait));
  w.member("withinBound").boolean(verdict.within_bound);
  w.member("setups").array();
  for (const Outcome& each : outcomes) {
    w.object().member("setup").string(word_of(each.setup));
    w.member("utilisation").number(each.utilisation);
    w.member("ordinaryUtilisation").number(each.ordinary_utilisation);
    w.member("waitP50Seconds").number(seconds(each.wait_p50));
    w.member("waitP99Seconds").number(seconds(each.wait_p99));
    w.member("waitMostSeconds").number(seconds(each.wait_most));
    w.member("neverPlaced").integer(static_cast<std::int64_t>(each.never_placed));
    w.member("scavengedCoreHours").number(each.held_core_hours);
    w.member("usefulCoreHours").number(each.useful_core_hours);
    w.member("lostCoreHours").number(each.lost_core_hours);
    w.member("goodput").number(each.goodput());
    w.member("interruptions").integer(each.interruptions);
    w.member("interruptionsPerJob").number(each.interruptions_a_job());
    w.member("completed").integer(each.completed);
    w.end();
  }
  w.end().end();
  return w.take() + "\n";
}

}  // namespace berth::simulate
