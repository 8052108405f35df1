// SPDX-License-Identifier: Apache-2.0
// Room without interrupting anybody: jobs that can do with less are made smaller.
#include <algorithm>
#include <map>
#include <memory>

#include "scheduler/cache/what_if.h"
#include "scheduler/preemption/lost_work.h"

namespace berth::scheduler {
namespace {

class NobodyNominated final : public NominatedPods {
 public:
  bool empty() const override { return true; }
  std::vector<PodPtr> on(std::string_view) const override { return {}; }
  std::vector<std::string> nodes() const override { return {}; }
};
const NobodyNominated kNobody;

// The pod as it would be with what is least for it; null: it has no more than that.
PodPtr smaller(const Pod& pod, const kube::ResourceList& least) {
  const Resources to = Resources::from(least);
  Resources used = pod.used();
  const auto lower = [&](std::string_view name, std::int64_t& now, std::int64_t then) {
    if (least.count(name) == 0 || now <= then) return false;
    now = then;
    return true;
  };
  const bool cpu = lower("cpu", used.millicores, to.millicores);
  const bool memory = lower("memory", used.memory, to.memory);  // nothing else can be resized
  if (!cpu && !memory) return nullptr;
  auto copy = std::make_shared<Pod>(pod);
  copy->resized_nonzero_millicores = std::min(pod.used_nonzero_millicores(), used.millicores);
  copy->resized_nonzero_memory = std::min(pod.used_nonzero_memory(), used.memory);
  copy->resized = std::make_shared<const Resources>(std::move(used));
  return copy;
}

struct Elastic {
  const scavenge::BoardJob* job = nullptr;
  std::int64_t cost = 0;
  std::vector<std::pair<PodPtr, PodPtr>> pods = {};  // as they are, and smaller
};

// On one node, by what they would lose: the dearest, which are asked last, first.
std::vector<Elastic> elastic_on(const PreemptionQuestion& q, NodeId node,
                                const scavenge::Board& board) {
  const Pod& preemptor = q.preemptor != nullptr ? *q.preemptor : q.cycle.pod;
  std::map<std::string_view, Elastic> by_uid;
  for (const PodPtr& pod : q.cycle.cluster.pods_on(node)) {
    if (pod->priority() >= preemptor.priority() || !pod->controller || pod->deleting) continue;
    const scavenge::BoardJob* job = board.of_controller(pod->controller->uid);
    if (job == nullptr || job->smallest.empty() || job->deadline) continue;
    PodPtr then = smaller(*pod, job->smallest);
    if (!then) continue;
    Elastic& each = by_uid[job->uid];
    each.job = job;
    each.cost = scavenge::cost_of(*job, q.now);
    each.pods.emplace_back(pod, std::move(then));
  }
  std::vector<Elastic> all;
  for (auto& [uid, each] : by_uid) all.push_back(std::move(each));
  std::stable_sort(all.begin(), all.end(),
                   [](const Elastic& a, const Elastic& b) { return a.cost > b.cost; });
  return all;
}

}  // namespace

std::optional<LostWork> pick_shrinks(const PreemptionQuestion& asked,
                                     std::span<const std::uint32_t> rows,
                                     const scavenge::Board& board) {
  if (board.empty()) return std::nullopt;
  PreemptionQuestion q = asked;
  q.now = {asked.now.unix_nanos - asked.now.unix_nanos % 1'000'000'000};
  const NominatedPods& nominated = q.nominated != nullptr ? *q.nominated : kNobody;
  const ClusterState& cluster = q.cycle.cluster;
  std::optional<LostWork> best;
  for (const std::uint32_t at : rows) {
    const NodeId node = cluster.table().node[at];
    std::vector<Elastic> jobs = elastic_on(q, node, board);
    if (jobs.empty()) continue;
    const std::unique_ptr<WhatIf> what_if = q.profile.what_if(q.cycle);
    const std::uint32_t row = what_if->open(node);
    const auto shrink = [&](const Elastic& each, bool small) {
      for (const auto& [now, then] : each.pods) {
        what_if->remove(row, small ? now : then);
        what_if->add(row, small ? then : now);
      }
      return q.profile.filter_with_nominated(q.cycle, *what_if, row, nominated).ok();
    };
    bool fits = false;
    for (const Elastic& each : jobs) fits = shrink(each, true);
    if (!fits) continue;
    // Whoever need not, stays as large as he is.
    std::erase_if(jobs, [&](const Elastic& each) {
      if (shrink(each, false)) return true;
      shrink(each, true);
      return false;
    });
    const std::string& name = cluster.node(node).name;
    if (jobs.empty() ||
        (best && std::pair(best->jobs.size(), std::string_view(best->candidate.node)) <
                     std::pair(jobs.size(), std::string_view(name))))
      continue;
    best.emplace();
    best->shrink = true;
    best->now = q.now;
    best->candidate.node = name;
    for (const Elastic& each : jobs) best->jobs.push_back(LostJob{.job = *each.job});
  }
  return best;
}

}  // namespace berth::scheduler
