// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_pod.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "base/check.h"
#include "base/nearest.h"
#include "cli/explain_report.h"
#include "cli/manifests.h"
#include "cli/on_cluster.h"
#include "cli/scheduler_config.h"
#include "client/api.h"
#include "json/patch.h"
#include "json/writer.h"
#include "kube/kind.h"
#include "scheduler/explain/answer.h"
#include "scheduler/explain/picture.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/run/feeds.h"

namespace berth::cli {
namespace {

using scheduler::Pod;
using scheduler::PodPtr;
using scheduler::ProfileSpec;
using scheduler::SchedulerConfig;

// What was seen of a cluster, or of manifests, and what is said about the pod.
class Explanation {
 public:
  Explanation(SchedulerConfig config, const ExplainPodOptions& options, Context& context)
      : config_(std::move(config)), options_(options), context_(context) {}

  void add(const kube::Object& object) { picture_.add(object); }
  void hide(kube::KindId kind) { hidden_.push_back(kube::kind_of(kind).plural); }

  Error not_found(const std::string& ns) const {
    return {
        .reason = Reason::kNotFound,
        .message = fmt::format("pod {}/{} does not exist{}", ns, options_.name, suggestion(ns))};
  }

  Result<int> judge(const std::string& ns, WallTime now) {
    const PodPtr pod = picture_.pod(ns, options_.name);
    if (!hidden_.empty())
      note(fmt::format("judged as if there were none of what may not be listed: {}",
                       fmt::join(hidden_, ", ")));
    for (const std::string& what : picture_.unreadable())
      note(fmt::format("left out, because it cannot be read: {}", what));
    if (!pod) return tl::unexpected(not_found(ns));
    const Result<ProfileSpec> profile = profile_for(*pod);
    if (!profile) return tl::unexpected(profile.error());
    if (!config_.extenders.empty()) note("extenders are not asked");
    std::vector<std::string> schedulers{profile->scheduler_name};
    for (const scheduler::ProfileConfig& other : config_.profiles)
      schedulers.push_back(other.spec.scheduler_name);
    scheduler::Case problem = picture_.take(pod, schedulers);
    const scheduler::Judgement judgement(*profile, scheduler::all_plugins(), problem, now);
    if (options_.output == "json")
      context_.out << scheduler::answer_of(judgement) << '\n';
    else
      print_explanation(judgement, *pod,
                        {.all_nodes = options_.all_nodes, .columns = context_.columns},
                        context_.out);
    context_.out.flush();
    return kExitOk;
  }

 private:
  std::string suggestion(const std::string& ns) const {
    const std::vector<std::string> elsewhere = picture_.namespaces_with(options_.name);
    if (!elsewhere.empty()) {
      constexpr std::size_t kNamed = 3;
      const std::size_t named = std::min(elsewhere.size(), kNamed);
      return fmt::format("; one of that name is in {}{} (choose with --namespace)",
                         fmt::join(elsewhere.begin(),
                                   elsewhere.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                         elsewhere.size() > named ? ", ..." : "");
    }
    const std::vector<std::string_view> names = picture_.pods_in(ns);
    const std::string_view near = nearest(options_.name, names);
    return near.empty() ? "" : fmt::format(", maybe you meant {}", near);
  }

  void note(const std::string& text) { context_.err << "berth explain: note: " << text << '\n'; }

  Result<ProfileSpec> profile_for(const Pod& pod) {
    std::vector<std::string> names;
    for (const scheduler::ProfileConfig& profile : config_.profiles) {
      if (profile.spec.scheduler_name == pod.spec->scheduler_name) return profile.spec;
      names.push_back(profile.spec.scheduler_name);
    }
    if (!options_.config.empty())
      return tl::unexpected(usage_error(fmt::format(
          "{}: has no profile named {}, which the pod's schedulerName asks for; it has {}",
          options_.config, pod.spec->scheduler_name, fmt::join(names, ", "))));
    note(
        fmt::format("its scheduler is {}; judged with kube-scheduler's default profile (name that "
                    "scheduler's file with --config)",
                    pod.spec->scheduler_name));
    ProfileSpec spec = config_.profiles.front().spec;
    spec.scheduler_name = pod.spec->scheduler_name;
    return spec;
  }

  SchedulerConfig config_;
  const ExplainPodOptions& options_;
  Context& context_;
  scheduler::Picture picture_;
  std::vector<std::string> hidden_;  // kinds that we may not read
};

std::vector<kube::KindId> kinds_in_order() {
  std::vector<kube::KindId> kinds = scheduler::other_kinds();
  kinds.insert(kinds.end(), {kube::kNode, kube::kPod});
  return kinds;
}

// Lists everything that the scheduler follows, kind by kind, pods last; then judges and prints.
// Lists and not informers, so that what may not be read is an error and not a wait.
class LiveExplanation {
 public:
  LiveExplanation(Scope& scope, std::unique_ptr<client::Cluster> cluster, Explanation& explanation,
                  std::string name, Finish finish)
      : scope_(scope),
        explanation_(explanation),
        name_(std::move(name)),
        finish_(std::move(finish)),
        cluster_(std::move(cluster)),
        api_(scope, *cluster_->transport, Random::from_entropy(), nullptr, {.attempts = 3}),
        kinds_(kinds_in_order()) {}

