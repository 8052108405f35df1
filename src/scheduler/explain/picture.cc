// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explain/picture.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/kind.h"
#include "scheduler/run/feeds.h"

namespace berth::scheduler {

Picture::Picture() : cluster_(std::make_unique<ClusterState>()) {}

void Picture::add(const kube::Object& object) {
  const auto unreadable = [&](const Error& error) {
    unreadable_.push_back(fmt::format("{} {}: {}", kube::kind_of(object.kind()).kind,
                                      object.key().text(), error.message));
  };
  if (object.kind() == kube::kNode) {
    Result<NodePtr> node = Node::compile(object);
    if (!node) return unreadable(node.error());
    cluster_->put_node(*std::move(node));
  } else if (object.kind() == kube::kPod) {
    Result<PodPtr> pod = compiler_.compile(object);
    if (!pod) return unreadable(pod.error());
    // k8s 1.36: pods that have ended are not seen by the scheduler.
    if ((*pod)->assigned() && !(*pod)->finished) cluster_->add_pod(*pod);
    pods_.push_back(*std::move(pod));
  } else {
    apply_object(*cluster_, {}, object);
  }
}

PodPtr Picture::pod(std::string_view ns, std::string_view name) const {
  const auto found = std::find_if(pods_.begin(), pods_.end(), [&](const PodPtr& pod) {
    return pod->name == name && pod->ns == ns;
  });
  return found == pods_.end() ? nullptr : *found;
}

std::vector<std::string_view> Picture::pods_in(std::string_view ns) const {
  std::vector<std::string_view> names;
  for (const PodPtr& pod : pods_)
    if (pod->ns == ns) names.push_back(pod->name);
  return names;
}

std::vector<std::string> Picture::namespaces_with(std::string_view name) const {
  std::vector<std::string> found;
  for (const PodPtr& pod : pods_)
    if (pod->name == name) found.push_back(pod->ns);
  return found;
}

Case Picture::take(const PodPtr& pod, std::span<const std::string> schedulers) {
  Case problem{.id = pod->text(), .cluster = std::move(cluster_), .pending = pod, .nominated = {}};
  for (const PodPtr& other : pods_)
    if (!other->assigned() && !other->finished &&
        std::find(schedulers.begin(), schedulers.end(), other->spec->scheduler_name) !=
            schedulers.end())
      problem.nominated.add(other);
  problem.pending = taken_off(*problem.cluster, pod);
  return problem;
}

}  // namespace berth::scheduler
