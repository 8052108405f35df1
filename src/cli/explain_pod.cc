// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_pod.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "base/nearest.h"
#include "cli/explain_report.h"
#include "cli/on_cluster.h"
#include "cli/scheduler_config.h"
#include "client/api.h"
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

// Lists everything that the scheduler follows, kind by kind, pods last; then judges and prints.
// Lists and not informers, so that what may not be read is an error and not a wait.
class LiveExplanation {
 public:
  LiveExplanation(Scope& scope, std::unique_ptr<client::Cluster> cluster, SchedulerConfig config,
                  const ExplainPodOptions& options, Context& context, Finish finish)
      : scope_(scope),
        config_(std::move(config)),
        options_(options),
        context_(context),
        finish_(std::move(finish)),
        cluster_(std::move(cluster)),
        api_(scope, *cluster_->transport, Random::from_entropy(), nullptr, {.attempts = 3}),
        kinds_(scheduler::other_kinds()) {
    kinds_.insert(kinds_.end(), {kube::kNode, kube::kPod});
  }

  void start() {
    // The pod first: a name that is wrong needs no long lists to be told so.
    api_.get(kube::kPod, {cluster_->ns, options_.name},
             scope_.done<kube::Object>(kNoLimit, [this](Result<kube::Object> pod) {
               if (!pod && pod.error().reason == Reason::kNotFound) return not_found();
               if (!pod) return failed(std::move(pod.error()));
               list(0);
             }));
  }

 private:
  void list(std::size_t at) {
    if (at == kinds_.size()) return finish_(judge());
    api_.list_all(kinds_[at], "", {},
                  scope_.done<kube::ObjectList>(kNoLimit, [this, at](Result<kube::ObjectList> got) {
                    const kube::KindId kind = kinds_[at];
                    if (got) {
                      for (const kube::Object& object : got->items) picture_.add(object);
                    } else if (got.error().reason == Reason::kForbidden && kind != kube::kNode &&
                               kind != kube::kPod) {
                      hidden_.push_back(kube::kind_of(kind).plural);
                    } else {
                      return failed(std::move(got.error()));
                    }
                    list(at + 1);
                  }));
  }

  // Which pods there are is asked only to suggest one; the error stands whether or not it is told.
  void not_found() {
    api_.list_all(
        kube::kPod, "", {},
        scope_.done<kube::ObjectList>(kNoLimit, [this](Result<kube::ObjectList> pods) {
          if (pods)
            for (const kube::Object& object : pods->items) picture_.add(object);
          finish_(fail(Reason::kNotFound, fmt::format("pod {}/{} does not exist{}", cluster_->ns,
                                                      options_.name, suggestion())));
        }));
  }

  std::string suggestion() const {
    const std::vector<std::string> elsewhere = picture_.namespaces_with(options_.name);
    if (!elsewhere.empty()) {
      constexpr std::size_t kNamed = 3;
      const std::size_t named = std::min(elsewhere.size(), kNamed);
      return fmt::format("; one of that name is in {}{} (choose with --namespace)",
                         fmt::join(elsewhere.begin(),
                                   elsewhere.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                         elsewhere.size() > named ? ", ..." : "");
    }
    const std::vector<std::string_view> names = picture_.pods_in(cluster_->ns);
    const std::string_view near = nearest(options_.name, names);
    return near.empty() ? "" : fmt::format(", maybe you meant {}", near);
  }

  void failed(Error error) { finish_(tl::unexpected(asked_of(*cluster_, std::move(error)))); }

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

  Result<int> judge() {
    const PodPtr pod = picture_.pod(cluster_->ns, options_.name);
    if (!hidden_.empty())
      note(fmt::format("judged as if there were none of what may not be listed: {}",
                       fmt::join(hidden_, ", ")));
    for (const std::string& what : picture_.unreadable())
      note(fmt::format("left out, because it cannot be read: {}", what));
    if (!pod)
      return fail(Reason::kNotFound,
                  fmt::format("pod {}/{} was deleted meanwhile, or cannot be read", cluster_->ns,
                              options_.name));
    const Result<ProfileSpec> profile = profile_for(*pod);
    if (!profile) return tl::unexpected(profile.error());
    if (!config_.extenders.empty()) note("extenders are not asked");
    std::vector<std::string> schedulers{profile->scheduler_name};
    for (const scheduler::ProfileConfig& other : config_.profiles)
      schedulers.push_back(other.spec.scheduler_name);
    scheduler::Case problem = picture_.take(pod, schedulers);
    const scheduler::Judgement judgement(*profile, scheduler::all_plugins(), problem,
                                         scope_.executor().clock().wall());
    if (options_.output == "json")
      context_.out << scheduler::answer_of(judgement) << '\n';
    else
      print_explanation(judgement, *pod,
                        {.all_nodes = options_.all_nodes, .columns = context_.columns},
                        context_.out);
    context_.out.flush();
    return kExitOk;
  }

  Scope& scope_;
  SchedulerConfig config_;
  const ExplainPodOptions& options_;
  Context& context_;
  Finish finish_;
  std::unique_ptr<client::Cluster> cluster_;
  client::Api api_;
  std::vector<kube::KindId> kinds_;
  scheduler::Picture picture_;
  std::vector<std::string> hidden_;  // kinds that we may not read
};

}  // namespace

Result<int> explain_pod(const ExplainPodOptions& options, Context& context) {
  Result<SchedulerConfig> config = load_scheduler_config(options.config);
  if (!config) return tl::unexpected(std::move(config.error()));
  return run_on_cluster(
      kExitFailed, options.connect, [&](Scope& scope, auto cluster, Finish finish) {
        auto live = std::make_shared<LiveExplanation>(scope, std::move(cluster), *std::move(config),
                                                      options, context, std::move(finish));
        live->start();
        return live;
      });
}

}  // namespace berth::cli
