// SPDX-License-Identifier: Apache-2.0
#include "controllers/deletion_order.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "controllers/pods.h"

namespace berth::controllers {
namespace {

constexpr const char* kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";

// What the order looks at, read once a pod.
struct Ranked {
  const Object* pod = nullptr;
  std::string node;
  int phase = 0;
  bool ready = false;
  std::int64_t cost = 0;
  int colocated = 0;
  std::optional<WallTime> ready_at = {}, created = {};
  std::int64_t restarts = 0, sidecar_restarts = 0;
};

// k8s 1.36: only a plain decimal counts, else 0.
std::int64_t cost_of(const Object& pod) {
  const std::string text = pod.annotation(kDeletionCost);
  if (text.empty() || text[0] == '+') return 0;
  const std::size_t digits = text[0] == '-' ? 1 : 0;
  if (text.size() == digits || text.size() > 11) return 0;
  if (text[digits] == '0' && text.size() > digits + 1) return 0;
  if (!std::all_of(text.begin() + static_cast<std::ptrdiff_t>(digits), text.end(),
                   [](char c) { return c >= '0' && c <= '9'; }))
    return 0;
  const std::int64_t value = std::stoll(text);
  return value < INT32_MIN || value > INT32_MAX ? 0 : value;
}

Ranked read(const Object& pod) {
  Ranked r{.pod = &pod, .node = pod.member("spec")["nodeName"].text()};
  const json::Slice phase = pod.status()["phase"];
  r.phase = phase.equals("Running") ? 2 : phase.equals("Unknown") ? 1 : 0;
  r.ready = pod_ready(pod);
  r.cost = cost_of(pod);
  r.ready_at = ready_since(pod);
  r.created = pod.created();
  for (const json::Slice one : pod.status()["containerStatuses"].elements())
    r.restarts = std::max(r.restarts, one["restartCount"].integer().value_or(0));
  for (const json::Slice init : pod.member("spec")["initContainers"].elements()) {
    if (!init["restartPolicy"].equals("Always")) continue;
    for (const json::Slice one : pod.status()["initContainerStatuses"].elements())
      if (one["name"].equals(init["name"].text()))
        r.sidecar_restarts =
            std::max(r.sidecar_restarts, one["restartCount"].integer().value_or(0));
  }
  return r;
}

std::int64_t magnitude(Duration age) {
  if (age <= Duration{}) return -1;
  return static_cast<std::int64_t>(std::log2(static_cast<double>(age.count())));
}

// Times count by their order of magnitude, so that pods of about the same age take turns.
bool younger(const Ranked& a, const Ranked& b, const std::optional<WallTime>& at,
             const std::optional<WallTime>& bt, WallTime now) {
  if (!at || !bt) return !at;
  const std::int64_t difference = magnitude(now - *at) - magnitude(now - *bt);
  return difference == 0 ? a.pod->uid() < b.pod->uid() : difference < 0;
}

bool goes_first(const Ranked& a, const Ranked& b, WallTime now) {
  if (a.node.empty() != b.node.empty()) return a.node.empty();
  if (a.phase != b.phase) return a.phase < b.phase;
  if (a.ready != b.ready) return !a.ready;
  if (a.cost != b.cost) return a.cost < b.cost;
  if (a.colocated != b.colocated) return a.colocated > b.colocated;
  if (a.ready && b.ready && a.ready_at != b.ready_at)
    return younger(a, b, a.ready_at, b.ready_at, now);
  if (a.restarts != b.restarts) return a.restarts > b.restarts;
  if (a.sidecar_restarts != b.sidecar_restarts) return a.sidecar_restarts > b.sidecar_restarts;
  if (a.created != b.created) return younger(a, b, a.created, b.created, now);
  return false;
}

// Exact times here. What has none comes first.
bool later(const std::optional<WallTime>& a, const std::optional<WallTime>& b) {
  return !a || (b && *b < *a);
}

bool at_earlier_stage(const Ranked& a, const Ranked& b) {
  if (a.node.empty() != b.node.empty()) return a.node.empty();
  if (a.phase != b.phase) return a.phase < b.phase;
  if (a.ready != b.ready) return !a.ready;
  if (a.ready && a.ready_at != b.ready_at) return later(a.ready_at, b.ready_at);
  if (a.restarts != b.restarts) return a.restarts > b.restarts;
  if (a.sidecar_restarts != b.sidecar_restarts) return a.sidecar_restarts > b.sidecar_restarts;
  return a.created != b.created && later(a.created, b.created);
}

}  // namespace

void order_by_stage(std::vector<const Object*>& pods) {
  std::vector<Ranked> ranked;
  for (const Object* pod : pods) ranked.push_back(read(*pod));
  std::stable_sort(ranked.begin(), ranked.end(), at_earlier_stage);
  for (std::size_t i = 0; i < pods.size(); ++i) pods[i] = ranked[i].pod;
}

void order_for_deletion(std::vector<const Object*>& pods, const std::vector<const Object*>& related,
                        WallTime now) {
  std::map<std::string, int> on_node;
  for (const Object* pod : related)
    if (pod_active(*pod)) ++on_node[pod->member("spec")["nodeName"].text()];
  std::vector<Ranked> ranked;
  for (const Object* pod : pods) {
    ranked.push_back(read(*pod));
    const auto found = on_node.find(ranked.back().node);
    ranked.back().colocated = found == on_node.end() ? 0 : found->second;
  }
  // Stable: the relation is not quite an order (times by magnitude), and equals keep their places.
  std::stable_sort(ranked.begin(), ranked.end(),
                   [now](const Ranked& a, const Ranked& b) { return goes_first(a, b, now); });
  for (std::size_t i = 0; i < pods.size(); ++i) pods[i] = ranked[i].pod;
}

}  // namespace berth::controllers
