// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_scavenger.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/manifests.h"
#include "cli/on_cluster.h"
#include "client/api.h"
#include "controllers/listed.h"
#include "controllers/scavenger_diagnosis.h"
#include "kube/ours/ours.h"
#include "kube/time.h"

namespace berth::cli {
namespace {

// What doors told of the job: "12 min ago, Preempted: Interrupted for pod shop/web on n3: …".
std::vector<std::string> told_by(std::vector<kube::Object> events) {
  const auto time_of = [](const kube::Object& event) {
    for (const json::Slice at :
         {event.member("series")["lastObservedTime"], event.member("eventTime"),
          event.member("deprecatedLastTimestamp")})
      if (const auto time = kube::parse_time(at.text())) return *time;
    return event.created().value_or(WallTime{});
  };
  std::erase_if(events, [](const kube::Object& event) {
    const json::Slice action = event.member("action");
    return !action.equals("Preempting") && !action.equals("Reclaiming");
  });
  std::sort(events.begin(), events.end(),
            [&](const kube::Object& a, const kube::Object& b) { return time_of(b) < time_of(a); });
  std::vector<std::string> told;
  for (const kube::Object& event : events)
    told.push_back(
        fmt::format("{}: {}", kube::time_text(time_of(event)), event.member("note").text()));
  return told;
}

Result<int> print(const ExplainSlotsOptions& options, const runtime::View& view,
                  const std::string& ns, std::vector<std::string> told, WallTime now,
                  Context& context) {
  const auto said = controllers::diagnose_scavenger(view, {ns, options.name}, std::move(told), now);
  if (!said) return tl::unexpected(said.error());
  return print_diagnosis(*said, options.output, context);
}

// Lists kind by kind, then the job's events, then diagnoses and prints.
class LiveScavenger {
 public:
  LiveScavenger(Scope& scope, std::unique_ptr<client::Cluster> cluster,
                const ExplainSlotsOptions& options, Context& context, Finish finish)
      : scope_(scope),
        options_(options),
        context_(context),
        finish_(std::move(finish)),
        cluster_(std::move(cluster)),
        api_(scope, *cluster_->transport, Random::from_entropy(), nullptr, {.attempts = 3}),
        kinds_(controllers::kinds_of_scavengers()) {}

  void list(std::size_t at = 0) {
    if (at == kinds_.size()) return list_events();
    api_.list_all(kinds_[at], "", {},
                  scope_.done<kube::ObjectList>(kNoLimit, [this, at](Result<kube::ObjectList> got) {
                    if (!got && !may_be_missing(at, got.error()))
                      return failed(at, std::move(got.error()));
                    if (got)
                      for (const kube::Object& object : got->items) listed_.add(object);
                    list(at + 1);
                  }));
  }

 private:
  // A cluster need not have the second group.
  bool may_be_missing(std::size_t at, const Error& error) const {
    return kinds_[at] == kube::cerit_kinds().job && error.reason == Reason::kNotFound;
  }
  void failed(std::size_t at, Error error) {
    const kube::Kind& kind = kube::kind_of(kinds_[at]);
    if (error.reason == Reason::kNotFound)
      error.message =
          fmt::format("the cluster has no kind {}.{}: berth install prints what has to be there",
                      kind.plural, kind.group);
    finish_(tl::unexpected(asked_of(*cluster_, std::move(error))));
  }
  // What may not be read is left out: the rest is worth saying.
  void list_events() {
    kube::Options options;
    options.field_selector = fmt::format("regarding.name={}", options_.name);
    api_.list_all(
        kube::kEvent, cluster_->ns, options,
        scope_.done<kube::ObjectList>(kNoLimit, [this](Result<kube::ObjectList> got) {
          std::vector<kube::Object> events;
          if (got)
            for (const kube::Object& event : got->items)
              if (event.member("regarding")["kind"].equals("ScavengerJob")) events.push_back(event);
          finish_(print(options_, runtime::View(listed_), cluster_->ns, told_by(std::move(events)),
                        scope_.executor().clock().wall(), context_));
        }));
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
  for (const kube::KindId kind : controllers::kinds_of_scavengers())
    for (const kube::Object& object : all.of(kind)) {
      listed.add(object);
      if (object.created()) newest = std::max(newest.value_or(WallTime{}), *object.created());
    }
  // Files have no now: an hour after the last of them was made.
  return print(options, runtime::View(listed),
               options.connect.ns.empty() ? "default" : options.connect.ns, {},
               newest.value_or(WallTime{}) + 1h, context);
}

}  // namespace

Result<int> explain_scavenger(const ExplainSlotsOptions& options, Context& context) {
  if (!options.files.empty()) return from_files(options, context);
  return run_on_cluster(kExitFailed, options.connect,
                        [&](Scope& scope, auto cluster, Finish finish) {
                          auto live = std::make_shared<LiveScavenger>(
                              scope, std::move(cluster), options, context, std::move(finish));
                          live->list();
                          return live;
                        });
}

}  // namespace berth::cli
