// SPDX-License-Identifier: Apache-2.0
// Keeps the members of a StatefulSet: made in order and removed in reverse order, each with its own
// name and its own claims, and rolled to a new template from the last to the first.
#include <algorithm>

#include <fmt/format.h>

#include "controllers/history.h"
#include "controllers/ownership.h"
#include "controllers/pod_failures.h"
#include "controllers/pods.h"
#include "controllers/stateful_set/claim_owners.h"
#include "controllers/stateful_set/members.h"
#include "controllers/status.h"
#include "kube/int_or_string.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using client::EventType;
using kube::kControllerRevision;
using kube::kPersistentVolumeClaim;
using kube::kPod;
using kube::kStatefulSet;
using kube::LabelSelector;

// What follows from looking at one member.
enum class Step { kGoOn, kStop };

// One run for one StatefulSet.
class Run {
 public:
  Run(const View& view, const Object& set, LabelSelector selector, WallTime now)
      : view_(view),
        set_(set),
        spec_(set),
        selector_(std::move(selector)),
        now_(now),
        min_ready_(std::chrono::seconds(spec_.min_ready_seconds)) {}

  Plan plan() {
    const auto chooses = [this](const Object& pod) {
      return selector_.matches(pod.labels()) && parent_and_ordinal(pod.name()).first == spec_.name;
    };
    Claimed history = claim(view_, plan_, set_, selector_, kControllerRevision);
    if (history.unsettled) return std::move(plan_);
    const Claimed members = claim(view_, plan_, set_, chooses, kPod);
    if (members.unsettled) return std::move(plan_);
    revisions_ = std::move(history.objects);
    sort_revisions(revisions_);
    if (!find_revisions()) return std::move(plan_);
    sort_members(members.objects);

    const bool failed = tell_failure();
    if (!set_.deleting()) manage();
    // What is known is written before that is tried again which failed.
    if (failed) write_status();
    for (Action& action : writes_.actions()) plan_.add(std::move(action));
    if (!failed) write_status();
    truncate_history(members.objects);
    for (const Object* pod : members.objects)
      if (const auto when = available_at(*pod, min_ready_, now_)) plan_.again_at(*when);
    return std::move(plan_);
  }

 private:
  // False: something was written, and the rest waits for it.
  bool find_revisions() {
    const std::int64_t collisions = set_.status()["collisionCount"].integer().value_or(0);
    const Present present = present_revision(view_, plan_, set_, revisions_, collisions);
    if (present.collided)
      plan_.patch_status(set_,
                         fmt::format(R"({{"status":{{"collisionCount":{}}}}})", collisions + 1));
    if (present.revision == nullptr) return false;
    update_ = current_ = present.revision;
    for (const Object* one : revisions_)
      if (set_.status()["currentRevision"].equals(one->name())) current_ = one;
    return true;
  }

  void sort_members(const std::vector<const Object*>& pods) {
    members_.resize(static_cast<std::size_t>(spec_.replicas), nullptr);
    for (const Object* pod : pods) {
      const std::int64_t ordinal = ordinal_of(*pod);
      if (spec_.in_range(ordinal))
        members_[static_cast<std::size_t>(ordinal - spec_.start)] = pod;
      else if (ordinal >= 0)
        condemned_.push_back(pod);
    }
    std::sort(condemned_.begin(), condemned_.end(),
              [](const Object* a, const Object* b) { return ordinal_of(*a) > ordinal_of(*b); });
  }

  bool available(const Object& pod) const { return pod_available(pod, min_ready_, now_); }
  bool unavailable(const Object* pod) const {
    return pod == nullptr || !available(*pod) || pod->deleting();
  }
  static bool running_and_ready(const Object& pod) {
    return pod.status()["phase"].equals("Running") && pod_ready(pod);
  }

  void manage() {
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (keep(i) == Step::kStop && !spec_.parallel) return;
    if (failed_) return;
    for (const Object* pod : condemned_) own_claims(member(*pod));
    // From here on all members are available, unless the set is parallel.
    const Object* weakest = first_unavailable();
    for (const Object* pod : condemned_)
      if (condemn(*pod, weakest) == Step::kStop && !spec_.parallel) return;
    if (!spec_.on_delete) roll();
  }

