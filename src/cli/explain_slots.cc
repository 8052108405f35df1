// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_slots.h"

#include <charconv>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/manifests.h"
#include "cli/on_cluster.h"
#include "cli/wrap.h"
#include "client/api.h"
#include "controllers/diagnosis.h"
#include "controllers/listed.h"

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

Result<int> print(const ExplainSlotsOptions& options, const runtime::View& view,
                  const std::string& ns, WallTime now, Context& context) {
  const Result<Diagnosis> said = diagnose(options, view, ns, now);
  if (!said) return tl::unexpected(said.error());
  return print_diagnosis(*said, options.output, context);
}

// Lists kind by kind, then diagnoses and prints. Lists and not informers, so that what may not be
// read is an error and not a wait.
class LiveDiagnosis {
 public:
  LiveDiagnosis(Scope& scope, std::unique_ptr<client::Cluster> cluster,
                const ExplainSlotsOptions& options, Context& context, Finish finish)
      : scope_(scope),
        options_(options),
        context_(context),
        finish_(std::move(finish)),
        cluster_(std::move(cluster)),
        api_(scope, *cluster_->transport, Random::from_entropy(), nullptr, {.attempts = 3}),
        kinds_(controllers::kinds_to_diagnose()) {}

  void list(std::size_t at = 0) {
    if (at == kinds_.size())
      return finish_(print(options_, runtime::View(listed_), cluster_->ns,
                           scope_.executor().clock().wall(), context_));
    const kube::KindId kind = kinds_[at];
    kube::Options options;
    if (kind == kube::kPod) options.label_selector = controllers::kPodsToDiagnose;
    api_.list_all(kind, "", options,
                  scope_.done<kube::ObjectList>(kNoLimit, [this, at](Result<kube::ObjectList> got) {
                    if (!got) return failed(at, std::move(got.error()));
                    for (const kube::Object& object : got->items) listed_.add(object);
                    list(at + 1);
                  }));
  }

 private:
  void failed(std::size_t at, Error error) {
    const kube::Kind& kind = kube::kind_of(kinds_[at]);
    if (error.reason == Reason::kNotFound)
      error.message =
          fmt::format("the cluster has no kind {}.{}: berth install prints what has to be there",
                      kind.plural, kind.group);
    finish_(tl::unexpected(asked_of(*cluster_, std::move(error))));
  }

  Scope& scope_;
  const ExplainSlotsOptions& options_;
  Context& context_;
  Finish finish_;
  std::unique_ptr<client::Cluster> cluster_;
  client::Api api_;
  std::vector<kube::KindId> kinds_;
  controllers::Listed listed_;
};

Result<int> from_files(const ExplainSlotsOptions& options, Context& context) {
  Manifests all;
  for (const std::string& file : options.files)
    if (Result<Ok> read = all.read(file); !read) return tl::unexpected(std::move(read.error()));
  controllers::Listed listed;
  std::optional<WallTime> newest;
  for (const kube::KindId kind : controllers::kinds_to_diagnose())
    for (const kube::Object& object : all.of(kind)) {
      listed.add(object);
      if (object.created()) newest = std::max(newest.value_or(WallTime{}), *object.created());
    }
  // Files have no now: an hour after the last of them was made.
  return print(options, runtime::View(listed),
               options.connect.ns.empty() ? "default" : options.connect.ns,
               newest.value_or(WallTime{}) + 1h, context);
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
  if (!options.files.empty()) return from_files(options, context);
  return run_on_cluster(kExitFailed, options.connect,
                        [&](Scope& scope, auto cluster, Finish finish) {
                          auto live = std::make_shared<LiveDiagnosis>(
                              scope, std::move(cluster), options, context, std::move(finish));
                          live->list();
                          return live;
                        });
}

}  // namespace berth::cli
