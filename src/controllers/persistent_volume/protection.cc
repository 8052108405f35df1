// SPDX-License-Identifier: Apache-2.0
// Keeps claims that pods use, and volumes that are bound, from vanishing under them: finalizers
// that go when the last user has gone.
#include <algorithm>

#include <fmt/format.h>

#include "controllers/persistent_volume/pods_of_claim.h"
#include "json/writer.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::kPersistentVolume;
using kube::kPersistentVolumeClaim;
using kube::kPod;

constexpr std::string_view kClaimFinalizer = "kubernetes.io/pvc-protection",
                           kVolumeFinalizer = "kubernetes.io/pv-protection";

bool has_finalizer(const Object& object, std::string_view name) {
  const std::vector<std::string> all = object.finalizers();
  return std::find(all.begin(), all.end(), name) != all.end();
}

Plan add_finalizer(const Object& object, std::string_view name) {
  json::Writer w;
  w.object().member("metadata").object().member("finalizers").array();
  for (const std::string& one : object.finalizers()) w.string(one);
  w.string(name).end().end().end();
  return Plan().patch(object, w.take());
}
Plan remove_finalizer(const Object& object, std::string_view name) {
  return Plan().patch(
      object,
      fmt::format(R"({{"metadata":{{"$deleteFromPrimitiveList/finalizers":["{}"]}}}})", name),
      Pin::kRevision, kube::PatchType::kStrategic);
}

void wake_claims(const View&, const Object& pod, std::vector<Key>& wake) {
  for (const std::string& claim : claims_of_pod(pod))
    wake.push_back({std::string(pod.ns()), claim.substr(pod.ns().size() + 1)});
}

class ClaimProtection final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("persistentvolumeclaim-protection-controller");
    spec.reconciles(kPersistentVolumeClaim).watches(kPod, each_state(&wake_claims));
    spec.index(kPod, kByClaim, &claims_of_pod).patches(kPersistentVolumeClaim);
    return spec;
  }
  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* claim = view.get(kPersistentVolumeClaim, key);
    if (claim == nullptr) return Plan::done();
    const bool guarded = has_finalizer(*claim, kClaimFinalizer);
    if (!claim->deleting()) return guarded ? Plan::done() : add_finalizer(*claim, kClaimFinalizer);
    if (!guarded) return Plan::done();
    for (const Object* pod : view.by_index(kPod, kByClaim, key.text()))
      if (pod_holds_claim(*pod, *claim)) return Plan::done();
    // The caches know of none; the server has the last word.
    const Answer* pods = view.answer("live pods");
    if (pods == nullptr) {
      kube::ApiRequest list;
      list.verb = kube::Verb::kList;
      list.kind = kPod;
      list.ns = key.ns;
      return Plan().ask("live pods", std::move(list));
    }
    if (pods->error || pods->more) return Plan().again_at(now + 1s);
    for (const Object& pod : pods->objects)
      if (pod_holds_claim(pod, *claim)) return Plan::done();
    return remove_finalizer(*claim, kClaimFinalizer);
  }
};

class VolumeProtection final : public Controller {
 public:
  Spec spec() const override {
    return Spec("persistentvolume-protection-controller")
        .reconciles(kPersistentVolume)
        .patches(kPersistentVolume);
  }
  Plan reconcile(const View& view, const Key& key, WallTime) const override {
    const Object* volume = view.get(kPersistentVolume, key);
    if (volume == nullptr) return Plan::done();
    const bool guarded = has_finalizer(*volume, kVolumeFinalizer);
    if (!volume->deleting())
      return guarded ? Plan::done() : add_finalizer(*volume, kVolumeFinalizer);
    if (!guarded || volume->status()["phase"].equals("Bound")) return Plan::done();
    return remove_finalizer(*volume, kVolumeFinalizer);
  }
};

}  // namespace

std::unique_ptr<Controller> make_claim_protection() { return std::make_unique<ClaimProtection>(); }
std::unique_ptr<Controller> make_volume_protection() {
  return std::make_unique<VolumeProtection>();
}

}  // namespace berth::controllers