  static Member member(const Object& pod) {
    return {std::string(pod.name()), std::string(pod.uid()), ordinal_of(pod)};
  }

  Step keep(std::size_t i) {
    const Object* pod = members_[i];
    if (pod == nullptr) return create(spec_.start + static_cast<std::int64_t>(i));
    if (pod_ended(*pod)) {
      // Whatever its exit code: a member runs. The next one is made when this one is gone.
      if (!pod->deleting()) erase(*pod);
      return Step::kStop;
    }
    const bool pending = pod->status()["phase"].equals("Pending");
    if (pending) {
      if (!create_claims(member(*pod))) return fail();
      own_claims(member(*pod));
    }
    if (!spec_.parallel && (pod->deleting() || !running_and_ready(*pod) || !available(*pod)))
      return Step::kStop;
    const bool stored = storage_matches(spec_, *pod);
    const bool good = identity_matches(spec_, *pod) && stored;
    if (!stored && !pending && !create_claims(member(*pod))) return fail();
    const bool owned = !pending && own_claims(member(*pod));
    if (good && !owned) return Step::kGoOn;
    if (!good) writes_.patch(*pod, member_patch(spec_, *pod));
    tell("Update", pod->name());
    return Step::kGoOn;
  }
  Step fail() {
    failed_ = true;
    return Step::kStop;
  }

  Step create(std::int64_t ordinal) {
    const Member made{spec_.pod_name(ordinal), "", ordinal};
    if (spec_.deletes_on_scale)
      for (const json::Slice one : spec_.claim_templates.elements())
        if (const Object* there = claim_of(one, ordinal); there && claim_is_stale(*there, made))
          return Step::kStop;
    if (namespace_ends(view_)) return Step::kStop;
    if (!create_claims(made)) return fail();
    const bool current = is_current(ordinal);
    const std::string kept = revision_template(current ? *current_ : *update_);
    writes_.create(kPod, {std::string(set_.ns()), made.name},
                   member_json(set_, spec_, json::Slice(std::string_view(kept)),
                               (current ? *current_ : *update_).name(), ordinal));
    own_claims(made);
    tell("Create", made.name);
    return Step::kStop;
  }

  // Is a new pod of this ordinal to be of the revision before the update?
  bool is_current(std::int64_t ordinal) const {
    if (spec_.rolling_given) return ordinal < spec_.start + spec_.partition;
    return !spec_.on_delete &&
           ordinal < spec_.start + set_.status()["currentReplicas"].integer().value_or(0);
  }

  const Object* claim_of(json::Slice claim_template, std::int64_t ordinal) const {
    return view_.get(kPersistentVolumeClaim,
                     {std::string(set_.ns()),
                      spec_.claim_name(claim_template["metadata"]["name"].text(), ordinal)});
  }

  bool create_claims(const Member& pod) {
    std::string wrong;
    for (const json::Slice one : spec_.claim_templates.elements()) {
      const std::string name = spec_.claim_name(one["metadata"]["name"].text(), pod.ordinal);
      if (const Object* there = claim_of(one, pod.ordinal)) {
        if (there->deleting())
          wrong += fmt::format("{}pvc {} is being deleted", wrong.empty() ? "" : ", ", name);
        continue;
      }
      writes_.create(kPersistentVolumeClaim, {std::string(set_.ns()), name},
                     claim_json(set_, spec_, one, pod.ordinal));
      writes_.event(set_, {EventType::kNormal, "SuccessfulCreate", "Create",
                           fmt::format("Create Claim {} Pod {} in StatefulSet {} success", name,
                                       pod.name, set_.name())});
    }
    if (wrong.empty()) return true;
    plan_.event(
        set_, {EventType::kWarning, "FailedCreate", "Create", failure("Create", pod.name, wrong)});
    return false;
  }

  // True: some were not owned as they should be, and will be.
  bool own_claims(const Member& pod) {
    bool changed = false;
    for (const json::Slice one : spec_.claim_templates.elements()) {
      const Object* there = claim_of(one, pod.ordinal);
      if (there == nullptr) continue;  // it is made now; later
      const auto patch = claim_owners_patch(*there, set_, spec_, pod);
      if (!patch) continue;
      if (claim_has_stranger(*there, set_, spec_, pod))
        writes_.event(set_,
                      {EventType::kWarning, "ConflictingController", "Update",
                       fmt::format("PersistentVolumeClaim {} has a conflicting OwnerReference that "
                                   "acts as a manging controller, the retention policy is ignored "
                                   "for this claim",
                                   there->name())});
      writes_.patch(*there, *patch);
      changed = true;
    }
    return changed;
  }