  void start() {
    // The pod first: a name that is wrong needs no long lists to be told so.
    api_.get(kube::kPod, {cluster_->ns, name_},
             scope_.done<kube::Object>(kNoLimit, [this](Result<kube::Object> pod) {
               if (!pod && pod.error().reason == Reason::kNotFound) return not_found();
               if (!pod) return failed(std::move(pod.error()));
               list(0);
             }));
  }

 private:
  void list(std::size_t at) {
    if (at == kinds_.size())
      return finish_(explanation_.judge(cluster_->ns, scope_.executor().clock().wall()));
    api_.list_all(kinds_[at], "", {},
                  scope_.done<kube::ObjectList>(kNoLimit, [this, at](Result<kube::ObjectList> got) {
                    const kube::KindId kind = kinds_[at];
                    if (got) {
                      for (const kube::Object& object : got->items) explanation_.add(object);
                    } else if (got.error().reason == Reason::kForbidden && kind != kube::kNode &&
                               kind != kube::kPod) {
                      explanation_.hide(kind);
                    } else {
                      return failed(std::move(got.error()));
                    }
                    list(at + 1);
                  }));
  }

  // Which pods there are is asked only to suggest one; the error stands whether or not it is told.
  void not_found() {
    api_.list_all(kube::kPod, "", {},
                  scope_.done<kube::ObjectList>(kNoLimit, [this](Result<kube::ObjectList> pods) {
                    if (pods)
                      for (const kube::Object& object : pods->items) explanation_.add(object);
                    finish_(tl::unexpected(explanation_.not_found(cluster_->ns)));
                  }));
  }

  void failed(Error error) { finish_(tl::unexpected(asked_of(*cluster_, std::move(error)))); }

  Scope& scope_;
  Explanation& explanation_;
  std::string name_;
  Finish finish_;
  std::unique_ptr<client::Cluster> cluster_;
  client::Api api_;
  std::vector<kube::KindId> kinds_;
};

// An API server gives every object a uid, and a namespace where it needs one.
kube::Object as_if_created(const kube::Object& object) {
  const kube::Kind& kind = kube::kind_of(object.kind());
  const bool placeless = kind.namespaced && object.ns().empty();
  if (!placeless && !object.uid().empty()) return object;
  json::Writer patch;
  patch.object().member("metadata").object();
  if (placeless) patch.member("namespace").string("default");
  if (object.uid().empty()) patch.member("uid").string(object.key().text());
  patch.end().end();
  Result<std::string> json = json::merge_patch(object.json(), patch.take());
  BERTH_CHECK(json.has_value(), object.key().text());
  Result<kube::Object> created = kube::Object::parse(object.kind(), *json);
  BERTH_CHECK(created.has_value(), object.key().text());
  return *std::move(created);
}

Result<int> from_files(Explanation& explanation, const ExplainPodOptions& options) {
  Manifests all;
  for (const std::string& file : options.files)
    if (Result<Ok> read = all.read(file); !read) return tl::unexpected(std::move(read.error()));
  for (const kube::KindId kind : kinds_in_order())
    for (const kube::Object& object : all.of(kind)) explanation.add(as_if_created(object));
  return explanation.judge(options.connect.ns.empty() ? "default" : options.connect.ns,
                           scheduler::kNoClock);
}

}  // namespace

Result<int> explain_pod(const ExplainPodOptions& options, Context& context) {
  Result<SchedulerConfig> config = load_scheduler_config(options.config);
  if (!config) return tl::unexpected(std::move(config.error()));
  Explanation explanation(*std::move(config), options, context);
  if (!options.files.empty()) return from_files(explanation, options);
  return run_on_cluster(
      kExitFailed, options.connect, [&](Scope& scope, auto cluster, Finish finish) {
        auto live = std::make_shared<LiveExplanation>(scope, std::move(cluster), explanation,
                                                      options.name, std::move(finish));
        live->start();
        return live;
      });
}

}  // namespace berth::cli
