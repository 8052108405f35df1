// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/plan.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kube/ours/reasons.h"

namespace berth::slots {
namespace {

using Mode = Demand::Mode;

class Planner {
 public:
  explicit Planner(const PlanInput& in) : in_(in) {
    for (const Slot& slot : in.table.slots)
      if (slot.state == SlotState::kFree) free_.insert(slot.number);
    for (const auto& [id, grant] : in.ledger.grants()) count(grant.job.ns, grant.slots.size());
  }

  GrantPlan plan() {
    for (const HandOrder& order : in_.by_hand) by_hand(order);
    for (const Demand& demand : in_.by_ticket) {
      if (demand.mode != Mode::kQueue)
        resize(demand);
      else
        replace(demand);
      if (!demand.may_start) continue;
      if (demand.mode == Mode::kQueue)
        queue(demand);
      else
        placed(demand);
    }
    return std::move(plan_);
  }

 private:
  struct Use {
    int slots = 0, grants = 0;
  };

  const JobFact* job(const Key& key) const {
    const auto found = in_.jobs.find(key);
    return found == in_.jobs.end() ? nullptr : &found->second;
  }
  void count(const std::string& ns, std::size_t slots) {
    Use& use = used_[ns];
    use.slots += static_cast<int>(slots);
    ++use.grants;
  }
  std::string over_quota(const std::string& ns, std::size_t slots) const {
    const kube::SlotQuota* quota = nullptr;
    for (const kube::SlotQuota& each : in_.quotas)
      if (each.ns == ns || (each.ns == "*" && quota == nullptr)) quota = &each;
    if (quota == nullptr) return {};
    const auto found = used_.find(ns);
    const Use use = found == used_.end() ? Use{} : found->second;
    if (quota->max_grants && use.grants + 1 > *quota->max_grants)
      return fmt::format("namespace {} has {} of {} grants", ns, use.grants, *quota->max_grants);
    if (quota->max_slots && use.slots + static_cast<int>(slots) > *quota->max_slots)
      return fmt::format("namespace {} has {} of {} slots and wants {} more", ns, use.slots,
                         *quota->max_slots, slots);
    return {};
  }

  void wait(const Key& scheduling, const Key& job, std::string_view reason, std::string message) {
    plan_.waiting.push_back({scheduling, job, reason, std::move(message)});
  }
  void grant(const Key& scheduling, const Key& key, std::int64_t run, std::set<SlotNumber> slots) {
    for (const SlotNumber slot : slots) free_.erase(slot);
    count(key.ns, slots.size());
    granted_.insert(key);
    plan_.grants.push_back({grant_id(job(key)->uid, run), key, scheduling, "", std::move(slots)});
  }
  // Can a run of it begin at all? Says why not.
  bool startable(const Demand& demand, const Key& key) {
    const JobFact* fact = job(key);
    if (fact == nullptr) {
      wait(demand.key, key, kube::reason::kJobNotFound,
           fmt::format("BatchJob {} does not exist", key.text()));
    } else if (fact->claimed_by != demand.key) {
      wait(demand.key, key, kube::reason::kJobHeld,
           fmt::format("BatchJob {} is not claimed by this Scheduling", key.text()));
    } else if (!fact->grant.empty() || granted_.count(key) > 0 || !in_.ledger.of_job(key).empty()) {
      wait(demand.key, key, kube::reason::kWaitingForCapacity,
           fmt::format("the run of {} before has not ended", key.text()));
    } else {
      return true;
    }
    return false;
  }

  void by_hand(const HandOrder& order) {
    const JobFact* fact = job(order.job);
    if (fact == nullptr || in_.ledger.find(grant_id(fact->uid, order.run)) != nullptr) return;
    if (!in_.ledger.of_job(order.job).empty())
      return wait({}, order.job, kube::reason::kWaitingForSlots, "the run before has not ended");
    if (std::string why = invalid_slot(order.slots, ""); !why.empty())
      return wait({}, order.job, kube::reason::kSlotsTaken, std::move(why));
    if (const auto taken = not_free(order.slots); !taken.empty())
      return wait({}, order.job, kube::reason::kSlotsTaken, not_free_text(taken));
    grant({}, order.job, order.run, order.slots);
  }

