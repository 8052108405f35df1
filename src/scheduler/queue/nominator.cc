// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue/nominator.h"

#include "scheduler/queue/planted_fault.h"

namespace berth::scheduler {
namespace {

PodPtr bare(const Pod& pod) {
  static const auto kSpec = std::make_shared<const PodSpec>();
  static const auto kLabels = std::make_shared<const Labels>();
  auto bare = std::make_shared<Pod>();
  bare->ns = pod.ns;
  bare->name = pod.name;
  bare->uid = pod.uid;
  bare->spec = kSpec;
  bare->labels = kLabels;
  return bare;
}

}  // namespace

void Nominator::add(const Pod& pod, const std::optional<std::string>& node) {
  remove(pod);
  if (!node && pod.nominated_node_name.empty()) return;
  if (known_) {
    const PodPtr now = known_(pod.ns, pod.name);
    if (!now || now->assigned()) return;
  }
  record(pod, node ? *node : pod.nominated_node_name);
}

void Nominator::record(const Pod& pod, const std::string& node) {
  node_of_[pod.uid] = node;
  if (!node.empty()) on_[node].push_back(bare(pod));
  ++version_;
}

void Nominator::update(const Pod& before, const Pod& after) {
  // An update that knows nothing of the nomination may be older than it.
  std::optional<std::string> keep;
  if (before.nominated_node_name.empty() && after.nominated_node_name.empty() &&
      !planted(Fault::kNomination))
    if (const std::string* node = node_of(before.uid)) keep = *node;
  remove(before);
  add(after, keep);
}

void Nominator::remove(const Pod& pod) {
  const auto of = node_of_.find(pod.uid);
  if (of == node_of_.end()) return;
  if (const auto on = on_.find(of->second); on != on_.end()) {
    std::erase_if(on->second, [&](const PodPtr& other) { return other->uid == pod.uid; });
    if (on->second.empty()) on_.erase(on);
  }
  node_of_.erase(of);
  ++version_;
}

std::vector<PodPtr> Nominator::on(std::string_view node) const {
  std::vector<PodPtr> pods;
  const auto on = on_.find(node);
  if (on == on_.end()) return pods;
  pods.reserve(on->second.size());
  for (const PodPtr& nominated : on->second) {
    PodPtr queued = queued_(nominated->ns, nominated->name);
    pods.push_back(queued ? std::move(queued) : nominated);
  }
  return pods;
}

std::vector<std::string> Nominator::nodes() const {
  std::vector<std::string> nodes;
  for (const auto& [node, pods] : on_) nodes.push_back(node);
  return nodes;
}

const std::string* Nominator::node_of(std::string_view uid) const {
  const auto of = node_of_.find(uid);
  return of == node_of_.end() ? nullptr : &of->second;
}

}  // namespace berth::scheduler
