// SPDX-License-Identifier: Apache-2.0
// A preemption that extenders have a say in: each is shown the candidates that those before it
// left, and may take some away or name other victims. While they think, other pods are tried.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "scheduler/run/scheduler_state.h"

namespace berth::scheduler {
namespace {

PodPtr with_uid(const std::vector<PodPtr>& pods, const std::string& uid) {
  const auto found =
      std::find_if(pods.begin(), pods.end(), [&](const PodPtr& pod) { return pod->uid == uid; });
  return found == pods.end() ? nullptr : *found;
}

}  // namespace

struct Scheduler::Preempting {
  PodPtr preemptor;
  std::size_t next = 0;  // of all extenders
  std::map<std::string, PreemptionCandidate> candidates;
  Done<std::vector<PreemptionCandidate>> done;
};

bool Scheduler::extenders_preempt(const Pod& pod) const {
  for (const Extender* extender : parts_.extenders)
    if (extender->preempts() && extender->interested(pod.document)) return true;
  return false;
}

void Scheduler::ask_to_preempt(const PodPtr& preemptor, std::vector<PreemptionCandidate> candidates,
                               Done<std::vector<PreemptionCandidate>> done) {
  auto asking = std::make_shared<Preempting>();
  asking->preemptor = preemptor;
  asking->done = std::move(done);
  for (PreemptionCandidate& candidate : candidates)
    asking->candidates[candidate.node] = std::move(candidate);
  ask_next_to_preempt(asking);
}

void Scheduler::ask_next_to_preempt(const PreemptingPtr& asking) {
  const auto asked = [&](const Extender& extender) {
    return extender.preempts() && extender.interested(asking->preemptor->document);
  };
  while (asking->next < parts_.extenders.size() && !asked(*parts_.extenders[asking->next]))
    ++asking->next;
  if (asking->next == parts_.extenders.size() || asking->candidates.empty()) {
    std::vector<PreemptionCandidate> left;
    for (auto& [node, candidate] : asking->candidates) left.push_back(std::move(candidate));
    asking->done(std::move(left));
    return;
  }
  Extender& extender = *parts_.extenders[asking->next++];
  ExtenderPreemptArgs args{.pod = asking->preemptor->document, .victims = {}};
  for (const auto& [node, candidate] : asking->candidates) {
    ExtenderVictims& victims = args.victims[node];
    victims.pdb_violations = candidate.budget_violations;
    for (const PodPtr& victim : candidate.victims) {
      victims.uids.push_back(victim->uid);
      if (!extender.config().node_cache_capable) victims.pods.push_back(victim->document);
    }
  }
  extender.preempt(
      std::move(args),
      parts_.scope.done<VictimsByNode>(kNoLimit, [this, asking, &extender,
                                                  since = now()](Result<VictimsByNode> answer) {
        parts_.metrics.extender_call(extender.name(), "preempt", answer.has_value(), now() - since);
        Result<Ok> taken = answer ? take_victims(*asking, extender, *answer)
                                  : tl::unexpected(std::move(answer.error()));
        if (!taken && !extender.ignorable())
          return asking->done(tl::unexpected(std::move(taken.error())));
        if (!taken)
          parts_.log.warn("extender was left out of a preemption",
                          {{"extender", extender.name()}, {"error", taken.error()}});
        ask_next_to_preempt(asking);
      }));
}

// k8s 1.36: the answer replaces the candidates. It may name other victims, and other nodes.
Result<Ok> Scheduler::take_victims(Preempting& asking, const Extender& extender,
                                   const VictimsByNode& answer) {
  std::map<std::string, PreemptionCandidate> left;
  for (const auto& [node, victims] : answer) {
    const auto before = asking.candidates.find(node);
    const bool known = cluster_.row_of(node).has_value();
    if (!known && before != asking.candidates.end()) continue;  // it went away meanwhile
    if (!known)
      return fail(Reason::kNotFound, fmt::format("nodeinfo not found for node name \"{}\"", node));
    PreemptionCandidate candidate{node, {}, victims.pdb_violations};
    for (const std::string& uid : victims.uids) {
      PodPtr victim = with_uid(cluster_.pods_on(cluster_.node_id(node)), uid);
      if (!victim && before != asking.candidates.end())
        victim = with_uid(before->second.victims, uid);  // it went away meanwhile
      if (!victim)
        return fail(Reason::kNotFound,
                    fmt::format("extender: {} claims to preempt pod (UID: &{{{}}}) on node: {}, "
                                "but the pod is not found on that node",
                                extender.name(), uid, node));
      candidate.victims.push_back(std::move(victim));
    }
    left[node] = std::move(candidate);
  }
  for (auto at = left.begin(); at != left.end();) {
    if (!at->second.victims.empty()) {
      ++at;
      continue;
    }
    if (!extender.ignorable())
      return fail(Reason::kInvalid,
                  fmt::format("expected at least one victim pod on node \"{}\"", at->first));
    at = left.erase(at);
  }
  asking.candidates = std::move(left);
  return Ok{};
}

}  // namespace berth::scheduler
