// SPDX-License-Identifier: Apache-2.0
// Carries a Scheduling out: claims its jobs by ticket, orders those to run that the allocator has
// granted slots, notes what was started, and gives everything back when it goes.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "controllers/scheduling/claims.h"
#include "controllers/scheduling/progress.h"
#include "controllers/scheduling/scheduling_status.h"
#include "controllers/scheduling/scheduling_table.h"
#include "controllers/slot_sight.h"
#include "json/writer.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::BatchJobView;
using kube::SchedulingView;
using kube::SlotKinds;

using Input = SchedulingInput;

std::string claim_patch(const Object& scheduling) {
  json::Writer w;
  w.object().member("spec").object().member("activeScheduling").object();
  w.member("name").string(scheduling.name()).member("namespace").string(scheduling.ns());
  w.member("uid").string(scheduling.uid()).end().end().end();
  return w.take();
}

// A run that is open is closed by the job itself; an order that nobody has opened goes at once.
std::string release_patch(const BatchJobView& job) {
  return job.open() ? R"({"spec":{"activeScheduling":null}})"
                    : R"({"spec":{"activeScheduling":null,"creationRequest":null}})";
}

std::string order_patch(const Key& testbed, const std::set<slots::SlotNumber>& slots,
                        std::int64_t run) {
  json::Writer w;
  w.object().member("spec").object().member("creationRequest").object();
  w.member("slotIds").array();
  for (const slots::SlotNumber slot : slots) w.integer(slot);
  w.end().member("testbedName").object().member("name").string(testbed.name);
  w.member("namespace").string(testbed.ns).end();
  w.member("replication").integer(static_cast<std::int64_t>(slots.size()));
  w.member("run").integer(run).end().end().end();
  return w.take();
}

// An order that a job is to have.
struct Order {
  const Object* job;
  std::set<slots::SlotNumber> slots;
  std::int64_t run;
};

// One run for one Scheduling.
class Run {
 public:
  Run(const View& view, const SlotKinds& kinds, const Object& object, WallTime now)
      : view_(view), kinds_(kinds), self_(object), scheduling_(object), now_(now) {
    testbed_ = view.get(kinds.testbed, scheduling_.testbed());
    if (const Object* ledger = view.get(kinds.ledger, scheduling_.testbed()); ledger != nullptr)
      if (auto parsed = slots::Ledger::parse(*ledger)) ledger_ = std::move(*parsed);
    progress_ = progress_of(view, kinds, scheduling_, ledger_ ? &*ledger_ : nullptr, now);
  }

  Plan plan() {
    if (!has_finalizer(self_, kube::kSchedulingFinalizer)) {
      if (self_.deleting()) return Plan::done();
      // Before the first claim, so that none is left behind.
      return Plan().patch(self_, finalizer_patch(self_, kube::kSchedulingFinalizer, true));
    }
    find_orders();
    const Input input = see();
    const SchedulingRow& row =
        scheduling_row(self_.deleting()          ? SchedulingState::kReleasing
                       : scheduling_.completed() ? SchedulingState::kCompleted
                                                 : scheduling_state(scheduling_.state()),
                       input);
    tell(row, input);
    act(row.action);
    return std::move(plan_);
  }

 private:
  std::vector<const Object*> claimed() const {
    std::vector<const Object*> jobs;
    for (const Object* job : view_.by_index(kinds_.batch_job, kByClaim, self_.key().text()))
      if (BatchJobView(*job).claim()->by(self_)) jobs.push_back(job);
    return jobs;
  }
  bool named_in_ledger() const {
    if (!ledger_) return false;
    if (ledger_->owner && ledger_->owner->uid == self_.uid()) return true;
    for (const auto& [id, grant] : ledger_->grants())
      if (grant.scheduling == self_.key()) return true;
    return false;
  }
  bool has_testbed() const {
    if (testbed_ == nullptr) return false;
    if (kube::TestbedView(*testbed_).shared()) return true;
    return ledger_ && ledger_->owner && ledger_->owner->uid == self_.uid();
  }