  // Entry i stands on the i-th free slot of its class, in ascending order. A job is granted when
  // all of its entries have a slot; nobody overtakes one that is not.
  void queue(const Demand& demand) {
    std::map<std::string, std::vector<SlotNumber>> of_class;
    for (const SlotNumber number : free_)
      of_class[in_.table.find(number)->slot_class].push_back(number);
    std::map<std::string, std::size_t> at;
    struct Stand {
      std::set<SlotNumber> slots;
      std::size_t missing = 0;
    };
    std::map<Key, Stand> stands;
    std::vector<Key> order;
    for (const Demand::Entry& entry : remaining(demand)) {
      if (stands.find(entry.job) == stands.end()) order.push_back(entry.job);
      Stand& stand = stands[entry.job];
      const JobFact* fact = job(entry.job);
      if (fact == nullptr) continue;
      const std::vector<SlotNumber>& list = of_class[fact->slot_class];
      const std::size_t index = at[fact->slot_class]++;
      if (index < list.size())
        stand.slots.insert(list[index]);
      else
        ++stand.missing;
    }
    bool blocked = false;
    for (const Key& key : order) {
      const Stand& stand = stands[key];
      if (!blocked) {
        if (!startable(demand, key)) {
          blocked = true;
        } else if (stand.missing > 0) {
          wait(demand.key, key, kube::reason::kWaitingForCapacity,
               fmt::format("{} needs {} slots, {} of them are not free", key.text(),
                           stand.slots.size() + stand.missing, stand.missing));
          blocked = true;
        } else if (std::string why = over_quota(key.ns, stand.slots.size()); !why.empty()) {
          wait(demand.key, key, kube::reason::kQuotaExceeded, std::move(why));
          return;  // what it stands on is for whoever comes next
        } else {
          grant(demand.key, key, job(key)->next_run, stand.slots);
          continue;
        }
      }
      // It keeps its place: later Schedulings do not take what it stands on.
      for (const SlotNumber slot : stand.slots) free_.erase(slot);
    }
  }

  void placed(const Demand& demand) {
    const std::vector<Demand::Entry> left = remaining(demand);
    std::set<SlotNumber> closed;  // to later jobs of this Scheduling
    bool blocked = false;
    for (const Demand::Entry& entry : left) {
      if (!blocked && place(demand, entry, closed)) continue;
      if (demand.mode == Mode::kStrict) {
        blocked = true;
        closed.insert(entry.slots.begin(), entry.slots.end());
      } else if (const auto found = demand.progress.find(entry.job);
                 found != demand.progress.end() && found->second.starving) {
        closed.insert(entry.slots.begin(), entry.slots.end());
      }
    }
    // What is wanted strictly is not for later Schedulings either.
    for (const SlotNumber slot : closed) free_.erase(slot);
  }
  bool place(const Demand& demand, const Demand::Entry& entry, const std::set<SlotNumber>& closed) {
    const auto no = [&](std::string_view reason, std::string message) {
      wait(demand.key, entry.job, reason, std::move(message));
      return false;
    };
    if (!startable(demand, entry.job)) return false;
    if (std::string why = invalid_slot(entry.slots, job(entry.job)->slot_class); !why.empty())
      return no(kube::reason::kInvalidSlot, std::move(why));
    std::set<SlotNumber> taken = not_free(entry.slots);
    for (const SlotNumber slot : entry.slots)
      if (closed.count(slot) > 0) taken.insert(slot);
    if (!taken.empty()) return no(kube::reason::kWaitingForCapacity, not_free_text(taken));
    if (std::string why = over_quota(entry.job.ns, entry.slots.size()); !why.empty())
      return no(kube::reason::kQuotaExceeded, std::move(why));
    grant(demand.key, entry.job, job(entry.job)->next_run, entry.slots);
    return true;
  }

  // Slots of a running job that were edited. What is new comes all or none; what goes is given back
  // once its pod has gone.
  void resize(const Demand& demand) {
    for (const Demand::Entry& entry : demand.entries) {
      const JobFact* fact = job(entry.job);
      if (fact == nullptr || fact->claimed_by != demand.key || entry.slots.empty()) continue;
      const Grant* held = in_.ledger.find(fact->grant);
      if (held == nullptr || held->scheduling != demand.key) continue;
      Resize change{.grant = held->id};
      std::set_difference(entry.slots.begin(), entry.slots.end(), held->slots.begin(),
                          held->slots.end(), std::inserter(change.more, change.more.end()));
      std::set_difference(held->slots.begin(), held->slots.end(), entry.slots.begin(),
                          entry.slots.end(), std::inserter(change.less, change.less.end()));
      if (!change.less.empty()) plan_.resizes.push_back({held->id, {}, change.less});
      if (change.more.empty()) continue;
      if (std::string why = invalid_slot(change.more, fact->slot_class); !why.empty()) {
        wait(demand.key, entry.job, kube::reason::kInvalidSlot, std::move(why));
      } else if (const auto taken = not_free(change.more); !taken.empty()) {
        wait(demand.key, entry.job, kube::reason::kWaitingForCapacity, not_free_text(taken));
      } else {
        for (const SlotNumber slot : change.more) free_.erase(slot);
        plan_.resizes.push_back({held->id, change.more, {}});
      }
    }
  }

