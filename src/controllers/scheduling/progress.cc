// SPDX-License-Identifier: Apache-2.0
#include "controllers/scheduling/progress.h"

#include <algorithm>
#include <set>

namespace berth::controllers {

using kube::BatchJobView;
using kube::Object;
using kube::SchedulingView;
using kube::SlotKinds;
using runtime::View;

const JobProgress* SchedulingProgress::find(const Key& job) const {
  for (const JobProgress& one : jobs)
    if (one.job == job) return &one;
  return nullptr;
}
bool SchedulingProgress::entries_left() const {
  return std::any_of(jobs.begin(), jobs.end(), [](const auto& one) { return one.left > 0; });
}
bool SchedulingProgress::runs_open() const {
  return std::any_of(jobs.begin(), jobs.end(), [](const auto& one) { return one.started(); });
}

SchedulingProgress progress_of(const View& view, const SlotKinds& kinds,
                               const SchedulingView& scheduling, const slots::Ledger* ledger,
                               WallTime now) {
  SchedulingProgress progress;
  const Object& self = scheduling.object();
  std::vector<Key> names = scheduling.jobs();
  const std::size_t in_spec = names.size();
  for (const json::Slice each : scheduling.status()["jobStates"].elements()) {
    const Key job{each["namespace"].text(), each["name"].text()};
    if (each["lastRun"].integer().value_or(0) > 0 &&
        std::find(names.begin(), names.end(), job) == names.end())
      names.push_back(job);
  }
  if (ledger != nullptr)  // granted, and taken out of the spec before that was noted
    for (const auto& [id, grant] : ledger->grants())
      if (grant.scheduling == self.key() &&
          std::find(names.begin(), names.end(), grant.job) == names.end())
        names.push_back(grant.job);
  slots::Demand demand = slots::demand_of(scheduling, true, now);
  for (std::size_t i = 0; i < names.size(); ++i) {
    JobProgress one{.job = names[i], .in_spec = i < in_spec};
    one.object = view.get(kinds.batch_job, one.job);
    const SchedulingView::JobState known = scheduling.job(one.job);
    one.last_run = known.last_run;
    one.used = known.used;
    one.waiting_since = known.waiting_since;
    one.granted = known.granted;
    if (ledger != nullptr)
      for (const slots::Grant* grant : ledger->of_job(one.job)) {
        if (grant->scheduling != self.key()) continue;
        one.grants.push_back(grant);
        if (slots::run_of(grant->id) <= one.last_run) continue;
        one.last_run = slots::run_of(grant->id);
        one.used += grant->slots.size();
        one.granted = now;
        one.waiting_since.reset();
      }
    if (one.object != nullptr) {
      const BatchJobView job(*one.object);
      const auto claim = job.claim();
      one.ours = claim && claim->by(self);
      one.closed = job.closed_run() >= one.last_run || (!one.ours && job.run() < one.last_run);
    }
    demand.progress[one.job].used = one.used;
    progress.jobs.push_back(std::move(one));
  }
  for (const slots::Demand::Entry& entry : slots::remaining(demand))
    for (JobProgress& one : progress.jobs)
      if (one.job == entry.job) ++one.left;
  return progress;
}

std::vector<Key> stopped_by(const SchedulingView& scheduling, const SchedulingProgress& progress) {
  std::vector<Key> failed;
  if (!scheduling.stops_on_failure()) return failed;
  for (const JobProgress& one : progress.jobs)
    if (one.object != nullptr && one.last_run > 0 && one.ours &&
        BatchJobView(*one.object).state() == "Failed")
      failed.push_back(one.job);
  return failed;
}

ClaimFacts claim_facts(const View& view, const SlotKinds& kinds, const SchedulingView& scheduling,
                       WallTime now) {
  // Whoever shares a job or the Testbed, by ticket.
  std::map<SchedulingView::Ticket, const Object*> others;
  const auto add = [&](const std::vector<const Object*>& found) {
    for (const Object* one : found) others[SchedulingView(*one).ticket()] = one;
  };
  add({&scheduling.object()});
  add(view.by_index(kinds.scheduling, kByTestbed, scheduling.testbed().text()));
  for (const Key& job : scheduling.jobs()) add(view.by_index(kinds.scheduling, kByJob, job.text()));

  ClaimFacts facts;
  std::map<Key, std::optional<slots::Ledger>> ledgers;  // a large one takes its time to be read
  for (const auto& [ticket, object] : others) {
    const SchedulingView one(*object);
    const Object* testbed = view.get(kinds.testbed, one.testbed());
    const auto [ledger, first] = ledgers.try_emplace(one.testbed());
    if (const Object* found = view.get(kinds.ledger, one.testbed()); first && found != nullptr)
      if (auto parsed = slots::Ledger::parse(*found)) ledger->second = std::move(*parsed);
    const std::optional<slots::Ledger>& known = ledger->second;
    Claimant claimant{.uid = std::string(object->uid()),
                      .key = object->key(),
                      .live = is_live(one) && testbed != nullptr,  // else it blocks nobody
                      .acquired = one.status()["acquiredTime"].present(),
                      .jobs = {}};
    const bool shared = testbed != nullptr && kube::TestbedView(*testbed).shared();
    if (!shared) claimant.testbed = one.testbed();
    if (testbed != nullptr && !shared)
      facts.testbeds[one.testbed()] = known && known->owner ? known->owner->uid : "";
    for (const JobProgress& job :
         progress_of(view, kinds, one, known ? &*known : nullptr, now).jobs)
      claimant.jobs.push_back(
          {job.job, job.started(), job.finished() || (!job.in_spec && !job.started())});
    facts.by_ticket.push_back(std::move(claimant));
  }
  for (const Claimant& one : facts.by_ticket)
    for (const Claimant::Wanted& each : one.jobs)
      if (const Object* job = view.get(kinds.batch_job, each.job);
          job != nullptr && !job->deleting()) {
        const auto claim = BatchJobView(*job).claim();
        std::string holder;
        if (claim) {
          const Object* by = view.get(kinds.scheduling, claim->scheduling);
          holder = !claim->uid.empty() ? claim->uid
                   : by != nullptr     ? std::string(by->uid())
                                       : claim->scheduling.text();
        }
        facts.jobs[each.job] = holder;
      }
  for (const Object* job :
       view.by_index(kinds.batch_job, kByClaim, scheduling.object().key().text()))
    if (const auto claim = BatchJobView(*job).claim(); claim->by(scheduling.object()))
      facts.jobs[job->key()] = std::string(scheduling.object().uid());
  return facts;
}

}  // namespace berth::controllers