  const Object* first_unavailable() const {
    for (const Object* pod : members_)
      if (unavailable(pod)) return pod;
    for (auto at = condemned_.rbegin(); at != condemned_.rend(); ++at)
      if (unavailable(*at)) return *at;
    return nullptr;
  }

  Step condemn(const Object& pod, const Object* weakest) {
    if (pod.deleting()) return Step::kStop;
    if (!spec_.parallel && &pod != weakest && (!running_and_ready(pod) || !available(pod)))
      return Step::kStop;
    erase(pod);
    return Step::kStop;
  }

  // Members of another revision go, the last first; how many at a time is the strategy's business.
  void roll() {
    const json::Slice given = spec_.spec["updateStrategy"]["rollingUpdate"]["maxUnavailable"];
    if (given.present() && !given.is_null()) return roll_several(given);
    for (std::size_t i = members_.size(); i-- > static_cast<std::size_t>(spec_.partition);) {
      const Object* pod = members_[i];
      if (pod != nullptr && outdated(*pod)) return take(*pod);
      if (unavailable(pod)) return;
    }
  }
  void roll_several(json::Slice given) {
    const auto limit = kube::IntOrString::from_json(given);
    const auto most = limit ? limit->scaled(spec_.replicas, false) : Result<std::int64_t>(1);
    std::int64_t left = std::max<std::int64_t>(most.value_or(1), 1);
    for (const Object* pod : members_) left -= unavailable(pod) ? 1 : 0;
    for (std::size_t i = members_.size();
         i-- > static_cast<std::size_t>(spec_.partition) && left > 0;) {
      const Object* pod = members_[i];
      if (pod == nullptr || !outdated(*pod)) continue;
      take(*pod);
      --left;
    }
  }
  bool outdated(const Object& pod) const {
    return pod.label(kRevisionLabel) != update_->name() && !pod.deleting();
  }
  void take(const Object& pod) {
    erase(pod);
    --taken_;
  }

  void erase(const Object& pod) {
    writes_.erase(pod, kube::Propagation::kUnset, Pin::kUid);
    tell("Delete", pod.name());
  }
  void tell(const std::string& verb, std::string_view pod) {
    writes_.event(set_,
                  {EventType::kNormal, "Successful" + verb, verb,
                   fmt::format("{} Pod {} in StatefulSet {} successful", verb, pod, set_.name())});
  }
  std::string failure(std::string_view verb, std::string_view pod, std::string_view why) const {
    return fmt::format("{} Pod {} in StatefulSet {} failed error: {}", verb, pod, set_.name(), why);
  }

  bool tell_failure() {
    const FailedAction* failed = view_.failed();
    if (failed == nullptr || failed->error.reason == Reason::kAlreadyExists ||
        failed->error.reason == Reason::kConflict || namespace_ends(view_))
      return false;
    const Target* target = target_of(failed->action);
    if (target == nullptr || (target->kind != kPod && target->kind != kPersistentVolumeClaim))
      return false;
    const std::string verb = std::holds_alternative<CreateAction>(failed->action)  ? "Create"
                             : std::holds_alternative<EraseAction>(failed->action) ? "Delete"
                                                                                   : "Update";
    std::string pod = target->key.name, why = failed->error.message;
    if (target->kind == kPersistentVolumeClaim) {
      pod = spec_.pod_name(parent_and_ordinal(pod).second);
      if (verb == "Create") {
        plan_.event(set_,
                    {EventType::kWarning, "FailedCreate", verb,
                     fmt::format("Create Claim {} for Pod {} in StatefulSet {} failed error: {}",
                                 target->key.name, pod, set_.name(), why)});
        why = fmt::format("failed to create PVC {}: {}", target->key.name, why);
      } else {
        why = fmt::format("could not update claim {} for delete policy ownerRefs: {}",
                          target->key.name, why);
      }
    }
    plan_.event(set_, {EventType::kWarning, "Failed" + verb, verb, failure(verb, pod, why)});
    return true;
  }