  void find_orders() {
    std::map<Key, std::set<slots::SlotNumber>> placed;
    for (SchedulingView::Placed& each : scheduling_.placed()) placed[each.job] = each.slots;
    for (const JobProgress& one : progress_.jobs) {
      if (one.object == nullptr || !one.ours) continue;
      const BatchJobView job(*one.object);
      for (const slots::Grant* grant : one.grants) {
        const std::int64_t run = slots::run_of(grant->id);
        if (run <= job.closed_run() || (job.open() && job.run() != run)) continue;
        Order order{one.object, grant->slots, run};
        // Slots that were taken out of the spec leave the order first, and the ledger after it.
        const auto now = job.order();
        const bool retries = job.open() && job.state() == "Retrying";
        if (const auto found = placed.find(one.job); found != placed.end() && job.open()) {
          // Between two attempts all of them change at once.
          if (retries && now &&
              !std::includes(order.slots.begin(), order.slots.end(), found->second.begin(),
                             found->second.end()))
            order.slots = now->slots;
          else
            std::erase_if(order.slots, [&](int slot) { return found->second.count(slot) == 0; });
        }
        if (order.slots.empty()) continue;
        // A queue's run is as wide as it began; slots that were lost with their nodes give way.
        if (now && now->run == run && job.open() && !scheduling_.slot_based())
          order.slots = retries ? without_lost(now->slots, grant->slots) : now->slots;
        if (!now || now->run != run || now->slots != order.slots)
          orders_.push_back(std::move(order));
      }
    }
  }

  std::set<int> without_lost(const std::set<int>& ordered, const std::set<int>& granted) const {
    std::set<int> there;
    for (const slots::Cell& cell : slots::cells_of(ledger_->blocks, {}))
      if (granted.count(cell.slot) > 0 && view_.get(kube::kNode, {"", std::string(cell.node)}))
        there.insert(cell.slot);
    if (there.size() < ordered.size()) return ordered;  // nothing takes their place yet
    std::set<int> next;
    for (const int slot : ordered)
      if (there.erase(slot) > 0) next.insert(slot);
    for (const int slot : there)
      if (next.size() < ordered.size()) next.insert(slot);
    return next;
  }

  Input see() {
    if (self_.deleting())
      return claimed().empty() && !named_in_ledger() ? Input::kReleased : Input::kDeleted;
    if (scheduling_.completed()) {
      const auto ttl = scheduling_.ttl();
      if (!ttl) return Input::kDone;
      const WallTime due = scheduling_.completion_time().value_or(now_) + *ttl;
      if (now_ >= due) return Input::kTtlOver;
      plan_.again_at(due);
      return Input::kDone;
    }
    const bool had = scheduling_.status()["acquiredTime"].present();
    found_.claims = next_step(claim_facts(view_, kinds_, scheduling_, now_), self_.uid());
    if (had && !has_testbed()) return Input::kLost;
    found_.acquired = had;
    if (!orders_.empty()) return Input::kGranted;
    switch (found_.claims.kind) {
      case ClaimStep::Kind::kRelease:
        return Input::kMustRelease;
      case ClaimStep::Kind::kClaim:
        return Input::kMayClaim;
      case ClaimStep::Kind::kTestbed:
      case ClaimStep::Kind::kWait:
        if (!had) return Input::kWaits;
        break;
      case ClaimStep::Kind::kOwns:
        // Jobs say that they know it; until then nothing is asked of them.
        if (!had && !all_queued()) return Input::kWaits;
        if (!had && !has_testbed()) return Input::kWaits;
        break;
    }
    found_.acquired = true;
    if (progress_.entries_left()) return Input::kEntriesLeft;
    if (progress_.runs_open()) return Input::kRunsOpen;
    return stopped_by(scheduling_, progress_).empty() ? Input::kAllClosed : Input::kFailed;
  }
  bool all_queued() const {
    for (const JobProgress& one : progress_.jobs)
      if (one.object != nullptr && one.ours && !one.started() &&
          BatchJobView(*one.object).state() == "PendingDeletion")
        return false;
    return true;
  }

  void tell(const SchedulingRow& row, Input input) {
    found_.state = row.next;
    found_.completed = scheduling_.completed() || row.action == SchedulingAction::kComplete;
    if (row.action == SchedulingAction::kDropFinalizer) return;
    if (self_.deleting() || scheduling_.completed())
      found_.acquired = scheduling_.status()["acquiredTime"].present();
    if (testbed_ != nullptr && input == Input::kEntriesLeft)
      if (const auto sight = look(view_, kinds_, *testbed_))
        for (slots::Waiting& each :
             next_grants(view_, kinds_, *sight, sight->table(now_), now_).waiting)
          if (each.scheduling == self_.key()) found_.waiting.push_back(std::move(each));
    SchedulingSummary summary = scheduling_status(scheduling_, progress_, found_, now_);
    plan_.set_status(self_, summary.status);
    for (auto& [reason, note] : summary.told)
      plan_.event(self_,
                  {client::EventType::kNormal, std::move(reason), "Schedule", std::move(note)});
    if (summary.look_again) plan_.again_at(*summary.look_again);
    if (scheduling_.relaxed() && progress_.entries_left())
      for (const JobProgress& one : progress_.jobs)
        if (one.waiting_since && *one.waiting_since + scheduling_.starve_after() > now_)
          plan_.again_at(*one.waiting_since + scheduling_.starve_after());
  }

