// SPDX-License-Identifier: Apache-2.0
#include "gateway/extender/scavenger_preempt.h"

#include "kube/ours/ours.h"
#include "scheduler/plugins/registry.h"

namespace berth::gateway {

ScavengerPreempt::ScavengerPreempt(Scope& scope, client::Transport& transport, client::Api& api,
                                   Metrics& metrics, Logger log, const Random& random,
                                   scheduler::ProfileSpec profile)
    : scope_(scope),
      log_(log),
      feeds_(scope, transport, random.fork("scavengers")),
      replica_(scope, transport, random.fork("replica"), log, feeds_.board(), std::move(profile),
               scheduler::all_plugins()),
      door_({.scope = scope,
             .api = api,
             .log = log,
             .board = feeds_.board(),
             .wanted =
                 [this](const scheduler::Pod& pod) {
                   const scheduler::PodPtr now = replica_.pending(pod.ns, pod.name);
                   return now && now->uid == pod.uid && !now->deleting;
                 },
             .again = [this](const scheduler::PodPtr& pod) { see_to(pod); },
             .name = "extender",
             .reporter = "berth-extender",
             .instance = "berth-extender",
             .metrics = &metrics}) {}

void ScavengerPreempt::start() {
  feeds_.start();
  feeds_.on_first_job([this] { replica_.start(); });
}

scheduler::VictimsByNode ScavengerPreempt::preempt(scheduler::ExtenderPreemptArgs args) {
  for (auto& [node, victims] : args.victims) victims.pods.clear();  // answers are uids
  // Executors have a place of their own, and who is to leave it was said already.
  if (!args.pod.label(kube::kGrantLabel).empty()) return std::move(args.victims);
  scheduler::PodPtr pod = replica_.pending(args.pod.ns(), args.pod.name());
  if (!pod || pod->uid != args.pod.uid()) {
    Result<scheduler::PodPtr> compiled = replica_.compiled(args.pod);
    if (!compiled) {
      log_.warn("a pod cannot be read; its victims are left to the scheduler",
                {{"pod", args.pod.key().text()}, {"error", compiled.error()}});
      return std::move(args.victims);
    }
    pod = *std::move(compiled);
  }
  if (door_.waits(*pod)) return {};
  const auto lost = replica_.pick(pod, scope_.executor().clock().wall(), door_.may_shrink(*pod));
  if (!lost) return std::move(args.victims);
  if (door_.chosen(pod, *lost) == scheduler::ScavengerDoor::Verdict::kWait) return {};
  scheduler::VictimsByNode answer;
  scheduler::ExtenderVictims& victims = answer[lost->candidate.node];
  victims.pdb_violations = lost->candidate.budget_violations;
  for (const scheduler::PodPtr& victim : lost->candidate.victims)
    victims.uids.push_back(victim->uid);
  return answer;
}

// The scheduler was told to wait and will not ask again of itself.
void ScavengerPreempt::see_to(const scheduler::PodPtr& pod) {
  const auto lost = replica_.pick(pod, scope_.executor().clock().wall());
  if (lost && door_.chosen(pod, *lost) == scheduler::ScavengerDoor::Verdict::kEvict)
    door_.evict(*pod, lost->candidate.victims);
}

}  // namespace berth::gateway
