// SPDX-License-Identifier: Apache-2.0
// Rolls a Deployment's pods from one template to the next by growing and shrinking ReplicaSets.
#include <algorithm>

#include <fmt/format.h>

#include "controllers/deployment/progress.h"
#include "controllers/deployment/revisions.h"
#include "controllers/deployment/sets.h"
#include "controllers/ownership.h"
#include "controllers/pod_template.h"
#include "controllers/pods.h"
#include "json/writer.h"
#include "kube/label_selector.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::kDeployment;
using kube::kPod;
using kube::kReplicaSet;
using kube::LabelSelector;

constexpr const char* kHash = "pod-template-hash";
constexpr std::size_t kLongestName = 253;

// One run for one Deployment. What kube-controller-manager does in one go, with objects it has just
// written in hand, are several runs here: each ends with a few writes, and the next sees them.
class Run {
 public:
  Run(const View& view, const Object& deployment, LabelSelector selector, WallTime now)
      : view_(view),
        deployment_(deployment),
        spec_(deployment.member("spec")),
        selector_(std::move(selector)),
        rollout_(deployment),
        progress_(deployment, rollout_, now) {}

  Plan plan() {
    const Claimed claimed = claim(view_, plan_, deployment_, selector_, kReplicaSet);
    if (claimed.unsettled) return std::move(plan_);
    for (const Object* set : claimed.objects) sets_.push_back(read_set(*set));
    std::sort(sets_.begin(), sets_.end(), older);
    find_fresh();

    if (deployment_.deleting()) {
      if (settle_fresh(false)) count();
      return std::move(plan_);
    }
    progress_.paused_or_resumed(paused());
    if (paused())
      scale();
    else if (const auto revision = rollback_to())
      roll_back(*revision);
    else if (scaled_by_user())
      scale();
    else if (rollout_.rolling)
      roll();
    else
      recreate();
    return std::move(plan_);
  }

 private:
  bool paused() const { return spec_["paused"].boolean(); }

