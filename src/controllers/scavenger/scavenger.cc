// SPDX-License-Identifier: Apache-2.0
// Carries out the attempts of ScavengerJobs: Job, start, cost, notice, end. Which of them start is
// the queue's to say.
#include "controllers/nodes.h"
#include "controllers/pods.h"
#include "controllers/registry.h"
#include "controllers/scavenger/job_builder.h"
#include "controllers/scavenger/mpi_builder.h"
#include "controllers/scavenger/reclaim.h"
#include "controllers/scavenger/scavenger_run.h"
#include "controllers/scavenger/sight.h"
#include "controllers/scavenger/snapshots.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language

constexpr Duration kBatch = 100ms;  // members that end together are looked at together
constexpr Duration kCollectorPatience = 5s;
// A pod whose ScavengerJob is gone must not be kept by its finalizer, nor run on where no quota
// counts it. Such pods have keys of their own; no object has a name like that.
constexpr std::string_view kPodKey = "pod:";
// ScavengerJobs, by the pod that needs their room.
constexpr std::string_view kByPreemptor = "preemptor";

std::vector<std::string> scavenger_of_pod(const Object& pod) {
  std::string uid = pod.label(kube::kScavengerLabel);
  return uid.empty() ? std::vector<std::string>() : std::vector<std::string>{std::move(uid)};
}
std::vector<std::string> preemptor_of(const Object& job) {
  const auto asked = reclaim_of(job);
  if (!asked || asked->pod.name.empty()) return {};
  return {asked->pod.text()};
}

// The name of the ScavengerJob of this kind that a pod is of; "" where it is of none.
std::string job_of_pod(const Object& pod, KindId kind) {
  const std::string reference = pod.annotation(kScavengerJobAnnotation);
  const std::string prefix = scavenger_job_reference(kind, "");
  return reference.starts_with(prefix) ? reference.substr(prefix.size()) : std::string();
}

// The ScavengerJob that a pod says to be of; null where it is of none any more.
const Object* owner_of_pod(const View& view, const Object& pod, KindId kind) {
  const std::string name = job_of_pod(pod, kind);
  if (name.empty() || !pod.controller()) return nullptr;
  const Object* job = view.get(kind, {std::string(pod.ns()), name});
  return job != nullptr && job->uid() == pod.label(kube::kScavengerLabel) ? job : nullptr;
}

void wake_for_pod(const View& view, const Object& pod, KindId kind, std::vector<Key>& wake) {
  const std::string uid = pod.label(kube::kScavengerLabel);
  const bool held = holds_accounting(pod);
  if (uid.empty() && !held) return;
  std::string name = job_of_pod(pod, kind);
  // One of which nobody knows whose it was is of the first kind.
  const bool anybodys = name.empty() && kind == kube::scavenger_kinds().job &&
                        pod.annotation(kScavengerJobAnnotation).empty();
  if (name.empty() && !anybodys) return;
  if (held && owner_of_pod(view, pod, kind) == nullptr)
    wake.push_back({std::string(pod.ns()), std::string(kPodKey) + std::string(pod.name())});
  if (!uid.empty() && !name.empty()) wake.push_back({std::string(pod.ns()), std::move(name)});
}

// Somebody has cut it, or what it is of, from its owner, so the garbage collector leaves it alone.
bool orphaned(const View& view, const Object& object) {
  const auto owner = object.controller();
  if (!owner) return true;
  const KindId kind = owner->kind == "Job" ? kube::kJob : mpi_job_kind();
  const Object* found = view.get(kind, {std::string(object.ns()), owner->name});
  return found != nullptr && found->uid() == owner->uid && !found->deleting() &&
         orphaned(view, *found);
}

bool has_our_class(const Object& pod) {
  const json::Slice name = pod.member("spec")["priorityClassName"];
  return name.equals(kube::kScavengerClass) || name.equals(kube::kStarvedClass);
}

class Scavenger final : public Controller {
 public:
  explicit Scavenger(ScavengerOptions options) : options_(std::move(options)) {}