  void act(SchedulingAction action) {
    switch (action) {
      case SchedulingAction::kNothing:
      case SchedulingAction::kComplete:
        return;
      case SchedulingAction::kOrder:
        for (const Order& order : orders_)
          plan_.patch(*order.job, order_patch(scheduling_.testbed(), order.slots, order.run));
        return;
      case SchedulingAction::kClaim:
        for (const Key& key : found_.claims.jobs)
          plan_.patch(*view_.get(kinds_.batch_job, key), claim_patch(self_));
        return;
      case SchedulingAction::kRelease:
        for (const Key& key : found_.claims.jobs) release(*view_.get(kinds_.batch_job, key));
        return;
      case SchedulingAction::kReleaseAll:
        for (const Object* job : claimed()) release(*job);
        return;
      case SchedulingAction::kErase:
        plan_.erase(self_, kube::Propagation::kBackground, Pin::kUid);
        return;
      case SchedulingAction::kDropFinalizer:
        plan_.patch(self_, finalizer_patch(self_, kube::kSchedulingFinalizer, false));
        return;
    }
  }
  void release(const Object& job) { plan_.patch(job, release_patch(BatchJobView(job))); }

  const View& view_;
  const SlotKinds& kinds_;
  const Object& self_;
  SchedulingView scheduling_;
  WallTime now_;
  const Object* testbed_ = nullptr;
  std::optional<slots::Ledger> ledger_;
  SchedulingProgress progress_;
  std::vector<Order> orders_;
  SchedulingFindings found_;
  Plan plan_;
};

class Scheduling final : public Controller {
 public:
  Scheduling(std::string name, const SlotKinds& kinds) : name_(std::move(name)), kinds_(kinds) {}

  Spec spec() const override {
    Spec spec(name_);
    // Whoever shares a job or the Testbed may be next when one changes.
    spec.reconciles(
        kinds_.scheduling,
        each_state([kinds = kinds_](const View& view, const Object& one, std::vector<Key>& wake) {
          wake.push_back(one.key());
          wake_on(view, kinds, SchedulingView(one).testbed(), wake);
          for (const std::string& job : jobs_of_scheduling(one))
            for (const Object* other : view.by_index(kinds.scheduling, kByJob, job))
              wake.push_back(other->key());
        }));
    spec.watches(
        kinds_.batch_job,
        each_state([kinds = kinds_](const View& view, const Object& job, std::vector<Key>& wake) {
          if (const auto claim = BatchJobView(job).claim()) wake.push_back(claim->scheduling);
          for (const Object* one : view.by_index(kinds.scheduling, kByJob, job.key().text()))
            wake.push_back(one->key());
        }));
    const auto by_name =
        each_state([kinds = kinds_](const View& view, const Object& one, std::vector<Key>& wake) {
          wake_on(view, kinds, one.key(), wake);
        });
    spec.watches(kinds_.testbed, by_name).watches(kinds_.ledger, by_name);
    spec.reads(kube::kNode).reads(kube::kPod);
    spec.index(kube::kPod, kByTestbed, &testbed_of_pod)
        .index(kinds_.scheduling, kByTestbed, &testbed_of_scheduling)
        .index(kinds_.scheduling, kByJob, &jobs_of_scheduling)
        .index(kinds_.batch_job, kByOrder, &order_of_job)
        .index(kinds_.batch_job, kByClaim, &claim_of_job);
    spec.patches(kinds_.scheduling).patches_status(kinds_.scheduling).erases(kinds_.scheduling);
    spec.patches(kinds_.batch_job).tells();
    return spec;
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* scheduling = view.get(kinds_.scheduling, key);
    if (scheduling == nullptr) return Plan::done();
    return Run(view, kinds_, *scheduling, now).plan();
  }

 private:
  static void wake_on(const View& view, const SlotKinds& kinds, const Key& testbed,
                      std::vector<Key>& wake) {
    for (const Object* one : view.by_index(kinds.scheduling, kByTestbed, testbed.text()))
      wake.push_back(one->key());
  }
  std::string name_;
  const SlotKinds& kinds_;
};

}  // namespace

std::unique_ptr<Controller> make_scheduling() {
  return std::make_unique<Scheduling>("scheduling-controller", kube::thesis_kinds());
}
std::unique_ptr<Controller> make_scheduling_alias() {
  return std::make_unique<Scheduling>("scheduling-alias-controller", kube::alias_kinds());
}

}  // namespace berth::controllers