  // The oldest set with the Deployment's template is the new one, all others are old.
  void find_fresh() {
    for (std::size_t i = 0; i < sets_.size() && fresh_ == nullptr; ++i)
      if (same_template(sets_[i].object->member("spec")["template"], spec_["template"], kHash))
        fresh_ = &sets_[i];
  }
  std::vector<Set*> old() {
    std::vector<Set*> found;
    for (Set& set : sets_)
      if (&set != fresh_) found.push_back(&set);
    return found;
  }
  static std::vector<Set*> active(std::vector<Set*> sets) {
    std::erase_if(sets, [](const Set* set) { return set->size == 0; });
    return sets;
  }
  std::vector<Set*> everything() {
    std::vector<Set*> found;
    for (Set& set : sets_) found.push_back(&set);
    return found;
  }
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const Set& set : sets_) sum += set.size;
    return sum;
  }
  std::int64_t next_revision() {
    std::int64_t highest = 0;
    for (const Set* set : old())
      if (set->good_revision) highest = std::max(highest, set->revision);
    return highest + 1;
  }

  // Brings the new set's annotations and the Deployment's revision up to date, and makes the set
  // where there is none and one is wanted. False: it has written, the rest waits for the next run.
  bool settle_fresh(bool make) {
    if (fresh_ == nullptr) {
      if (make) create_fresh();
      return !make;
    }
    const Object& set = *fresh_->object;
    const Annotations has = annotations_of(set);
    const Annotations wanted =
        new_set_annotations(deployment_, has, true, next_revision(), rollout_);
    const std::string change = annotations_patch(has, wanted);
    const std::int64_t min_ready = spec_["minReadySeconds"].integer().value_or(0);
    const bool other_wait =
        set.member("spec")["minReadySeconds"].integer().value_or(0) != min_ready;
    if (!change.empty() || other_wait) {
      json::Writer w;
      w.object();
      if (!change.empty()) w.member("metadata").object().member("annotations").raw(change).end();
      if (other_wait) w.member("spec").object().member("minReadySeconds").integer(min_ready).end();
      w.end();
      plan_.patch(set, w.take());
      return false;
    }
    const std::string revision = set.annotation(annotation::kRevision);
    if (deployment_.annotation(annotation::kRevision) != revision) {
      // k8s 1.36: by way of the status, where an annotation does not count as a new generation.
      plan_.patch_status(deployment_, fmt::format(R"({{"metadata":{{"annotations":{{"{}":{}}}}}}})",
                                                  annotation::kRevision, json::quoted(revision)));
      return false;
    }
    if (progress_.has_deadline() && progress_.progressing() == nullptr)
      progress_.say("Progressing", "True", "FoundNewReplicaSet",
                    fmt::format("Found new replica set \"{}\"", set.name()));
    return true;
  }

  void create_fresh() {
    const std::string hash = template_hash(
        spec_["template"], deployment_.status()["collisionCount"].integer().value_or(0));
    std::string name(deployment_.name().substr(0, kLongestName - 1 - hash.size()));
    name += "-" + hash;
    const Key key{std::string(deployment_.ns()), name};
    if (view_.get(kReplicaSet, key) != nullptr) {  // it would have been found if it were ours
      progress_.collided();
      return count();
    }
    if (const FailedAction* failed = view_.failed(); failed != nullptr && is_create(*failed)) {
      const std::string note =
          fmt::format("Failed to create new replica set \"{}\": {}", name, failed->error.message);
      if (progress_.has_deadline())
        progress_.say("Progressing", "False", "ReplicaSetCreateError", note);
      plan_.event(deployment_,
                  {client::EventType::kWarning, "ReplicaSetCreateError", "Create", note});
      count();
    }
    const std::int64_t size = new_set_size(rollout_, total(), 0);
    plan_.create(kReplicaSet, key, set_json(key, hash, size));
    if (size > 0) tell_scaled(name, 0, size);
    if (progress_.has_deadline())
      progress_.say("Progressing", "True", "NewReplicaSetCreated",
                    fmt::format("Created new replica set \"{}\"", name));
    if (view_.failed() == nullptr) count();
  }
  static bool is_create(const FailedAction& failed) {
    return std::holds_alternative<CreateAction>(failed.action) &&
           failed.error.reason != Reason::kAlreadyExists;
  }

  std::string set_json(const Key& key, const std::string& hash, std::int64_t size) {
    const std::string pod_template = with_label(spec_["template"], kHash, hash);
    const json::Slice labelled{std::string_view(pod_template)};
    json::Writer w;
    w.object().member("apiVersion").string("apps/v1").member("kind").string("ReplicaSet");
    w.member("metadata")
        .object()
        .member("name")
        .string(key.name)
        .member("namespace")
        .string(key.ns);
    w.member("labels").raw(labelled["metadata"]["labels"].raw());
    w.member("annotations")
        .raw(annotations_json(
            new_set_annotations(deployment_, {}, false, next_revision(), rollout_)));
    w.member("ownerReferences").array().raw(controller_ref(deployment_)).end().end();
    w.member("spec").object().member("replicas").integer(size);
    if (const auto wait = spec_["minReadySeconds"].integer().value_or(0); wait != 0)
      w.member("minReadySeconds").integer(wait);
    w.member("selector").object().member("matchLabels").object();
    for (auto at = spec_["selector"]["matchLabels"].members().begin(); at != nullptr; ++at)
      w.member((*at).key).raw((*at).value.raw());
    w.member(kHash).string(hash).end();
    if (spec_["selector"]["matchExpressions"].size() > 0)
      w.member("matchExpressions").raw(spec_["selector"]["matchExpressions"].raw());
    w.end();
    w.member("template").raw(pod_template).end().end();
    return w.take();
  }

  void tell_scaled(std::string_view name, std::int64_t from, std::int64_t to) {
    plan_.event(deployment_, {client::EventType::kNormal, "ScalingReplicaSet", "Scale",
                              fmt::format("Scaled {} replica set {} from {} to {}",
                                          from < to ? "up" : "down", name, from, to)});
  }

  // Writes the sizes that were decided. True: there was something to write.
  bool write_sizes() {
    bool scaled = false;
    for (const Set& set : sets_) {
      const Annotations has = annotations_of(*set.object);
      Annotations wanted = has;
      wanted[annotation::kDesired] = std::to_string(rollout_.replicas);
      wanted[annotation::kMost] = std::to_string(rollout_.most());
      const std::string change = annotations_patch(has, wanted);
      if (set.wanted == set.size && (!set.forced || change.empty())) continue;
      plan_.patch(*set.object,
                  fmt::format(R"({{"metadata":{{"annotations":{}}},"spec":{{"replicas":{}}}}})",
                              change.empty() ? "{}" : change, set.wanted));
      if (set.wanted == set.size) continue;
      tell_scaled(set.name(), set.size, set.wanted);
      scaled = true;
    }
    return scaled;
  }

  void count() { plan_.set_status(deployment_, progress_.counted(sets_, fresh_)); }
  void rolled() {
    plan_.set_status(deployment_, progress_.rolled(sets_, fresh_));
    if (progress_.due()) plan_.again_at(*progress_.due());
  }

  bool scaled_by_user() {
    for (const Set* set : active(everything())) {
      const auto desired = count_annotation(*set->object, annotation::kDesired);
      if (desired && *desired != rollout_.replicas) return true;
    }
    return false;
  }

  void scale() {
    if (!settle_fresh(false)) return;
    const std::vector<Set*> live = active(everything());
    if (live.size() <= 1) {
      // The only active one, or the newest, takes it all.
      Set* one = live.size() == 1 ? live[0] : fresh_ != nullptr ? fresh_ : newest_old();
      if (one != nullptr) one->wanted = rollout_.replicas;
    } else if (saturated()) {
      for (Set* set : active(old())) set->wanted = 0;
    } else if (rollout_.rolling) {
      scale_proportionally(rollout_, live, deployment_.status()["replicas"].integer().value_or(0));
    }
    write_sizes();
    if (paused() && !rollback_to()) clean_up();
    count();
  }
  Set* newest_old() {
    const std::vector<Set*> all = old();
    return all.empty() ? nullptr : all.back();
  }
  bool saturated() const {
    return fresh_ != nullptr && fresh_->size == rollout_.replicas &&
           fresh_->available == rollout_.replicas &&
           count_annotation(*fresh_->object, annotation::kDesired) == rollout_.replicas;
  }

  void roll() {
    if (!settle_fresh(true)) return;
    if (fresh_->size > rollout_.replicas)
      fresh_->wanted = rollout_.replicas;
    else if (fresh_->size < rollout_.replicas)
      fresh_->wanted = new_set_size(rollout_, total(), fresh_->size);
    if (!write_sizes()) {
      if (shrink_old(rollout_, active(old()), *fresh_, total()))
        write_sizes();
      else if (progress_.complete())
        clean_up();
    }
    rolled();
  }

  void recreate() {
    if (!settle_fresh(false)) return;
    for (Set* set : active(old())) set->wanted = 0;
    if (write_sizes() || old_pods_run()) return rolled();
    if (!settle_fresh(true)) return;
    fresh_->wanted = rollout_.replicas;
    write_sizes();
    if (progress_.complete()) clean_up();
    rolled();
  }
  bool old_pods_run() {
    for (const Set* set : old()) {
      if (set->replicas > 0) return true;
      for (const Object* pod : view_.by_index(kPod, kByController, set->object->uid()))
        if (!pod_ended(*pod)) return true;
    }
    return false;
  }

  // Keeps the last few old sets, for the way back.
  void clean_up() {
    const auto limit = spec_["revisionHistoryLimit"].integer();
    if (!limit || *limit == INT32_MAX) return;
    std::vector<Set*> candidates = old();
    std::erase_if(candidates, [](const Set* set) { return set->object->deleting(); });
    std::sort(candidates.begin(), candidates.end(),
              [](const Set* a, const Set* b) { return by_revision(*a, *b); });
    const auto most = static_cast<std::int64_t>(candidates.size()) - *limit;
    for (std::int64_t i = 0; i < most; ++i) {
      const Set& set = *candidates[static_cast<std::size_t>(i)];
      const auto observed = set.object->status()["observedGeneration"].integer().value_or(0);
      if (set.replicas != 0 || set.size != 0 || set.object->generation() > observed) continue;
      plan_.erase(*set.object, kube::Propagation::kUnset);
    }
  }

  std::optional<std::int64_t> rollback_to() const {
    const std::string text = deployment_.annotation(annotation::kRollback);
    return text.empty() ? std::nullopt : kube::parse_decimal(text);
  }

  void roll_back(std::int64_t revision) {
    if (!settle_fresh(true)) return;
    const auto warn = [&](const char* reason, std::string note) {
      plan_.event(deployment_, {client::EventType::kWarning, reason, "Rollback", std::move(note)});
    };
    if (revision == 0) revision = last_revision(sets_);
    const auto found = std::find_if(sets_.begin(), sets_.end(), [&](const Set& set) {
      return set.good_revision && set.revision == revision;
    });
    if (revision == 0 || found == sets_.end()) {
      warn("DeploymentRollbackRevisionNotFound",
           revision == 0 ? "Unable to find last revision."
                         : "Unable to find the revision to rollback to.");
      return forget_rollback();
    }
    const json::Slice then = found->object->member("spec")["template"];
    if (same_template(then, spec_["template"], kHash)) {
      warn("DeploymentRollbackTemplateUnchanged",
           fmt::format(
               "The rollback revision contains the same template as current deployment \"{}\"",
               deployment_.name()));
      return forget_rollback();
    }
    json::Writer w;
    const auto replace = [&](const char* path, const std::string& value) {
      w.object().member("op").string("replace").member("path").string(path);
      w.member("value").raw(value).end();
    };
    w.array();
    replace("/spec/template", with_label(then, kHash, std::nullopt));
    replace("/metadata/annotations",
            annotations_json(rolled_back_annotations(deployment_, *found->object)));
    w.end();
    plan_.patch(deployment_, w.take(), Pin::kRevision, kube::PatchType::kJson);
    plan_.event(deployment_, {client::EventType::kNormal, "DeploymentRollback", "Rollback",
                              fmt::format("Rolled back deployment \"{}\" to revision {}",
                                          deployment_.name(), revision)});
  }
  void forget_rollback() {
    plan_.patch(deployment_, fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})",
                                         annotation::kRollback));
  }

  const View& view_;
  const Object& deployment_;
  json::Slice spec_;
  LabelSelector selector_;
  Rollout rollout_;
  Progress progress_;
  std::vector<Set> sets_;  // ours, the oldest first
  Set* fresh_ = nullptr;   // among them
  Plan plan_;
};