  void write_status() {
    std::int64_t all = 0, ready = 0, ready_long = 0, current = taken_, updated = 0;
    const auto count = [&](const Object* pod) {
      if (pod == nullptr) return;
      ++all;
      if (running_and_ready(*pod)) {
        ++ready;
        ready_long += available(*pod) ? 1 : 0;
      }
      if (pod->deleting()) return;
      const std::string revision = pod->label(kRevisionLabel);
      current += revision == current_->name() ? 1 : 0;
      updated += revision == update_->name() ? 1 : 0;
    };
    for (const Object* pod : members_) count(pod);
    for (const Object* pod : condemned_) count(pod);
    std::string_view current_name = current_->name();
    if (!spec_.on_delete && updated == spec_.replicas && ready == spec_.replicas &&
        all == spec_.replicas) {
      current = updated;
      current_name = update_->name();
    }
    StatusDraft status(set_.status());
    status.count("observedGeneration", set_.generation());
    status.number("replicas", all).count("readyReplicas", ready);
    status.number("availableReplicas", ready_long);
    status.count("currentReplicas", std::max<std::int64_t>(current, 0))
        .count("updatedReplicas", updated);
    status.text("currentRevision", current_name).text("updateRevision", update_->name());
    status.number("collisionCount", status["collisionCount"].integer().value_or(0));
    plan_.set_status(set_, status.json());
  }

  // Keeps the last few revisions that nobody uses, for the way back.
  void truncate_history(const std::vector<const Object*>& pods) {
    std::vector<const Object*> unused;
    for (const Object* one : revisions_) {
      const bool live = one == current_ || one == update_ ||
                        std::any_of(pods.begin(), pods.end(), [&](const Object* pod) {
                          return pod->label(kRevisionLabel) == one->name();
                        });
      if (!live) unused.push_back(one);
    }
    const auto most = static_cast<std::int64_t>(unused.size()) - spec_.history_limit;
    if (spec_.history_limit < 0) return;
    for (std::int64_t i = 0; i < most; ++i)
      plan_.erase(*unused[static_cast<std::size_t>(i)], kube::Propagation::kUnset);
  }

  const View& view_;
  const Object& set_;
  SetSpec spec_;
  LabelSelector selector_;
  WallTime now_;
  Duration min_ready_;
  std::vector<const Object*> revisions_;  // ours, the newest last
  const Object *current_ = nullptr, *update_ = nullptr;
  std::vector<const Object*> members_;    // by ordinal; null: to be made
  std::vector<const Object*> condemned_;  // the last first
  bool failed_ = false;                   // something stands in the way
  std::int64_t taken_ = 0;                // minus the members taken for the update
  Plan plan_, writes_;
};

// A member may wait for an old claim to go.
void wake_for_claim(const View& view, const Change& change, std::vector<Key>& wake) {
  if (change.after != nullptr) return;
  const Object& claim = *change.before;
  for (const Object* set : view.list(kStatefulSet, claim.ns()))
    for (const json::Slice one : set->member("spec")["volumeClaimTemplates"].elements())
      if (parent_and_ordinal(claim.name()).first ==
          fmt::format("{}-{}", one["metadata"]["name"].text(), set->name()))
        wake.push_back(set->key());
}

class StatefulSet final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("statefulset-controller");
    spec.reconciles(kStatefulSet).watches(kPod, owner_or_selector(kStatefulSet));
    spec.watches(kControllerRevision, owner_or_selector(kStatefulSet));
    spec.watches(kPersistentVolumeClaim, &wake_for_claim);
    index_owned(spec, kPod);
    index_owned(spec, kControllerRevision);
    spec.creates(kPod).patches(kPod).erases(kPod);
    spec.creates(kControllerRevision).patches(kControllerRevision).erases(kControllerRevision);
    spec.creates(kPersistentVolumeClaim).patches(kPersistentVolumeClaim);
    spec.patches_status(kStatefulSet).tells();
    return spec;
  }
  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* set = view.get(kStatefulSet, key);
    if (set == nullptr) return Plan::done();
    return with_selector(*set, [&](LabelSelector selector) {
      return Run(view, *set, std::move(selector), now).plan();
    });
  }
};

}  // namespace

std::unique_ptr<Controller> make_stateful_set() { return std::make_unique<StatefulSet>(); }

}  // namespace berth::controllers
