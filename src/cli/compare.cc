// SPDX-License-Identifier: Apache-2.0
// berth compare: the same work through several set-ups in virtual time, side by side.
#include <algorithm>
#include <fstream>
#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/named_file.h"
#include "kube/time.h"
#include "simulate/report.h"

namespace berth::cli {
namespace {

struct CompareOptions {
  std::string what, trace, output = "table", plot, from = "0s", length = "24h";
  std::int64_t nodes = 10, cores = 32, gib = 128, scavengers = 150, silent = 20, seed = 1,
               lives = 8;
  std::vector<std::string> setups;
  bool check = false;
};

constexpr simulate::Variant kSetups[] = {simulate::Variant::kNone,  simulate::Variant::kPlain,
                                         simulate::Variant::kStock, simulate::Variant::kExtender,
                                         simulate::Variant::kOwn,   simulate::Variant::kPacked};

Result<Duration> span_of(std::string_view flag, const std::string& text) {
  const auto span = kube::parse_duration(text);
  if (!span || *span < Duration{})
    return tl::unexpected(
        usage_error(fmt::format("{} {}: is no duration; write it like 90m or 48h", flag, text)));
  return *span;
}

Result<std::vector<simulate::Variant>> setups_of(const CompareOptions& options) {
  std::vector<simulate::Variant> wanted;
  for (const simulate::Variant each : kSetups) {
    const bool named = std::find(options.setups.begin(), options.setups.end(),
                                 simulate::word_of(each)) != options.setups.end();
    if (named || (options.setups.empty() && each != simulate::Variant::kPlain))
      wanted.push_back(each);
  }
  for (const std::string& word : options.setups)
    if (std::none_of(std::begin(kSetups), std::end(kSetups),
                     [&](simulate::Variant each) { return simulate::word_of(each) == word; }))
      return tl::unexpected(usage_error(fmt::format(
          "--setup {}: there is no such; use none, plain, stock, extender, own or packed", word)));
  return wanted;
}

// The first life, or a later one, which differs by what is left to chance.
Result<simulate::Scenario> scenario_of(const CompareOptions& options, std::int64_t life) {
  const auto from = span_of("--from", options.from), length = span_of("--for", options.length);
  if (!from) return tl::unexpected(from.error());
  if (!length) return tl::unexpected(length.error());
  if (*length < 1h || *length > 24h * 366)
    return tl::unexpected(usage_error("--for: from an hour to a year can be simulated"));
  if (options.nodes < 1 || options.nodes > 100'000 || options.cores < 1 || options.gib < 1 ||
      options.scavengers < 0 || options.scavengers > 99'999 || options.silent < 0 ||
      options.silent > 100 || options.lives < 1 || options.lives > 1000)
    return tl::unexpected(
        usage_error("--nodes, --cores, --memory and --lives are at least 1, --scavengers at most "
                    "99999, --lives at most 1000, and --silent at most 100"));
  simulate::Scenario scenario{.trace = {}, .programs = {}};
  scenario.nodes = static_cast<int>(options.nodes);
  scenario.node_cores = options.cores;
  scenario.node_gib = options.gib;
  scenario.length = *length;
  scenario.seed = static_cast<Seed>(options.seed + life);
  const Random random(scenario.seed);
  if (options.trace.empty()) {
    scenario.trace = simulate::made_up_trace(random.fork("trace"),
                                             options.nodes * options.cores * 1000, *from + *length);
  } else {
    const auto text = read_named_file(options.trace);
    if (!text) return tl::unexpected(text.error());
    auto read = simulate::read_trace(*text, options.trace);
    if (!read) return tl::unexpected(std::move(read.error()));
    scenario.trace = *std::move(read);
  }
  scenario.trace = simulate::fitting(simulate::cut(scenario.trace, *from, *length),
                                     options.cores * 1000, options.gib * 1024);
  scenario.programs =
      simulate::backlog(random.fork("backlog"), static_cast<int>(options.scavengers),
                        static_cast<int>(options.silent));
  return scenario;
}

Result<int> compare_scavengers(const CompareOptions& options, Context& context) {
  const auto setups = setups_of(options);
  if (!setups) return tl::unexpected(setups.error());
  for (const auto needed :
       {simulate::Variant::kNone, simulate::Variant::kStock, simulate::Variant::kOwn})
    if (options.check && std::find(setups->begin(), setups->end(), needed) == setups->end())
      return tl::unexpected(usage_error(
          "--check: compares none, stock and own; leave out --setup, or name all three"));
  std::vector<simulate::Scenario> scenarios;
  for (std::int64_t life = 0; life < std::max<std::int64_t>(1, options.lives); ++life) {
    auto scenario = scenario_of(options, life);
    if (!scenario) return tl::unexpected(scenario.error());
    scenarios.push_back(*std::move(scenario));
  }
  std::vector<simulate::Outcome> outcomes;
  for (const simulate::Variant setup : *setups) {
    std::vector<simulate::Outcome> lives;
    for (const simulate::Scenario& scenario : scenarios) {
      if (context.err_terminal)
        context.err << fmt::format("{}, seed {} ...\n", simulate::title_of(setup), scenario.seed);
      auto outcome = simulate::live(scenario, setup);
      if (!outcome) return tl::unexpected(std::move(outcome.error()));
      lives.push_back(*std::move(outcome));
    }
    outcomes.push_back(simulate::pooled(lives));
  }
  const simulate::Scenario& scenario = scenarios.front();
  context.out << (options.output == "json" ? simulate::json_report(scenario, outcomes)
                                           : simulate::table(scenario, outcomes));
  if (!options.plot.empty()) {
    std::ofstream out(options.plot);
    out << simulate::plot(scenario, outcomes);
    if (!out.flush())
      return fail(Reason::kInternalError, fmt::format("{}: cannot be written", options.plot));
  }
  if (!options.check) return kExitOk;
  const simulate::Verdict verdict = simulate::verdict_of(scenario, outcomes);
  if (verdict.kept()) return kExitOk;
  return fail(Reason::kInternalError,
              verdict.complete()
                  ? fmt::format("--check: Berth is to lose at least {:.0f} % less than the stock "
                                "order, and the bound on waits is to be met",
                                100 * simulate::Verdict::kPromisedSaving)
                  : "--check: the stock order lost nothing to compare with; simulate longer, or "
                    "with more --scavengers");
}

}  // namespace

Command compare() {
  auto options = std::make_shared<CompareOptions>();
  Command command("compare", "Compare set-ups on the same work, in virtual time");
  command
      .positional_choice("WHAT", &options->what, {"scavengers"},
                         "scavengers: spare capacity, and who is interrupted")
      .flag("--trace", &options->trace,
            "ordinary pods as CSV (name, cpu_milli, memory_mib, creation_time, deletion_time, "
            "scheduled_time); default: office hours, made up by the seed",
            "FILE")
      .flag("--from", &options->from, "where in the trace to begin", "DURATION")
      .flag("--for", &options->length, "how long to simulate; default: 24h", "DURATION")
      .flag("--nodes", &options->nodes, "number of nodes; default: 10")
      .flag("--cores", &options->cores, "cores of a node; default: 32")
      .flag("--memory", &options->gib, "memory of a node, in GiB; default: 128")
      .flag("--scavengers", &options->scavengers,
            "scavenger jobs that wait at the beginning; default: 150")
      .flag("--silent", &options->silent,
            "of a hundred of them, how many never report a checkpoint; default: 20")
      .flag("--setup", &options->setups,
            "run these only: none, plain, stock, extender, own, packed; default: all but plain",
            "NAME")
      .flag("--seed", &options->seed, "of everything that is left to chance")
      .flag("--lives", &options->lives,
            "live so many times, with this seed and those after it; default: 8, since one life has "
            "few "
            "interruptions")
      .flag("--check", &options->check,
            "exit with 1 unless Berth loses 30 % less work than the stock order and ordinary pods "
            "wait no longer than the bound")
      .flag("--plot", &options->plot, "write an SVG, too", "FILE")
      .choice("-o,--output", &options->output, {"table", "json"}, "how to print")
      .example("berth compare scavengers --plot scavengers.svg")
      .run([options](Context& context) { return compare_scavengers(*options, context); });
  return command;
}

}  // namespace berth::cli
