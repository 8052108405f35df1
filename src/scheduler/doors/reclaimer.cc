// SPDX-License-Identifier: Apache-2.0
#include "scheduler/doors/reclaimer.h"

#include <algorithm>
#include <utility>

#include "kube/ours/ours.h"
#include "scheduler/plugins/registry.h"

namespace berth::scheduler {
namespace {

constexpr Duration kCallLimit = 30s;
constexpr Duration kTick = 250ms;  // changes that come together are looked at together
constexpr Duration kAgain = 5s;    // for the same pod: victims need their time to go
constexpr Duration kReview = 10s;  // costs change without anybody saying so

bool is_ghost(const Pod& pod) { return pod.labels->has(kube::kGhostLabel); }

}  // namespace

Reclaimer::Reclaimer(Scope& scope, client::Transport& transport, Metrics& metrics,
                     const Logger& log, const Random& random, ProfileSpec profile)
    : scope_(scope),
      log_(log),
      api_(scope, transport, random.fork("api")),
      feeds_(scope, transport, random.fork("scavengers")),
      replica_(scope, transport, random.fork("replica"), log, feeds_.board(), std::move(profile),
               all_plugins()),
      door_({.scope = scope,
             .api = api_,
             .log = log,
             .board = feeds_.board(),
             .wanted =
                 [this](const Pod& pod) {
                   const PodPtr now = replica_.pending(pod.ns, pod.name);
                   return now && now->uid == pod.uid && !now->deleting;
                 },
             .again =
                 [this](const PodPtr& pod) {
                   served_.erase(pod->uid);
                   look_soon();
                 },
             .name = "operator",
             .reporter = "berth-reclaim",
             .instance = "berth-reclaim",
             .metrics = &metrics}),
      reclaims_(metrics.counters("berth_reclaims_total",
                                 "Pods that the operator made room for, by how it went",
                                 {"result"})) {
  replica_.on_change([this] { look_soon(); });
}

void Reclaimer::start() {
  feeds_.start();
  feeds_.on_first_job([this] { replica_.start(); });
}

void Reclaimer::look_soon() {
  if (std::exchange(due_, true)) return;
  scope_.after(kTick, [this] {
    due_ = false;
    look();
  });
}

bool Reclaimer::waits_for_room(const Pod& pod) const {
  if (pod.deleting || !pod.scheduled || pod.scheduled->status != "False" ||
      pod.scheduled->reason != "Unschedulable")
    return false;
  if (!pod.spec->never_preempts) return false;  // its scheduler sees to it
  return is_ghost(pod) || (feeds_.board().rules().reclaim && pod.priority() >= 0);
}

void Reclaimer::look() {
  const Instant now = scope_.executor().clock().now();
  std::erase_if(served_, [&](const auto& each) { return now - each.second >= kAgain; });
  if (feeds_.board().empty()) return;
  std::vector<PodPtr> waiting;
  for (const PodPtr& pod : replica_.pending())
    if (waits_for_room(*pod) && !door_.waits(*pod)) waiting.push_back(pod);
  if (waiting.empty()) return;
  if (!std::exchange(reviewing_, true))
    scope_.after(
        kReview,
        [this] {
          reviewing_ = false;
          look_soon();
        },
        Timer::kBackground);
  std::sort(waiting.begin(), waiting.end(), [](const PodPtr& a, const PodPtr& b) {
    return a->priority() != b->priority() ? a->priority() > b->priority() : a->uid < b->uid;
  });
  for (const PodPtr& pod : waiting)
    if (served_.emplace(pod->uid, now).second) verify(pod);
}

// Nobody is interrupted for what was seen: the pod is asked for as it is now.
void Reclaimer::verify(const PodPtr& pod) {
  api_.get(kube::kPod, {pod->ns, pod->name},
           scope_.done<kube::Object>(kCallLimit, [this, pod](const Result<kube::Object>& live) {
             if (live && live->uid() == pod->uid) reclaim(pod, *live);
           }));
}

void Reclaimer::reclaim(const PodPtr& pod, const kube::Object& live) {
  const json::Slice spec = live.member("spec");
  const std::string priority_class = spec["priorityClassName"].text();
  const bool ours = priority_class == kube::kGhostClass ||
                    (priority_class == kube::kPoliteClass && feeds_.board().rules().reclaim);
  if (!ours || !spec["nodeName"].text().empty() || live.deleting() || door_.waits(*pod)) return;
  const auto lost = replica_.pick(pod, scope_.executor().clock().wall(), door_.may_shrink(*pod));
  if (!lost) return;
  replica_.promise(*pod, lost->candidate.node);
  const bool leaving = std::all_of(lost->jobs.begin(), lost->jobs.end(),
                                   [](const LostJob& each) { return each.going; });
  if (leaving) return;  // the room is on its way
  if (door_.chosen(pod, *lost) == ScavengerDoor::Verdict::kWait) {
    reclaims_.with({"asked"}).add();
    return;
  }
  reclaims_.with({"evicted"}).add();
  log_.info("scavenger jobs make room",
            {{"pod", pod->text()}, {"node", lost->candidate.node}, {"jobs", lost->jobs.size()}});
  door_.evict(*pod, lost->candidate.victims);
}

}  // namespace berth::scheduler
