// SPDX-License-Identifier: Apache-2.0
#include "slot_invariants.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controllers/batchjob/history.h"
#include "controllers/pods.h"
#include "jobs_lab.h"
#include "kube/ours/testbed_view.h"
#include "kube/pod_requests.h"

namespace berth::controllers::stories {
namespace {

using kube::BatchJobView;
using kube::SchedulingView;

constexpr std::size_t kMostWrongs = 10;
constexpr Duration kLongestOutOfTurn = 2s;

bool is_ghost(const Object& pod) { return pod.label(kube::kGhostLabel) == "true"; }

}  // namespace

SlotInvariants::SlotInvariants(Lab& lab, Room room) : lab_(lab), room_(room) {
  auto inner = std::move(lab_.server.on_commit);
  lab_.server.on_commit = [this, inner = std::move(inner)](KindId kind,
                                                           const Object& object) mutable {
    check(kind, object);
    if (inner) inner(kind, object);
  };
}

void SlotInvariants::wrong(std::string what) {
  if (wrongs_.size() < kMostWrongs) wrongs_.push_back(std::move(what));
}

void SlotInvariants::check(KindId kind, const Object& object) {
  if (kind == kinds().ledger) check_ledger(object);
  if (kind == kinds().batch_job) check_job(object);
  if (kind == kSpark) check_application(object);
  if (kind == kube::kPod) check_pod(object);
  if (kind == kinds().scheduling) note_claimant(object);
  if (kind == kinds().batch_job) note_claim(object);
  if (kind == kinds().testbed) {
    shared_.erase(object.key());
    if (lab_.get(kind, object.key()).valid())
      shared_[object.key()] = kube::TestbedView(object).shared();
  }
  if (kind == kinds().scheduling || kind == kinds().batch_job || kind == kinds().testbed ||
      kind == kinds().ledger)
    check_turns();
}

// I1 and I3: grants appear whole on free slots, and go when their runs are closed.
void SlotInvariants::check_ledger(const Object& object) {
  auto ledger = slots::Ledger::parse(object);
  if (!ledger) return wrong("I1: " + ledger.error().message);
  slots::Ledger& before = ledgers_[object.key()];
  if (std::string what = slots::illegal_step(before, *ledger); !what.empty())
    wrong(fmt::format("I1: {}: {}", object.key().text(), what));
  // What one write grants begins together.
  for (const auto& [id, grant] : ledger->grants())
    if (before.find(id) == nullptr) begun_[grant.scheduling].insert(grant.job);
  for (const auto& [id, grant] : ledger->grants())
    if (before.find(id) == nullptr) check_new_grant(grant);
  for (const auto& [id, grant] : before.grants())
    if (ledger->find(id) == nullptr) check_gone_grant(grant);
  before = std::move(*ledger);
}

// All that a job was to have, or nothing.
void SlotInvariants::check_new_grant(const slots::Grant& grant) {
  ++grants_;
  if (const auto claimant = claimants_.find(grant.scheduling); claimant != claimants_.end()) {
    Claimant::Had& had = claimant->second.had[grant.job];
    had.last_run = std::max(had.last_run, slots::run_of(grant.id));
    had.used += grant.slots.size();
  }
  const Object object = lab_.get(kinds().scheduling, grant.scheduling);
  if (!object.valid()) return;  // by hand, or for one that was deleted meanwhile
  const SchedulingView scheduling(object);
  std::size_t entries = 0;
  for (const Key& entry : scheduling.queue()) entries += entry == grant.job ? 1 : 0;
  if (entries > 0 && entries != grant.slots.size())
    wrong(fmt::format("I1: {} has {} of {} slots", grant.id, grant.slots.size(), entries));
  // 5: nobody of a queue overtakes another.
  for (const Key& entry : scheduling.queue()) {
    if (entry == grant.job) break;
    if (begun_[grant.scheduling].count(entry) == 0)
      wrong(fmt::format("5: {} of {} began before {}", grant.job.text(), object.name(),
                        entry.text()));
  }
  for (const SchedulingView::Placed& each : scheduling.placed())
    if (each.job == grant.job && each.slots != grant.slots)
      wrong(fmt::format("I1: {} has slots {} for {}", grant.id, fmt::join(grant.slots, ","),
                        fmt::join(each.slots, ",")));
}

void SlotInvariants::check_gone_grant(const slots::Grant& grant) {
  const std::int64_t run = slots::run_of(grant.id);
  const Object object = lab_.get(kinds().batch_job, grant.job);
  if (!object.valid() || slots::grant_id(object.uid(), run) != grant.id) return;
  const BatchJobView job(object);
  if (job.run() >= run && job.closed_run() < run)
    wrong(fmt::format("I3: {} was taken while its run was open", grant.id));
  const auto claim = job.claim();
  if (job.run() < run && claim && claim->scheduling == grant.scheduling)
    wrong(fmt::format("I3: {} was taken before its run was opened, and {} is claimed", grant.id,
                      grant.job.text()));
}

void SlotInvariants::check_job(const Object& object) {
  const BatchJobView job(object);
  Job& known = jobs_[std::string(object.uid())];
  const std::size_t events = object.status()["scheduledEvents"].size();
  if (job.closed_run() < known.closed || events < known.events)
    wrong(fmt::format("7: the history of {} became shorter", object.name()));
  if (events != static_cast<std::size_t>(job.closed_run()) && events < kRunsKept)
    wrong(fmt::format("7: {} has closed {} runs and tells of {}", object.name(), job.closed_run(),
                      events));
  if (job.run() > job.closed_run() + 1)
    wrong(fmt::format("7: {} opened run {} after {}", object.name(), job.run(), job.closed_run()));
  known.closed = job.closed_run();
  known.events = events;

  const auto claim = job.claim();
  const std::string holder = claim ? claim->uid : "";
  if (!holder.empty() && !known.claimed_by.empty() && holder != known.claimed_by)
    wrong(fmt::format("4: {} went from one owner to another", object.name()));
  known.claimed_by = holder;

  check_pins(object, known.pins);

  // I2: what is ordered is granted.
  const auto order = job.order();
  if (!order || order->run <= job.closed_run()) return;
  const auto ledger = ledgers_.find(order->testbed);
  const slots::Grant* grant = ledger == ledgers_.end()
                                  ? nullptr
                                  : ledger->second.find(slots::grant_id(object.uid(), order->run));
  const bool granted = grant != nullptr && std::includes(grant->slots.begin(), grant->slots.end(),
                                                         order->slots.begin(), order->slots.end());
  if (!granted)
    wrong(fmt::format("I2: run {} of {} is ordered to slots that are not granted", order->run,
                      object.name()));
}

// 6: nobody holds for longer than a moment what it has not started while it is not its turn: an
// older Scheduling wants it, or something else that it needs is not to be had. A completed one
// keeps what it has (ESI-089) and stands in no order any more.
void SlotInvariants::note_claimant(const Object& object) {
  if (!lab_.get(kinds().scheduling, object.key()).valid()) {
    claimants_.erase(object.key());
    return;
  }
  const SchedulingView scheduling(object);
  Claimant& one = claimants_[object.key()];
  if (one.ticket.uid != object.uid()) one.had.clear();
  one.ticket = scheduling.ticket();
  one.testbed = scheduling.testbed();
  one.gone = object.deleting();
  one.completed = scheduling.completed();
  one.acquired = scheduling.status()["acquiredTime"].present();
  one.slot_based = scheduling.slot_based();
  one.jobs = scheduling.jobs();
  one.entries.clear();
  for (const Key& entry : scheduling.queue()) ++one.entries[entry];
}
void SlotInvariants::note_claim(const Object& object) {
  claims_.erase(object.key());
  if (!lab_.get(kinds().batch_job, object.key()).valid() || object.deleting()) return;
  const BatchJobView job(object);
  const auto claim = job.claim();
  claims_[object.key()] = {claim ? claim->uid : "", job.run(), job.closed_run()};
}
bool SlotInvariants::started(const Claimant& one, const Key& job) const {
  const auto had = one.had.find(job);
  if (had == one.had.end()) return false;
  const auto claim = claims_.find(job);
  if (claim == claims_.end()) return false;
  for (const auto& [key, ledger] : ledgers_)
    for (const slots::Grant* grant : ledger.of_job(job))
      if (slots::run_of(grant->id) == had->second.last_run) return true;
  const bool ours = claim->second.holder == one.ticket.uid;
  return claim->second.closed < had->second.last_run &&
         (ours || claim->second.run >= had->second.last_run);
}
bool SlotInvariants::finished(const Claimant& one, const Key& job) const {
  const auto had = one.had.find(job);
  if (had == one.had.end() || had->second.last_run == 0 || started(one, job)) return false;
  const auto entries = one.entries.find(job);
  return one.slot_based || entries == one.entries.end() || had->second.used >= entries->second;
}

std::set<std::string> SlotInvariants::out_of_turn() const {
  using Ticket = SchedulingView::Ticket;
  const auto first = [](auto& by, const Key& key, const Ticket& ticket) {
    const auto [at, fresh] = by.try_emplace(key, &ticket);
    if (!fresh && ticket < *at->second) at->second = &ticket;
  };
  std::map<Key, const Ticket*> first_job, first_testbed;
  std::map<std::string_view, const Claimant*> by_uid;
  for (const auto& [key, one] : claimants_) {
    by_uid[one.ticket.uid] = &one;
    if (one.gone || one.completed || shared_.count(one.testbed) == 0) continue;
    first(first_testbed, one.testbed, one.ticket);
    for (const Key& job : one.jobs)
      if (!finished(one, job)) first(first_job, job, one.ticket);
  }
  std::map<std::string, std::vector<Key>> held;
  for (const auto& [job, claim] : claims_)
    if (!claim.holder.empty()) held[claim.holder].push_back(job);

  std::set<std::string> found;
  for (const auto& [uid, jobs] : held) {
    const auto known = by_uid.find(uid);
    const Claimant* one = known == by_uid.end() ? nullptr : known->second;
    if (one != nullptr && one->completed && !one->gone) continue;
    bool blocked = false;
    std::size_t blocked_at = 0;
    if (one != nullptr && !one->gone) {
      for (blocked_at = 0; blocked_at < one->jobs.size() && !blocked; ++blocked_at) {
        const Key& job = one->jobs[blocked_at];
        const auto claim = claims_.find(job);
        if (claim == claims_.end() || finished(*one, job)) continue;
        const std::string& holder = claim->second.holder;
        if (holder == uid && started(*one, job)) continue;
        const auto older = first_job.find(job);
        blocked = (!holder.empty() && holder != uid) ||
                  (older != first_job.end() && *older->second < one->ticket);
        if (blocked) break;
      }
      const auto shared = shared_.find(one->testbed);
      if (!one->acquired && (shared == shared_.end() || !shared->second)) {
        const auto ledger = ledgers_.find(one->testbed);
        const bool owned = ledger != ledgers_.end() && ledger->second.owner;
        const auto older = first_testbed.find(one->testbed);
        blocked |= shared == shared_.end() || (owned && ledger->second.owner->uid != uid) ||
                   (!owned && older != first_testbed.end() && *older->second < one->ticket);
      }
    }
    for (const Key& job : jobs) {
      bool wrong = one == nullptr || one->gone;
      if (!wrong && !started(*one, job)) {
        const auto at = static_cast<std::size_t>(
            std::find(one->jobs.begin(), one->jobs.end(), job) - one->jobs.begin());
        if (at == one->jobs.size())
          wrong = true;
        else if (finished(*one, job))
          wrong = first_job.count(job) > 0;  // itself it wants it no more
        else
          wrong = blocked && (!one->acquired || at >= blocked_at);
      }
      if (wrong) found.insert(fmt::format("{} is held by {}", job.text(), uid));
    }
  }
  return found;
}

void SlotInvariants::check_turns() {
  judge_turns();  // what stood until now
  const std::set<std::string> now = out_of_turn();
  std::erase_if(held_since_, [&](const auto& each) { return now.count(each.first) == 0; });
  for (const std::string& each : now) held_since_.try_emplace(each, lab_.world.clock().now());
  if (held_since_.empty() || std::exchange(armed_, true)) return;
  Executor& loop = lab_.world.loop("invariants");
  loop.post([this, &loop] {
    loop.at(
        loop.clock().now() + kLongestOutOfTurn + 1ms,
        [this] {
          armed_ = false;
          check_turns();
        },
        Timer::kBackground);
  });
}
void SlotInvariants::judge_turns() {
  const Instant now = lab_.world.clock().now();
  std::erase_if(held_since_, [&](const auto& each) {
    if (now - std::max(each.second, excused_until_) <= kLongestOutOfTurn) return false;
    wrong(fmt::format("6: {}, and it is not its turn", each.first));
    return true;
  });
}
void SlotInvariants::excuse(Duration how_long) {
  judge_turns();
  excused_until_ = std::max(excused_until_, lab_.world.clock().now() + how_long);
}

// I5: a slot that was promised to a pod stays its own as long as it is there.
void SlotInvariants::check_pins(const Object& job, std::map<int, std::string>& known) {
  std::map<int, std::string> now;
  for (const kube::Pin& pin : BatchJobView(job).pins()) now[pin.slot] = pin.pod_uid;
  for (const auto& [slot, uid] : now) {
    const auto before = known.find(slot);
    if (before == known.end() || before->second == uid) continue;
    for (const Object& pod : lab_.list(kube::kPod))
      if (pod.uid() == before->second && !pod_ended(pod))
        wrong(fmt::format("I5: slot {} of {} was taken from {}", slot, job.name(), pod.name()));
  }
  known = std::move(now);
}
// By the binding, or by the promise of its job.
std::optional<int> SlotInvariants::slot_of(const Object& pod) const {
  const auto fact = slots::pod_fact(pod);
  if (!fact) return std::nullopt;
  if (fact->slot || fact->ghost) return fact->slot;
  const auto ledger = ledgers_.find(slots::testbed_of(pod));
  const slots::Grant* grant =
      ledger == ledgers_.end() ? nullptr : ledger->second.find(pod.label(kube::kGrantLabel));
  if (grant == nullptr) return std::nullopt;
  if (const Object job = lab_.get(kinds().batch_job, grant->job); job.valid())
    for (const kube::Pin& pin : BatchJobView(job).pins())
      if (pin.pod_uid == pod.uid()) return pin.slot;
  return std::nullopt;
}

// I4: after the run was opened, once an attempt, never for one that is closed.
void SlotInvariants::check_application(const Object& application) {
  const std::string attempt =
      application.label(kube::kGrantLabel) + "/" + application.annotation("berth.dev/attempt");
  const auto [known, first] = applications_.emplace(attempt, application.uid());
  if (!first && known->second != application.uid())
    wrong(fmt::format("4: {} was submitted twice", attempt));
  if (!first) return;
  const Object object = lab_.get(kinds().batch_job, application.key());
  if (!object.valid()) return wrong(fmt::format("I4: {} has no job", attempt));
  const BatchJobView job(object);
  const std::string run = application.annotation("berth.dev/run");
  const bool closed = run != std::to_string(job.run()) || job.closed_run() >= job.run();
  if (closed && !late_)
    wrong(fmt::format("I4: {} was submitted for run {} of {}, {} is closed", attempt, run,
                      job.run(), job.closed_run()));
}

// I5, P-11 and 3: into a slot of its own grant, alone, and where there is room.
void SlotInvariants::check_pod(const Object& pod) {
  const std::string node = pod.member("spec")["nodeName"].text();
  if (node.empty() || pod_ended(pod)) return;
  const std::string grant = pod.label(kube::kGrantLabel);
  if (grant.empty() || is_ghost(pod)) return check_room(node);
  if (!bound_.insert(std::string(pod.uid())).second) return;
  check_room(node);
  const std::optional<int> slot = slot_of(pod);
  if (!slot) return wrong(fmt::format("I5: {} is bound to no slot", pod.name()));
  const Key testbed = slots::testbed_of(pod);
  const slots::Grant* holder = ledgers_[testbed].holder(*slot);
  if (holder == nullptr || holder->id != grant)
    wrong(fmt::format("I5: {} of {} is in slot {} of {}", pod.name(), grant, *slot,
                      holder == nullptr ? "nobody" : holder->id));
  for (const Object& other : lab_.list(kube::kPod))
    if (!is_ghost(other) && other.uid() != pod.uid() && slots::testbed_of(other) == testbed &&
        slot_of(other) == slot)
      wrong(fmt::format("3: {} and {} are both in slot {}", pod.name(), other.name(), *slot));
}

void SlotInvariants::check_room(const std::string& node) {
  if (room_ == Room::kIgnored) return;
  const Object object = lab_.get(kube::kNode, {"", node});
  if (!object.valid()) return;  // it is gone, and its pods are going
  const auto room = kube::parse_resource_list(object.status()["allocatable"], "allocatable");
  if (!room || room->empty()) return;
  kube::ResourceList used;
  for (const Object& pod : lab_.list(kube::kPod)) {
    if (pod.member("spec")["nodeName"].text() != node || pod_ended(pod)) continue;
    const auto held = kube::pod_requests(pod);
    for (const auto& [name, amount] : *held) used[name] += amount;
  }
  for (const auto& [name, amount] : used)
    if (const auto most = room->find(name); most != room->end() && amount > most->second)
      wrong(fmt::format("P-11: {} of {} {} are asked of {}", amount.text(), most->second.text(),
                        name, node));
}

std::vector<std::string> SlotInvariants::left_over() const {
  std::vector<std::string> left;
  const auto add = [&](std::string_view what, const Object& object) {
    left.push_back(fmt::format("{}: {}", what, object.key().text()));
  };
  for (const KindId kind : {kinds().testbed, kinds().batch_job, kinds().scheduling, kinds().ledger})
    for (const Object& object : lab_.list(kind))
      if (object.deleting()) add("a finalizer that nobody takes away", object);
  for (const Object& object : lab_.list(kinds().scheduling)) add("a Scheduling", object);
  for (const Object& object : lab_.list(kSpark)) add("an application", object);
  std::size_t slots_there = 0, ghosts = 0;
  for (const Object& object : lab_.list(kinds().ledger)) {
    const slots::Ledger ledger = *slots::Ledger::parse(object);
    for (const auto& [id, grant] : ledger.grants())
      left.push_back(fmt::format("a leaked slot: {}", id));
    if (ledger.owner) add("an owner", object);
    slots_there += slots::cells_of(ledger.blocks, {}).size();
  }
  for (const Object& object : lab_.list(kinds().batch_job)) {
    const BatchJobView job(object);
    if (job.open()) add("an open run", object);
    if (job.claim()) add("a claim", object);
    if (job.order()) add("an order", object);
    if (object.status()["pins"].size() > 0) add("a pin", object);
  }
  for (const Object& pod : lab_.list(kube::kPod)) {
    if (is_ghost(pod))
      ++ghosts;
    else
      add("a pod", pod);
  }
  if (ghosts != slots_there)
    left.push_back(fmt::format("{} ghosts for {} slots", ghosts, slots_there));
  return left;
}

}  // namespace berth::controllers::stories
