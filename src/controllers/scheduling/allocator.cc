// SPDX-License-Identifier: Apache-2.0
// The only writer of SlotLedgers. Looks at all Schedulings of a Testbed together and writes, in one
// conditional patch, what is released and what is granted: a grant appears with all of its slots or
// not at all.
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "controllers/scheduling/claims.h"
#include "controllers/scheduling/progress.h"
#include "controllers/slot_sight.h"
#include "json/writer.h"
#include "kube/ours/reasons.h"
#include "kube/time.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::BatchJobView;
using kube::SchedulingView;
using kube::SlotKinds;
using slots::Grant;
using slots::Ledger;

constexpr Duration kWriteEvery = 200ms;  // a large ledger is read by many

// One run for one Testbed.
class Allocation {
 public:
  Allocation(const View& view, const SlotKinds& kinds, SlotSight sight, WallTime now)
      : view_(view), kinds_(kinds), sight_(std::move(sight)), now_(now), next_(sight_.ledger) {}

  Plan plan() {
    if (sight_.ledger_object == nullptr) return create();
    if (const auto wait = last_write(); wait && now_ - *wait < kWriteEvery) {
      plan_.again_at(*wait + kWriteEvery).remember(std::string(view_.remembered()));
      return std::move(plan_);
    }
    release();
    own();
    const bool settled = sight_.idle() && next_.grants().empty();
    next_.blocks = slots::next_blocks(next_.blocks, sight_.wanted, settled);
    grant();
    const std::string patch = slots::patch_between(*sight_.ledger_object, next_);
    if (patch.empty()) {
      plan_.remember(std::string(view_.remembered()));
      return std::move(plan_);
    }
    plan_.patch(*sight_.ledger_object, patch, Pin::kRevision, kube::PatchType::kJson);
    plan_.remember(std::to_string(now_.unix_nanos));
    return std::move(plan_);
  }

 private:
  std::optional<WallTime> last_write() const {
    const std::string_view text = view_.remembered();
    std::int64_t nanos = 0;
    if (text.empty()) return std::nullopt;
    std::from_chars(text.data(), text.data() + text.size(), nanos);
    return WallTime{nanos};
  }

  // The first one; or, where it was lost, what the jobs with an open run say of it.
  Plan create() {
    const Object& testbed = sight_.testbed.object();
    next_.blocks = slots::next_blocks({}, sight_.wanted, true);
    for (const Object* object : view_.by_index(kinds_.batch_job, kByOrder, testbed.key().text())) {
      const BatchJobView job(*object);
      if (!job.open()) continue;
      const auto claim = job.claim();
      (void)next_.grant({slots::grant_id(object->uid(), job.run()), object->key(),
                         claim ? claim->scheduling : Key{}, kube::time_text(now_),
                         job.order()->slots});
    }
    json::Writer w;
    w.object().member("apiVersion").string(kube::kind_of(kinds_.ledger).api_version());
    w.member("kind").string("SlotLedger").member("metadata").object();
    w.member("name").string(testbed.name()).member("namespace").string(testbed.ns());
    w.member("finalizers").array().string(kube::kLedgerFinalizer).end();
    w.member("ownerReferences").array().raw(controller_ref(testbed)).end().end();
    w.member("spec").raw(next_.spec()).end();
    return Plan().create(kinds_.ledger, testbed.key(), w.take());
  }

  const SchedulingView* scheduling(const Key& key) const {
    for (const SchedulingView& one : sight_.schedulings)
      if (one.object().key() == key) return &one;
    return nullptr;
  }

  bool in_use(const Grant& grant) const {
    return std::any_of(sight_.pods.begin(), sight_.pods.end(),
                       [&](const slots::PodFact& pod) { return pod.grant == grant.id; });
  }
  bool releasable(const Grant& grant) const {
    if (in_use(grant)) return false;
    const std::int64_t run = slots::run_of(grant.id);
    const SchedulingView* by = scheduling(grant.scheduling);
    const bool going = by == nullptr || by->object().deleting();
    // What it has used up must be in its status before the evidence goes.
    if (!going && by->job(grant.job).last_run < run) return false;
    const Object* object = view_.get(kinds_.batch_job, grant.job);
    if (object == nullptr || slots::grant_id(object->uid(), run) != grant.id) return true;
    const BatchJobView job(*object);
    if (job.closed_run() >= run) return true;
    if (job.run() >= run) return false;  // it is open
    // It was never opened: nobody will, once neither claim nor order is there.
    const auto claim = job.claim();
    const auto order = job.order();
    const bool ordered = order && (order->run == run || order->run == 0);
    if (grant.scheduling.name.empty()) return !ordered || !claim;
    return !claim || claim->scheduling != grant.scheduling;
  }

  void release() {
    for (const auto& [id, grant] : sight_.ledger.grants()) {
      if (releasable(grant))
        next_.release(id);
      else
        shrink(grant);
    }
  }
  // Slots that neither the order nor the spec has any more, once nobody is there.
  void shrink(const Grant& grant) {
    const auto run = sight_.runs.find(grant.id);
    if (run == sight_.runs.end() || !run->second.ordered || run->second.closing) return;
    std::set<slots::SlotNumber> wanted = *run->second.ordered;
    if (const SchedulingView* by = scheduling(grant.scheduling)) {
      // Between two attempts slots are exchanged: what is not ordered may be about to be.
      const auto job = sight_.jobs.find(grant.job);
      if (!by->slot_based() && (job == sight_.jobs.end() || job->second.retrying)) return;
      for (const SchedulingView::Placed& each : by->placed())
        if (each.job == grant.job) wanted.insert(each.slots.begin(), each.slots.end());
    }
    std::set<slots::SlotNumber> less;
    for (const slots::SlotNumber slot : grant.slots)
      if (wanted.count(slot) == 0 && !busy(slot, run->second)) less.insert(slot);
    next_.give_back(grant.id, less);
  }
  bool busy(slots::SlotNumber slot, const slots::RunFact& run) const {
    for (const kube::Pin& pin : run.pins)
      if (pin.slot == slot) return true;
    for (const slots::PodFact& pod : sight_.pods)
      if (!pod.ghost && pod.slot == slot) return true;
    return false;
  }