  // Slots that were lost with their nodes, between two attempts: others take their places. Who was
  // placed by hand is left where its user wants it.
  void replace(const Demand& demand) {
    std::set<Key> seen;
    for (const Demand::Entry& entry : demand.entries) {
      const JobFact* fact = job(entry.job);
      if (fact == nullptr || !fact->retrying || fact->claimed_by != demand.key ||
          !seen.insert(entry.job).second)
        continue;
      const Grant* held = in_.ledger.find(fact->grant);
      if (held == nullptr || held->scheduling != demand.key) continue;
      std::size_t good = 0;
      for (const SlotNumber number : held->slots) {
        const Slot* slot = in_.table.find(number);
        good += slot != nullptr && !slot->node_gone ? 1 : 0;
      }
      Resize change{.grant = held->id};
      for (const SlotNumber number : free_)
        if (good + change.more.size() < fact->ordered &&
            in_.table.find(number)->slot_class == fact->slot_class)
          change.more.insert(number);
      if (good + change.more.size() < fact->ordered) {
        wait(demand.key, entry.job, kube::reason::kWaitingForCapacity,
             fmt::format("{} lost slots with their nodes, and there are not as many free ones",
                         entry.job.text()));
      } else if (!change.more.empty()) {
        for (const SlotNumber slot : change.more) free_.erase(slot);
        plan_.resizes.push_back(std::move(change));
      }
    }
  }

  std::string invalid_slot(const std::set<SlotNumber>& slots, const std::string& of_class) const {
    if (slots.empty()) return "no slots are named";
    for (const SlotNumber number : slots) {
      const Slot* slot = in_.table.find(number);
      if (slot == nullptr || !slot->wanted)
        return fmt::format("the Testbed has no slot {}", number);
      if (!of_class.empty() && slot->slot_class != of_class)
        return fmt::format("slot {} is of class {}, the job needs {}", number, slot->slot_class,
                           of_class);
    }
    return {};
  }
  std::set<SlotNumber> not_free(const std::set<SlotNumber>& slots) const {
    std::set<SlotNumber> taken;
    for (const SlotNumber slot : slots)
      if (free_.count(slot) == 0) taken.insert(slot);
    return taken;
  }
  std::string not_free_text(const std::set<SlotNumber>& taken) const {
    const Slot* slot = in_.table.find(*taken.begin());
    if (taken.size() == 1 && !slot->job.name.empty())
      return fmt::format("slot {} is held by {}", *taken.begin(), slot->job.text());
    return fmt::format("slot{} {} {} not free", taken.size() == 1 ? "" : "s",
                       fmt::join(taken, ", "), taken.size() == 1 ? "is" : "are");
  }

  const PlanInput& in_;
  std::set<SlotNumber> free_;
  std::map<std::string, Use> used_;  // by namespace
  std::set<Key> granted_;            // by this plan
  GrantPlan plan_;
};

}  // namespace

JobFact job_fact(const kube::BatchJobView& job) {
  JobFact fact{.uid = std::string(job.object().uid()),
               .slot_class = job.slot_class(),
               .next_run = next_run(job)};
  if (const auto claim = job.claim()) fact.claimed_by = claim->scheduling;
  if (const auto run = run_fact(job)) fact.grant = run->first;
  fact.failed = job.state() == "Failed";
  fact.retrying = job.open() && job.state() == "Retrying";
  if (const auto order = job.order()) fact.ordered = order->slots.size();
  return fact;
}

Demand demand_of(const kube::SchedulingView& view, bool may_start, WallTime now) {
  Demand demand{.key = view.object().key(), .entries = {}, .may_start = may_start};
  if (view.slot_based()) {
    demand.mode = view.relaxed() ? Mode::kRelaxed : Mode::kStrict;
    for (kube::SchedulingView::Placed& each : view.placed())
      demand.entries.push_back({std::move(each.job), std::move(each.slots)});
  } else {
    for (Key& job : view.queue()) demand.entries.push_back({std::move(job)});
  }
  for (const Key& job : view.jobs()) {
    const kube::SchedulingView::JobState state = view.job(job);
    demand.progress[job] = {
        state.used, state.last_run,
        state.waiting_since && now - *state.waiting_since >= view.starve_after()};
  }
  return demand;
}

std::vector<Demand::Entry> remaining(const Demand& demand) {
  std::vector<Demand::Entry> left;
  std::map<Key, std::size_t> used;
  for (const auto& [job, progress] : demand.progress) used[job] = progress.used;
  for (const Demand::Entry& entry : demand.entries) {
    std::size_t& spent = used[entry.job];
    if (demand.mode != Mode::kQueue) {
      if (spent == 0) left.push_back(entry);
    } else if (spent > 0) {
      --spent;
    } else {
      left.push_back(entry);
    }
  }
  return left;
}

GrantPlan plan_grants(const PlanInput& in) { return Planner(in).plan(); }

}  // namespace berth::slots
