// SPDX-License-Identifier: Apache-2.0
#include "gateway/scavenge/objects.h"

#include <algorithm>
#include <set>

#include "kube/ours/ours.h"
#include "kube/pod_view.h"
#include "runtime/spec.h"

namespace berth::gateway {
namespace {

constexpr std::string_view kBySomeJob = "job";

// Pods of scavengers that hold room, by their controller.
std::vector<std::string> scavengers_job(const kube::Object& pod) {
  if (pod.label(kube::kScavengerLabel).empty()) return {};
  const kube::PodView view(pod);
  return view.assigned() && !view.finished() ? runtime::controller_uid(pod)
                                             : std::vector<std::string>();
}

}  // namespace

ScavengeObjects::ScavengeObjects(Scope& scope, client::Transport& transport, const Random& random,
                                 Metrics& metrics)
    : scope_(scope) {
  const kube::ScavengerKinds& kinds = kube::scavenger_kinds();
  for (const kube::KindId kind :
       {kinds.job, kube::cerit_kinds().job, kinds.policy, kinds.quota, kube::kNode, kube::kPod}) {
    client::InformerOptions options;
    options.feed.kind = kind;
    options.feed.metrics = &metrics;
    const kube::Kind& named = kube::kind_of(kind);
    informers_.emplace_back(
        kind, std::make_unique<client::Informer<>>(
                  scope, transport, random.fork(named.plural + named.group), std::move(options)));
    if (kind == kube::kPod)
      informers_.back().second->add_index(std::string(kBySomeJob), &scavengers_job);
  }
  client::InformerOptions options;
  options.feed.kind = kube::kEvent;
  options.feed.field_selector = "regarding.kind=ScavengerJob";
  options.feed.metrics = &metrics;
  events_ = std::make_unique<client::Informer<>>(scope, transport, random.fork("events"),
                                                 std::move(options));
}

void ScavengeObjects::start() {
  for (const auto& [kind, informer] : informers_) {
    informer->on_synced([this] { look(); });
    informer->start();
  }
  events_->start();
}

bool ScavengeObjects::synced() const {
  return std::all_of(informers_.begin(), informers_.end(), [](const auto& one) {
    return one.first == kube::cerit_kinds().job || one.second->synced();
  });
}

void ScavengeObjects::on_synced(Task then) {
  if (synced()) return scope_.post(std::move(then));
  waiting_.push_back(std::move(then));
}

void ScavengeObjects::look() {
  if (!synced()) return;
  for (Task& task : std::exchange(waiting_, {})) scope_.post(std::move(task));
}

std::vector<kube::KindId> ScavengeObjects::job_kinds() const {
  return {kube::scavenger_kinds().job, kube::cerit_kinds().job};
}

std::vector<std::string> ScavengeObjects::nodes_of(std::string_view job_uid) const {
  std::set<std::string> nodes;
  if (!job_uid.empty())
    for (const kube::Object* pod : by_index(kube::kPod, kBySomeJob, job_uid))
      nodes.insert(kube::PodView(*pod).node_name());
  return {nodes.begin(), nodes.end()};
}

client::Informer<>* ScavengeObjects::find(kube::KindId kind) const {
  for (const auto& [known, informer] : informers_)
    if (known == kind) return informer.get();
  return nullptr;
}
const kube::Object* ScavengeObjects::get(kube::KindId kind, const kube::Key& key) const {
  const auto* const informer = find(kind);
  return informer == nullptr ? nullptr : informer->get(key);
}
std::vector<const kube::Object*> ScavengeObjects::list(kube::KindId kind) const {
  const auto* const informer = find(kind);
  return informer == nullptr ? std::vector<const kube::Object*>() : informer->list();
}
std::vector<const kube::Object*> ScavengeObjects::list(kube::KindId kind,
                                                       std::string_view ns) const {
  const auto* const informer = find(kind);
  return informer == nullptr ? std::vector<const kube::Object*>() : informer->list(ns);
}
std::vector<const kube::Object*> ScavengeObjects::by_index(kube::KindId kind,
                                                           std::string_view index,
                                                           std::string_view value) const {
  const auto* const informer = find(kind);
  return informer == nullptr ? std::vector<const kube::Object*>()
                             : informer->by_index(index, value);
}
kube::Revision ScavengeObjects::seen(kube::KindId kind) const {
  const auto* const informer = find(kind);
  return informer == nullptr ? 0 : informer->seen();
}

}  // namespace berth::gateway