  Spec spec() const override {
    const kube::ScavengerKinds& kinds = *options_.kinds;
    const KindId job = kinds.job;
    Spec spec(options_.name);
    spec.reconciles(job).reads(kinds.policy).index(job, kByPreemptor, &preemptor_of);
    spec.watches(job, [job](const View& view, const Change& change, std::vector<Key>& wake) {
      if (change.after != nullptr) return;
      for (const Object* pod : view.by_index(kube::kPod, kByScavenger, change.before->uid()))
        wake_for_pod(view, *pod, job, wake);
    });
    spec.watches(kube::kJob, owner_of(job)).index_by_controller(kube::kJob);
    spec.watches_if_served(mpi_job_kind(), owner_of(job)).index_by_controller(mpi_job_kind());
    spec.watches(kube::kPod,
                 each_state([job](const View& view, const Object& pod, std::vector<Key>& wake) {
                   wake_for_pod(view, pod, job, wake);
                 }),
                 kBatch);
    spec.watches(kube::kPod, [job](const View& view, const Change& change, std::vector<Key>& wake) {
      const Object& pod = change.after != nullptr ? *change.after : *change.before;
      for (const Object* one : view.by_index(job, kByPreemptor, pod.key().text()))
        wake.push_back(one->key());
    });
    spec.index(kube::kPod, kByScavenger, &scavenger_of_pod);
    // A node that goes, or falls silent, is the end of what ran there.
    spec.watches(
        kube::kNode, [job](const View& view, const Change& change, std::vector<Key>& wake) {
          if (change.before == nullptr) return;
          if (change.after != nullptr && readiness(*change.before) == readiness(*change.after))
            return;
          for (const Object* pod : view.by_index(kube::kPod, kByNode, change.before->name()))
            wake_for_pod(view, *pod, job, wake);
        });
    spec.index(kube::kPod, kByNode, &node_of_pod);
    for (const KindId made : {kube::kJob, mpi_job_kind()}) spec.creates(made).erases(made);
    spec.patches(kube::kPod).patches_part(kube::kPod, "resize").erases(kube::kPod);
    for (const KindId read :
         {kube::kPersistentVolumeClaim, kube::kConfigMap, kube::kSecret, kube::kEvent})
      spec.asks(read);
    spec.posts(std::string(kSnapshotPath));
    return spec.patches(job).patches_status(job).tells();
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    if (key.name.starts_with(kPodKey)) return release(view, key, now);
    const Object* job = view.get(options_.kinds->job, key);
    return job == nullptr ? Plan::done() : plan_scavenger(view, options_, *job, now);
  }

 private:
  Plan release(const View& view, const Key& key, WallTime now) const {
    const Object* pod = view.get(kube::kPod, {key.ns, key.name.substr(kPodKey.size())});
    if (pod == nullptr || !holds_accounting(*pod)) return Plan::done();
    if (owner_of_pod(view, *pod, options_.kinds->job) != nullptr) return Plan::done();
    if (has_our_class(*pod) && !pod_ended(*pod) && !pod->deleting()) {
      if (!orphaned(view, *pod)) return std::move(Plan().again_at(now + kCollectorPatience));
      return std::move(Plan().erase(*pod, kube::Propagation::kBackground, Pin::kUid));
    }
    return Plan().patch(*pod, release_patch(), Pin::kUid, kube::PatchType::kStrategic);
  }

  ScavengerOptions options_;
};

}  // namespace

std::unique_ptr<Controller> make_scavenger_controller(ScavengerOptions options) {
  return std::make_unique<Scavenger>(std::move(options));
}
std::unique_ptr<Controller> make_scavenger(const ControllerOptions& options) {
  return make_scavenger_controller({.gateway = options.gateway});
}
std::unique_ptr<Controller> make_scavenger_alias(const ControllerOptions& options) {
  return make_scavenger_controller({.name = "scavenger-alias-controller",
                                    .kinds = &kube::cerit_kinds(),
                                    .gateway = options.gateway});
}

}  // namespace berth::controllers