  // Who has a Testbed that is not shared.
  void own() {
    if (next_.owner) {
      const bool there = std::any_of(
          sight_.schedulings.begin(), sight_.schedulings.end(), [&](const SchedulingView& one) {
            return one.object().uid() == next_.owner->uid && !gives_up(one);
          });
      if (!there || sight_.testbed.shared()) next_.owner.reset();
    }
    if (sight_.testbed.shared() || next_.owner) return;
    for (const SchedulingView& one : sight_.schedulings) {
      if (!is_live(one)) continue;
      const ClaimStep step = next_step(claim_facts(view_, kinds_, one, now_), one.object().uid());
      if (step.kind == ClaimStep::Kind::kTestbed)
        next_.owner = {{std::string(one.object().uid()), one.object().key()}};
      return;  // nobody overtakes the first
    }
  }
  // A deleted one keeps the Testbed until its grants are gone.
  bool gives_up(const SchedulingView& one) const {
    if (!one.object().deleting()) return false;
    return std::none_of(next_.grants().begin(), next_.grants().end(), [&](const auto& each) {
      return each.second.scheduling == one.object().key();
    });
  }

  void grant() {
    SlotSight after = sight_;
    after.ledger = next_;
    slots::SlotTable table = after.table(now_);
    // A slot is seen to be free before it is given to another: never both in one write.
    for (slots::Slot& slot : table.slots)
      if (slot.state == slots::SlotState::kFree && sight_.ledger.holder(slot.number) != nullptr)
        slot.state = slots::SlotState::kReserved;
    const slots::GrantPlan plan = next_grants(view_, kinds_, after, table, now_);
    for (const slots::Resize& change : plan.resizes)
      if (!change.more.empty()) (void)next_.extend(change.grant, change.more);
    for (Grant grant : plan.grants) {
      grant.since = kube::time_text(now_);
      Ledger with = next_;
      if (!with.grant(grant)) continue;
      if (with.spec().size() > slots::kMostLedgerBytes) {
        plan_.event(sight_.testbed.object(),
                    {client::EventType::kWarning, std::string(kube::reason::kLedgerFull), "Grant",
                     fmt::format("No slots for {}: the ledger is full", grant.job.text())});
        return;
      }
      next_ = std::move(with);
    }
  }

  const View& view_;
  const SlotKinds& kinds_;
  SlotSight sight_;
  WallTime now_;
  Ledger next_;
  Plan plan_;
};

class Allocator final : public Controller {
 public:
  Allocator(std::string name, const SlotKinds& kinds) : name_(std::move(name)), kinds_(kinds) {}

  Spec spec() const override {
    Spec spec(name_);
    spec.reconciles(kinds_.testbed);
    watch_testbed_parts(spec, kinds_);
    spec.index(kinds_.batch_job, kByClaim, &claim_of_job);
    spec.creates(kinds_.ledger).patches(kinds_.ledger).tells();
    return spec;
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* testbed = view.get(kinds_.testbed, key);
    if (testbed == nullptr || testbed->deleting()) return wind_up(view, key);
    if (const Object* ledger = view.get(kinds_.ledger, key);
        ledger != nullptr && (ledger->deleting() || !owned(*ledger, *testbed)))
      return wind_up(view, key);
    Result<SlotSight> sight = look(view, kinds_, *testbed);
    if (!sight)
      return Plan().event(*testbed, {client::EventType::kWarning, "LedgerUnreadable", "Grant",
                                     sight.error().message});
    return Allocation(view, kinds_, std::move(*sight), now).plan();
  }

 private:
  static bool owned(const Object& ledger, const Object& testbed) {
    const auto owner = ledger.controller();
    return owner && owner->uid == testbed.uid();
  }
  // The Testbed is gone. Its ledger stays until the runs in it are closed.
  Plan wind_up(const View& view, const Key& key) const {
    const Object* object = view.get(kinds_.ledger, key);
    if (object == nullptr || !object->deleting()) return Plan::done();
    const Result<Ledger> ledger = Ledger::parse(*object);
    if (ledger)
      for (const auto& [id, grant] : ledger->grants()) {
        const Object* job = view.get(kinds_.batch_job, grant.job);
        const std::int64_t run = slots::run_of(id);
        if (job == nullptr || slots::grant_id(job->uid(), run) != id) continue;
        const BatchJobView one(*job);
        if (one.run() >= run && one.closed_run() < run) return Plan::done();
      }
    if (!has_finalizer(*object, kube::kLedgerFinalizer)) return Plan::done();
    return Plan().patch(*object, finalizer_patch(*object, kube::kLedgerFinalizer, false));
  }

  std::string name_;
  const SlotKinds& kinds_;
};

}  // namespace

std::unique_ptr<Controller> make_allocator() {
  return std::make_unique<Allocator>("slot-allocator-controller", kube::thesis_kinds());
}
std::unique_ptr<Controller> make_allocator_alias() {
  return std::make_unique<Allocator>("slot-allocator-alias-controller", kube::alias_kinds());
}

}  // namespace berth::controllers
