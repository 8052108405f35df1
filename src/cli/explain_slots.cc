// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_slots.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "cli/listing.h"
#include "cli/wrap.h"

namespace berth::cli {
namespace {

using controllers::Diagnosis;

struct SlotName {
  std::string testbed;
  slots::SlotNumber number = 0;
};
Result<SlotName> slot_named(const std::string& text) {
  SlotName name;
  const std::size_t slash = text.find('/');
  if (slash != std::string::npos && slash > 0) {
    name.testbed = text.substr(0, slash);
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data() + slash + 1, end, name.number);
    if (problem == std::errc() && stop == end && name.number >= 0) return name;
  }
  return tl::unexpected(usage_error(
      fmt::format("\"{}\" is no slot: write TESTBED/NUMBER, as in berth explain slot tb/3", text)));
}

Result<Diagnosis> diagnose(const ExplainSlotsOptions& options, const runtime::View& view,
                           const std::string& ns, WallTime now) {
  const kube::Key key{ns, options.name};
  if (options.subject == "job") return controllers::diagnose_job(view, key, now);
  if (options.subject == "scheduling") return controllers::diagnose_scheduling(view, key, now);
  if (options.subject == "testbed") return controllers::diagnose_testbed(view, key, now);
  const Result<SlotName> slot = slot_named(options.name);
  if (!slot) return tl::unexpected(slot.error());
  return controllers::diagnose_slot(view, {ns, slot->testbed}, slot->number, now);
}

}  // namespace

Result<int> print_diagnosis(const Diagnosis& said, std::string_view output, Context& context) {
  std::ostream& out = context.out;
  if (output == "json") {
    out << controllers::diagnosis_json(said) << '\n' << std::flush;
    return kExitOk;
  }
  const auto columns = static_cast<std::size_t>(context.columns);
  out << said.subject << (said.state.empty() ? "" : fmt::format(" ({})", said.state)) << '\n';
  for (const std::string& sentence : said.because) wrap(sentence, 2, columns, out);
  out << (said.well ? "Nothing is wrong:\n" : "Cause:\n");
  wrap(said.cause, 2, columns, out);
  if (!said.remedy.empty()) {
    out << (said.well ? "To go on:\n" : "Remedy:\n");
    wrap(said.remedy, 2, columns, out);
  }
  out << std::flush;
  return kExitOk;
}

Result<int> explain_slots(const ExplainSlotsOptions& options, Context& context) {
  if (options.subject == "slot")
    if (const auto good = slot_named(options.name); !good) return tl::unexpected(good.error());
  std::vector<Wanted> wanted;
  for (const kube::KindId kind : controllers::kinds_to_diagnose()) {
    wanted.push_back({.kind = kind});
    if (kind == kube::kPod) wanted.back().options.label_selector = controllers::kPodsToDiagnose;
  }
  return look_at(
      options.files, options.connect, std::move(wanted), [&](const Listing& seen) -> Result<int> {
        const auto said = diagnose(options, runtime::View(seen.objects), seen.ns, seen.now);
        if (!said) return tl::unexpected(said.error());
        return print_diagnosis(*said, options.output, context);
      });
}

}  // namespace berth::cli