// A pod that has ended or gone may be what a Recreate waits for.
void wake_for_pod(const View& view, const Change& change, std::vector<Key>& wake) {
  const bool gone = change.after == nullptr;
  const bool ended =
      !gone && pod_ended(*change.after) && (change.before == nullptr || !pod_ended(*change.before));
  if (!gone && !ended) return;
  const auto owner = (gone ? change.before : change.after)->controller();
  if (!owner || owner->kind != "ReplicaSet") return;
  const Object* set = view.get(
      kReplicaSet, {std::string((gone ? change.before : change.after)->ns()), owner->name});
  if (set == nullptr || !set->controller() || set->controller()->kind != "Deployment") return;
  wake.push_back({std::string(set->ns()), set->controller()->name});
}

class Deployment final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("deployment-controller");
    spec.reconciles(kDeployment).watches(kReplicaSet, owner_or_selector(kDeployment));
    spec.watches(kPod, &wake_for_pod);
    index_owned(spec, kReplicaSet).index_by_controller(kPod);
    spec.creates(kReplicaSet).patches(kReplicaSet).erases(kReplicaSet);
    spec.patches(kDeployment).patches_status(kDeployment).tells();
    return spec;
  }
  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* deployment = view.get(kDeployment, key);
    if (deployment == nullptr) return Plan::done();
    return with_selector(*deployment, [&](LabelSelector selector) {
      if (selector.everything()) return refuse(*deployment);
      return Run(view, *deployment, std::move(selector), now).plan();
    });
  }

 private:
  static Plan refuse(const Object& deployment) {
    Plan plan;
    StatusDraft status(deployment.status());
    if (status["observedGeneration"].integer().value_or(0) >= deployment.generation()) return plan;
    plan.event(deployment,
               {client::EventType::kWarning, "SelectingAll", "Select",
                "This deployment is selecting all pods. A non-empty selector is required."});
    return plan.set_status(deployment,
                           status.number("observedGeneration", deployment.generation()).json());
  }
};

}  // namespace

std::unique_ptr<Controller> make_deployment() { return std::make_unique<Deployment>(); }

}  // namespace berth::controllers
