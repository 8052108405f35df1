// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/sight.h"

#include <algorithm>

#include <fmt/format.h>

#include "controllers/nodes.h"
#include "controllers/pods.h"
#include "controllers/scavenger/job_builder.h"
#include "controllers/scavenger/mpi_builder.h"
#include "controllers/scavenger/scavenger_run.h"

namespace berth::controllers {
namespace {

using kube::Object;
using runtime::Answer;

constexpr std::string_view kLauncher = "-launcher";
constexpr const char *kLivePods = "live pods", *kLiveJob = "live job";

std::string node_question(std::string_view node) { return fmt::format("node {}", node); }
std::string node_of(const Object& pod) { return pod.member("spec")["nodeName"].text(); }

}  // namespace

bool holds_accounting(const Object& pod) {
  const auto all = pod.finalizers();
  return std::find(all.begin(), all.end(), kube::kAccountingFinalizer) != all.end();
}

ScavengerSight::ScavengerSight(const runtime::View& view, const kube::ScavengerJobView& job,
                               int members, WallTime now)
    : view_(view),
      job_(job),
      job_kind_(job.has_mpi() ? mpi_job_kind() : kube::kJob),
      job_name_(attempt_name(job.object().name(), job.attempt())),
      job_uid_(job.job_uid()) {
  attempt_.members = members;
  attempt_.now = now;
  const Object& object = job.object();
  const kube::Key key{std::string(object.ns()), job_name_};
  if (const Object* found = view.get(job_kind_, key)) {
    const auto owner = found->controller();
    if (owner && owner->uid == object.uid()) {
      attempt_.job = found;
      if (job_uid_.empty()) job_uid_ = found->uid();
    } else {
      name_is_taken_ = true;
    }
  }
  for (const Object* pod : view.by_index(kube::kPod, kByScavenger, object.uid()))
    if (pod->ns() == object.ns()) labelled_.push_back(pod);
  for (const Object* pod : labelled_) {
    if (!job_uid_.empty() && pod_of_attempt(*pod, job_uid_, job_name_))
      attempt_.pods.push_back(pod);
    const auto owner = pod->controller();
    if (!owner) continue;
    std::string_view name = owner->name;
    if (name.ends_with(kLauncher)) name.remove_suffix(kLauncher.size());
    const auto number = attempt_of(object.name(), name);
    if (number && *number <= job.closed_attempt()) old_pods_.push_back(pod);
  }
  for (const kube::KindId kind : {kube::kJob, mpi_job_kind()}) {
    if (kind != kube::kJob && view.seen(kind) == 0) continue;
    for (const Object* found : view.by_index(kind, runtime::kByController, object.uid())) {
      const auto number = attempt_of(object.name(), found->name());
      if (number && *number <= job.closed_attempt()) old_jobs_.push_back(found);
    }
  }
}

std::string ScavengerSight::launcher_uid() const {
  if (job_kind_ != mpi_job_kind() || job_uid_.empty()) return {};
  const Object* found =
      view_.get(kube::kJob, {std::string(job_.object().ns()), job_name_ + std::string(kLauncher)});
  if (found == nullptr) return {};
  const auto owner = found->controller();
  return owner && owner->uid == job_uid_ ? std::string(found->uid()) : std::string();
}

bool ScavengerSight::stray_pods() const {
  if (attempt_.job != nullptr || !job_uid_.empty()) return false;
  return std::any_of(labelled_.begin(), labelled_.end(), [this](const Object* pod) {
    const auto owner = pod->controller();
    return owner && owner->name == job_name_ && !pod_ended(*pod);
  });
}

bool ScavengerSight::knows_nodes() {
  bool all = true;
  for (const Object* pod : labelled_) {
    const std::string node = node_of(*pod);
    if (node.empty() || pod_ended(*pod) || view_.get(kube::kNode, {"", node}) != nullptr) continue;
    const Answer* answer = view_.answer(node_question(node));
    if (answer == nullptr)
      all = false;
    else if (answer->error && answer->error->reason == Reason::kNotFound)
      attempt_.lost_nodes.insert(node);
  }
  return all;
}

void ScavengerSight::ask(runtime::Plan& plan) const {
  std::set<std::string> nodes;
  for (const Object* pod : labelled_) {
    std::string node = node_of(*pod);
    if (node.empty() || pod_ended(*pod) || view_.get(kube::kNode, {"", node}) != nullptr) continue;
    if (!nodes.insert(node).second) continue;
    kube::ApiRequest get;
    get.kind = kube::kNode;
    get.name = node;
    plan.ask(node_question(node), std::move(get));
  }
  kube::ApiRequest list;
  list.verb = kube::Verb::kList;
  list.kind = kube::kPod;
  list.ns = job_.object().ns();
  list.options.label_selector = fmt::format("{}={}", kube::kScavengerLabel, job_.object().uid());
  plan.ask(kLivePods, std::move(list));
  kube::ApiRequest get;
  get.kind = job_kind_;
  get.ns = job_.object().ns();
  get.name = job_name_;
  plan.ask(kLiveJob, std::move(get));
}

std::optional<ScavengerSight::Live> ScavengerSight::live() const {
  const Answer *pods = view_.answer(kLivePods), *job = view_.answer(kLiveJob);
  if (pods == nullptr || job == nullptr) return std::nullopt;
  Live out;
  out.attempt.lost_nodes = attempt_.lost_nodes;
  out.attempt.members = attempt_.members;
  out.attempt.now = attempt_.now;
  const bool no_job = job->error && job->error->reason == Reason::kNotFound;
  if (pods->error || pods->more || (job->error && !no_job)) {
    out.failed = true;
    return out;
  }
  if (!job->error && !job->objects.empty() && job->objects.front().uid() == job_uid_)
    out.attempt.job = &job->objects.front();
  for (const Object& pod : pods->objects)
    if (pod.label(kube::kScavengerLabel) == job_.object().uid() &&
        pod_of_attempt(pod, job_uid_, job_name_))
      out.attempt.pods.push_back(&pod);
  return out;
}

bool ScavengerSight::over(const Object& pod) const {
  if (pod_ended(pod)) return true;
  const std::string node = node_of(pod);
  if (node.empty() || !pod.deleting()) return false;
  const Object* there = view_.get(kube::kNode, {"", node});
  if (there == nullptr) return attempt_.lost_nodes.count(node) > 0;
  return job_.restarts_on_lost_node() && readiness(*there) != Readiness::kTrue;
}

std::optional<bool> ScavengerSight::alive_for_sure() const {
  const Answer* pods = view_.answer(kLivePods);
  if (pods == nullptr) return std::nullopt;
  if (pods->error || pods->more) return true;  // nobody knows
  for (const Object& pod : pods->objects)
    if (pod.label(kube::kScavengerLabel) == job_.object().uid() && pod.controller() && !over(pod))
      return true;
  return false;
}

}  // namespace berth::controllers
