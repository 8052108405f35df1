// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/compare.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "scheduler/config/go_duration.h"
#include "scheduler/framework/slot_holds.h"

namespace berth::scheduler {
namespace {

struct Lines {
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    all.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  std::vector<std::string> all;
};

void compare_nodes(const ClusterState& cluster, const std::vector<kube::Object>& nodes,
                   Lines& lines) {
  std::set<std::string> theirs;
  for (const kube::Object& node : nodes) theirs.emplace(node.name());
  std::set<std::string> ours;
  cluster.for_each_node([&](const Node& node) { ours.insert(node.name); });
  for (const std::string& name : theirs)
    if (!ours.contains(name)) lines.add("node {} is missing here", name);
  for (const std::string& name : ours)
    if (!theirs.contains(name)) lines.add("node {} is known here only", name);
}

void compare_pod(const Pod& ours, bool assumed, const kube::Object* theirs,
                 const UnderWay& under_way, Lines& lines) {
  const std::optional<Duration> age = under_way(ours.uid);
  if (theirs == nullptr) {
    if (!age) lines.add("pod {} is known here only, on {}", ours.text(), ours.node_name);
    return;
  }
  const std::string node = theirs->member("spec")["nodeName"].text();
  if (!node.empty() && node != ours.node_name)
    lines.add("pod {} is on {} here and on {} there", ours.text(), ours.node_name, node);
  if (!node.empty()) return;
  if (!assumed)
    lines.add("pod {} is bound to {} here and to none there", ours.text(), ours.node_name);
  else if (!age)
    lines.add("pod {} is assumed on {} and nobody is binding it", ours.text(), ours.node_name);
  else if (*age > kAssumedTooLong)
    lines.add("pod {} has been assumed on {} for {}", ours.text(), ours.node_name,
              go_duration(*age));
}

}  // namespace

std::vector<std::string> differences(const ClusterState& cluster,
                                     const std::vector<kube::Object>& nodes,
                                     const std::vector<kube::Object>& pods,
                                     const UnderWay& under_way) {
  Lines lines;
  compare_nodes(cluster, nodes, lines);
  std::map<std::string, const kube::Object*, std::less<>> theirs;
  for (const kube::Object& pod : pods) theirs.emplace(pod.uid(), &pod);
  cluster.for_each_pod([&](const PodPtr& pod, bool assumed) {
    if (SlotHolds::is_hold(pod->uid)) return;  // nobody else has ever heard of it
    const auto found = theirs.find(pod->uid);
    compare_pod(*pod, assumed, found == theirs.end() ? nullptr : found->second, under_way, lines);
  });
  for (const auto& [uid, pod] : theirs)
    if (const std::string node = pod->member("spec")["nodeName"].text();
        !node.empty() && cluster.pod(uid) == nullptr)
      lines.add("pod {} on {} is missing here", pod->key().text(), node);
  std::sort(lines.all.begin(), lines.all.end());
  return std::move(lines.all);
}

}  // namespace berth::scheduler
