// SPDX-License-Identifier: Apache-2.0
// Keeps as many pods as a ReplicaSet asks for, or its forerunner, a ReplicationController: they
// differ in the form of their selectors and in little else.
#include <algorithm>

#include <fmt/format.h>

#include "controllers/deletion_order.h"
#include "controllers/ownership.h"
#include "controllers/pod_failures.h"
#include "controllers/pods.h"
#include "controllers/status.h"
#include "kube/time.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::kPod;
using kube::kReplicaSet;
using kube::LabelSelector;

constexpr std::int64_t kBurst = 500;  // k8s 1.36: so many pods a run
constexpr const char* kReplicaFailure = "ReplicaFailure";

// One run for one of them.
class Run {
 public:
  Run(const View& view, const Object& set, LabelSelector selector, WallTime now)
      : view_(view),
        set_(set),
        spec_(set.member("spec")),
        selector_(std::move(selector)),
        now_(now),
        replicas_(spec_["replicas"].integer().value_or(1)),
        min_ready_(std::chrono::seconds(spec_["minReadySeconds"].integer().value_or(0))) {}

  Plan plan() {
    const Claimed claimed = claim(view_, plan_, set_, selector_, kPod, &pod_active);
    if (claimed.unsettled) return std::move(plan_);
    pods_ = claimed.objects;
    const FailedAction* failed = pod_failure(view_);
    // What went wrong is told before it is tried again.
    if (failed != nullptr) tell_pod_failure(plan_, set_, *failed);
    if (failed != nullptr) write_status(failed);
    if (!set_.deleting()) manage();
    if (failed == nullptr) write_status(nullptr);
    for (const Object* pod : pods_)
      if (const auto when = available_at(*pod, min_ready_, now_)) plan_.again_at(*when);
    return std::move(plan_);
  }

 private:
  void manage() {
    const auto have = static_cast<std::int64_t>(pods_.size());
    // In a namespace that ends, every create fails.
    if (have < replicas_ && !namespace_ends(view_)) create(std::min(replicas_ - have, kBurst));
    if (have > replicas_) remove(std::min(have - replicas_, kBurst));
  }

  void create(std::int64_t count) {
    const std::string owner = controller_ref(set_);
    for (const std::string& name :
         new_pod_names(set_, static_cast<std::size_t>(count), view_.list(kPod, set_.ns()))) {
      const Key key{std::string(set_.ns()), name};
      plan_.create(kPod, key, pod_json({key, spec_["template"], owner}));
      plan_.event(set_, {.reason = "SuccessfulCreate",
                         .action = "Create",
                         .note = fmt::format("Created pod: {}", name)});
    }
  }

  void remove(std::int64_t count) {
    std::vector<const Object*> pods = pods_;
    if (count < static_cast<std::int64_t>(pods.size())) order_for_deletion(pods, related(), now_);
    pods.resize(static_cast<std::size_t>(count));
    for (const Object* pod : pods) {
      plan_.erase(*pod, kube::Propagation::kUnset, Pin::kUid);
      plan_.event(set_, {.reason = "SuccessfulDelete",
                         .action = "Delete",
                         .note = fmt::format("Deleted pod: {}", pod->name())});
    }
  }

  // Pods of every one with the same owner.
  std::vector<const Object*> related() const {
    const auto owner = set_.controller();
    std::vector<const Object*> sets = {&set_};
    if (owner) sets = view_.by_index(set_.kind(), kByController, owner->uid);
    std::vector<const Object*> found;
    for (const Object* pod : view_.list(kPod, set_.ns()))
      for (const Object* set : sets) {
        const auto selector = selector_of(*set);
        if (!selector || !selector->matches(pod->labels())) continue;
        found.push_back(pod);
        break;
      }
    return found;
  }

  void write_status(const FailedAction* failed) {
    const LabelSelector fully = LabelSelector::from_labels(spec_["template"]["metadata"]["labels"]);
    std::int64_t labelled = 0, ready = 0, available = 0, terminating = 0;
    for (const Object* pod : pods_) {
      labelled += fully.matches(pod->labels()) ? 1 : 0;
      if (!pod_ready(*pod)) continue;
      ++ready;
      available += min_ready_ <= Duration{} || pod_available(*pod, min_ready_, now_) ? 1 : 0;
    }
    for (const Object* pod : view_.by_index(kPod, kByController, set_.uid()))
      if (pod_terminating(*pod) && selector_.matches(pod->labels())) ++terminating;

    StatusDraft status(set_.status());
    Conditions conditions(status["conditions"]);
    if (failed == nullptr)
      conditions.remove(kReplicaFailure);
    else if (conditions.find(kReplicaFailure) == nullptr)
      conditions.put({.type = kReplicaFailure,
                      .status = "True",
                      .reason = creates_pod(*failed) ? "FailedCreate" : "FailedDelete",
                      .message = failed->error.message,
                      .last_transition = kube::time_text(now_)});
    status.number("replicas", static_cast<std::int64_t>(pods_.size()));
    status.count("fullyLabeledReplicas", labelled);
    status.count("readyReplicas", ready);
    status.count("availableReplicas", available);
    if (set_.kind() == kReplicaSet) status.number("terminatingReplicas", terminating);
    status.count("observedGeneration", set_.generation());
    status.raw("conditions", conditions.json());
    plan_.set_status(set_, status.json());
  }

  const View& view_;
  const Object& set_;
  json::Slice spec_;
  LabelSelector selector_;
  WallTime now_;
  std::int64_t replicas_;
  Duration min_ready_;
  std::vector<const Object*> pods_;  // active and ours
  Plan plan_;
};

class Replicas final : public Controller {
 public:
  Replicas(kube::KindId kind, const char* name) : kind_(kind), name_(name) {}
  Spec spec() const override {
    Spec spec(name_);
    spec.reconciles(kind_).watches(kPod, owner_or_selector(kind_));
    index_owned(spec, kPod).index_by_controller(kind_);
    spec.creates(kPod).erases(kPod).patches(kPod).patches_status(kind_).tells();
    return spec;
  }
  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* set = view.get(kind_, key);
    if (set == nullptr) return Plan::done();
    return with_selector(*set, [&](LabelSelector selector) {
      return Run(view, *set, std::move(selector), now).plan();
    });
  }

 private:
  kube::KindId kind_;
  const char* name_;
};

}  // namespace

std::unique_ptr<Controller> make_replicaset() {
  return std::make_unique<Replicas>(kReplicaSet, "replicaset-controller");
}
std::unique_ptr<Controller> make_replication_controller() {
  return std::make_unique<Replicas>(kube::kReplicationController,
                                    "replicationcontroller-controller");
}

}  // namespace berth::controllers
