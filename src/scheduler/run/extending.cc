// SPDX-License-Identifier: Apache-2.0
// A pod that extenders have a say in. While they think, other pods are tried; when they have
// answered, the pod is judged afresh, and only nodes that are feasible then and that every extender
// kept are chosen from. (kube-scheduler stands still meanwhile; the outcome differs only where the
// cluster changed.)
#include <algorithm>
#include <map>

#include "scheduler/run/scheduler_state.h"

namespace berth::scheduler {
namespace {

constexpr std::int64_t kMaxExtenderScore = 10, kMaxNodeScore = 100;

}  // namespace

// What was asked and answered so far.
struct Scheduler::Asking {
  PlacementPtr placement;
  std::vector<Extender*> interested;  // in calling order
  std::size_t next = 0;
  bool promised = false;           // only the node that the pod was nominated to
  std::vector<std::string> nodes;  // still in
  std::map<std::string, Status> refused;
  std::map<std::string, std::int64_t> points;
  std::map<std::string, std::uint64_t> chance;
};

bool Scheduler::ask_extenders(const PlacementPtr& placement) {
  auto asking = std::make_shared<Asking>();
  asking->placement = placement;
  for (Extender* extender : parts_.extenders)
    if (extender->interested(placement->pod->document)) asking->interested.push_back(extender);
  if (asking->interested.empty()) return false;
  Decider& decider = *placement->profile->decider;
  Decision decision = decider.begin(placement->pod, probe_of(*placement));
  asking->promised = decision.status.ok() && decider.nominated(decision);
  ask_about(asking, std::move(decision));
  return true;
}

void Scheduler::ask_about(const std::shared_ptr<Asking>& asking, Decision decision) {
  Decider& decider = *asking->placement->profile->decider;
  if (decision.status.ok() && !asking->promised) decider.search(decision);
  decider.settle(decision);
  if (!decision.status.ok()) {
    conclude(asking->placement, std::move(decision));
    return;
  }
  asking->nodes.clear();
  for (std::uint32_t row : decision.feasible)
    asking->nodes.push_back(cluster_.node(cluster_.table().node[row]).name);
  asking->next = 0;
  ask_filter(asking);
}

ExtenderArgs Scheduler::extender_args(const Asking& asking, const Extender& extender) const {
  ExtenderArgs args{.pod = asking.placement->pod->document,
                    .names = std::make_shared<std::vector<std::string>>(asking.nodes)};
  if (!extender.config().node_cache_capable)
    for (const std::string& name : asking.nodes)
      if (const NodeId id = cluster_.node_id(name); cluster_.row_of(id))
        args.nodes.push_back(cluster_.node(id).document);
  return args;
}

void Scheduler::ask_filter(const std::shared_ptr<Asking>& asking) {
  while (asking->next < asking->interested.size() && !asking->interested[asking->next]->filters())
    ++asking->next;
  if (asking->next == asking->interested.size() || asking->nodes.empty()) {
    filtered(asking);
    return;
  }
  Extender* const extender = asking->interested[asking->next++];
  extender->filter(
      extender_args(*asking, *extender),
      parts_.scope.done<ExtenderFilterResult>(kNoLimit, [this, asking, extender, since = now()](
                                                            Result<ExtenderFilterResult> answer) {
        parts_.metrics.extender_call(extender->name(), "filter", answer.has_value(), now() - since);
        if (!still_wanted(*asking->placement)) {
          queue_->done(asking->placement->pod->uid);
          return;
        }
        if (!answer && !extender->ignorable()) {
          Decision failed;
          failed.status = Status::error(answer.error().message);
          conclude(asking->placement, std::move(failed));
          return;
        }
        if (!answer) {
          parts_.log.warn("extender was left out",
                          {{"extender", extender->name()}, {"error", answer.error()}});
          ask_filter(asking);
          return;
        }
        for (const auto& [node, message] : answer->failed)
          asking->refused[node] = {Code::kUnschedulable, {message}, extenders()};
        for (const auto& [node, message] : answer->unresolvable)
          asking->refused[node] = {Code::kUnresolvable, {message}, extenders()};
        asking->nodes.clear();
        for (const auto& kept : answer->kept) asking->nodes.push_back(kept.name);
        ask_filter(asking);
      }));
}

void Scheduler::filtered(const std::shared_ptr<Asking>& asking) {
  if (asking->promised && asking->nodes.empty()) {
    asking->promised = false;  // the promised node is out: look at all of them
    ask_about(asking, asking->placement->profile->decider->begin(asking->placement->pod));
    return;
  }
  asking->next = 0;
  if (asking->nodes.size() > 1)
    ask_scores(asking);
  else
    answered(asking);
}

void Scheduler::ask_scores(const std::shared_ptr<Asking>& asking) {
  if (asking->next == asking->interested.size()) {
    answered(asking);
    return;
  }
  Extender* const extender = asking->interested[asking->next++];
  parts_.metrics.under_way(Operation::kPrioritizingExtender, +1);
  extender->prioritize(
      extender_args(*asking, *extender),
      parts_.scope.done<HostScores>(
          kNoLimit, [this, asking, extender, since = now()](Result<HostScores> answer) {
            parts_.metrics.under_way(Operation::kPrioritizingExtender, -1);
            if (extender->prioritizes())
              parts_.metrics.extender_call(extender->name(), "prioritize", answer.has_value(),
                                           now() - since);
            if (!still_wanted(*asking->placement)) {
              queue_->done(asking->placement->pod->uid);
              return;
            }
            if (!answer)  // k8s 1.36: then it has no say
              parts_.log.warn("extender did not score",
                              {{"extender", extender->name()}, {"error", answer.error()}});
            if (answer)
              for (const HostScore& host : answer->hosts) {
                asking->points[host.host] +=
                    host.score * answer->weight * (kMaxNodeScore / kMaxExtenderScore);
                asking->chance[host.host] = parts_.random.next() >> 1;
              }
            ask_scores(asking);
          }));
}

void Scheduler::answered(const std::shared_ptr<Asking>& asking) {
  const PlacementPtr& placement = asking->placement;
  Decider& decider = *placement->profile->decider;
  Decision decision = decider.begin(placement->pod, probe_of(*placement));
  if (!decision.status.ok()) return conclude(placement, std::move(decision));
  if (asking->promised && !decider.nominated(decision)) {
    asking->promised = false;  // somebody took its place meanwhile: ask about the others
    ask_about(asking, std::move(decision));
    return;
  }
  // Where the extenders left nothing, preemption looks at what filters said of all other nodes.
  if (!asking->promised) decider.search(decision, {.reasons = true});
  if (!decision.status.ok()) return conclude(placement, std::move(decision));

  Diagnosis& diagnosis = decision.diagnosis;
  const std::size_t before = decision.feasible.size();
  std::vector<std::uint32_t> kept;
  ExtenderScores theirs;
  for (std::uint32_t row : decision.feasible) {
    const std::string& name = cluster_.node(cluster_.table().node[row]).name;
    if (std::find(asking->nodes.begin(), asking->nodes.end(), name) != asking->nodes.end()) {
      kept.push_back(row);
      theirs.points.push_back(asking->points[name]);
      theirs.chance.push_back(asking->chance[name]);
    } else if (const auto refused = asking->refused.find(name); refused != asking->refused.end()) {
      diagnosis.other.resize(cluster_.size());
      diagnosis.other[row] = refused->second;
    }
  }
  decision.feasible = std::move(kept);
  if (decision.feasible.size() < before) diagnosis.unschedulable.insert(extenders());
  decider.settle(decision);
  if (decision.status.ok()) decider.choose(decision, {}, theirs);
  conclude(placement, std::move(decision));
}

}  // namespace berth::scheduler
