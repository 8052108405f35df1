// SPDX-License-Identifier: Apache-2.0
// Brings claims and volumes together: binds a claim to the volume that suits it best, has one made
// where its class says how, and reclaims volumes whose claim is gone. A key with a namespace is a
// claim, one without is a volume.
#include <algorithm>

#include <fmt/format.h>

#include "controllers/persistent_volume/matching.h"
#include "controllers/persistent_volume/pods_of_claim.h"
#include "controllers/persistent_volume/provisioning.h"
#include "controllers/status.h"
#include "json/writer.h"
#include "kube/quantity.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using client::EventType;
using kube::kPersistentVolume;
using kube::kPersistentVolumeClaim;
using kube::kStorageClass;

constexpr std::string_view kByClaimRef = "claim-ref", kFreeByClass = "free-by-class",
                           kUnboundByClass = "unbound-by-class", kByVolume = "volume-name",
                           kUnset = "unset";

std::vector<std::string> claim_ref_key(const Object& volume) {
  const auto ref = claim_ref(volume);
  if (!ref) return {};
  return {ref->ns + "/" + ref->name};
}
std::vector<std::string> free_class(const Object& volume) {
  if (claim_ref(volume)) return {};
  return {"class " + class_of_volume(volume)};
}
std::vector<std::string> unbound_class(const Object& claim) {
  if (has_annotation(claim, volume_annotation::kBindCompleted) ||
      !claim.member("spec")["volumeName"].text().empty())
    return {};
  const auto name = class_of_claim(claim);
  if (!name) return {"class ", std::string(kUnset)};
  return {"class " + *name};
}
std::vector<std::string> volume_name(const Object& claim) {
  const std::string name = claim.member("spec")["volumeName"].text();
  if (name.empty()) return {};
  return {name};
}

// Asks the server itself; null until it has answered. k8s 1.36: nothing is lost or released on the
// word of a cache that may be late.
const Answer* live(const View& view, Plan& plan, KindId kind, const Key& key) {
  if (const Answer* answer = view.answer("live")) return answer;
  kube::ApiRequest get;
  get.verb = kube::Verb::kGet;
  get.kind = kind;
  get.ns = key.ns;
  get.name = key.name;
  plan.ask("live", std::move(get));
  return nullptr;
}

class ClaimRun {
 public:
  ClaimRun(const View& view, const Object& claim, WallTime now)
      : view_(view), claim_(claim), now_(now) {}

  Plan plan() {
    if (has_annotation(claim_, volume_annotation::kBindCompleted))
      bound();
    else if (wanted_volume().empty())
      find_volume();
    else
      take_wanted_volume();
    return std::move(plan_);
  }

 private:
  std::string wanted_volume() const { return claim_.member("spec")["volumeName"].text(); }
  bool in_phase(std::string_view phase) const { return claim_.status()["phase"].equals(phase); }
  void tell(EventType type, const char* reason, std::string note) {
    plan_.event(claim_, {type, reason, "Bind", std::move(note)});
  }

  void find_volume() {
    const auto class_name = class_of_claim(claim_);
    const std::string name = class_name.value_or("");
    const Object* its_class = name.empty() ? nullptr : view_.get(kStorageClass, {"", name});
    const bool delayed = its_class != nullptr && waits_for_consumer(*its_class);
    std::vector<const Object*> volumes =
        view_.by_index(kPersistentVolume, kByClaimRef, claim_.key().text());
    for (const Object* one : view_.by_index(kPersistentVolume, kFreeByClass, "class " + name))
      volumes.push_back(one);
    const auto match = best_match(claim_, volumes, delayed);
    if (!match) {
      plan_.reason("its selector is bad: " + match.error().message);
      return;
    }
    if (*match != nullptr) return bind(**match);
    if (!class_name) {
      if (const Object* usual = default_class()) {
        plan_.patch(claim_, fmt::format(R"({{"spec":{{"storageClassName":{}}}}})",
                                        json::quoted(usual->name())));
        return;
      }
    }
    if (delayed && !has_annotation(claim_, volume_annotation::kSelectedNode)) {
      tell_wait();
    } else if (!name.empty()) {
      return provision(name, its_class);
    } else {
      tell(EventType::kNormal, "FailedBinding",
           "no persistent volumes available for this claim and no storage class is set");
    }
    set_status("Pending", nullptr);
  }

  const Object* default_class() const {
    const Object* best = nullptr;
    for (const Object* one : view_.list(kStorageClass)) {
      if (!is_default_class(*one)) continue;
      if (best == nullptr || best->created() < one->created()) best = one;
    }
    return best;
  }

  void tell_wait() {
    std::string names;
    int count = 0;
    for (const Object* pod : view_.by_index(kube::kPod, kByClaim, claim_.key().text())) {
      if (pod_is_over(*pod) || !pod->member("spec")["nodeName"].text().empty()) continue;
      names += (names.empty() ? "" : ",") + std::string(pod->name());
      ++count;
    }
    if (count == 0)
      tell(EventType::kNormal, "WaitForFirstConsumer",
           "waiting for first consumer to be created before binding");
    else
      tell(EventType::kNormal, "WaitForPodScheduled",
           fmt::format("waiting for pod{} {} to be scheduled", count == 1 ? "" : "s", names));
  }

  void provision(const std::string& name, const Object* its_class) {
    if (its_class == nullptr)
      return tell(EventType::kWarning, "ProvisioningFailed",
                  fmt::format("storageclass.storage.k8s.io \"{}\" not found", name));
    const std::string provisioner = its_class->member("provisioner").text();
    if (provisioner.starts_with("kubernetes.io/"))
      return tell(EventType::kWarning, "ProvisioningFailed",
                  "no volume plugin matched name: " + provisioner);
    if (claim_.annotation(volume_annotation::kProvisioner) != provisioner) {
      json::Writer w;
      w.object().member("metadata").object().member("annotations").object();
      w.member(volume_annotation::kBetaProvisioner).string(provisioner);
      w.member(volume_annotation::kProvisioner).string(provisioner).end().end().end();
      plan_.patch(claim_, w.take());
      return tell(EventType::kNormal, "ExternalProvisioning",
                  fmt::format("Waiting for a volume to be created either by the external "
                              "provisioner '{}' or manually by the system administrator. If volume "
                              "creation is delayed, please verify that the provisioner is running "
                              "and correctly registered.",
                              provisioner));
    }
    if (provisioner == kSimulated && !claim_.deleting()) make_volume(*its_class);
  }

  void make_volume(const Object& its_class) {
    const Object* node = nullptr;
    const std::string chosen = claim_.annotation(volume_annotation::kSelectedNode);
    if (!chosen.empty()) {
      node = view_.get(kube::kNode, {"", chosen});
      if (node == nullptr) {  // the scheduler has to choose again
        tell(EventType::kWarning, "ProvisioningFailed",
             fmt::format("failed to get target node: node \"{}\" not found", chosen));
        plan_.patch(claim_, fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})",
                                        volume_annotation::kSelectedNode));
        return;
      }
    }
    const Key key{"", provisioned_name(claim_)};
    if (view_.get(kPersistentVolume, key) != nullptr) return;
    tell(EventType::kNormal, "Provisioning",
         fmt::format("External provisioner is provisioning volume for claim \"{}\"",
                     claim_.key().text()));
    plan_.create(kPersistentVolume, key, provisioned_json(claim_, its_class, node));
    tell(EventType::kNormal, "ProvisioningSucceeded",
         "Successfully provisioned volume " + key.name);
  }

  void take_wanted_volume() {
    const Object* volume = view_.get(kPersistentVolume, {"", wanted_volume()});
    if (volume == nullptr) return set_status("Pending", nullptr);
    const auto ref = claim_ref(*volume);
    if (ref && ref->of(claim_)) return bind(*volume);
    if (ref) {
      tell(EventType::kWarning, "FailedBinding",
           fmt::format("volume \"{}\" already bound to a different claim.", volume->name()));
      return set_status("Pending", nullptr);
    }
    if (const std::string why = why_unfit(*volume, claim_); !why.empty()) {
      tell(EventType::kWarning, "VolumeMismatch",
           fmt::format("Cannot bind to requested volume \"{}\": {}", volume->name(), why));
      return set_status("Pending", nullptr);
    }
    bind(*volume);
  }

  void bound() {
    const std::string name = wanted_volume();
    if (name.empty())
      return lose(
          "ClaimLost",
          "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!");
    const Object* volume = view_.get(kPersistentVolume, {"", name});
    if (volume == nullptr) {
      if (in_phase("Lost")) return;
      const Answer* answer = live(view_, plan_, kPersistentVolume, {"", name});
      if (answer == nullptr) return;
      if (!answer->error || answer->error->reason != Reason::kNotFound) {
        plan_.again_at(now_ + 1s);
        return;
      }
      return lose("ClaimLost",
                  "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
    }
    const auto ref = claim_ref(*volume);
    if (!ref || ref->uid == claim_.uid()) return bind(*volume);
    lose("ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly");
  }

  void lose(const char* reason, const char* note) {
    if (in_phase("Lost")) return;
    set_status("Lost", nullptr);
    tell(EventType::kWarning, reason, note);
  }

  // The volume goes first: a claim that says it is bound has a volume that says so too.
  void bind(const Object& volume) {
    const auto ref = claim_ref(volume);
    const bool reserved = ref && ref->of(claim_);
    const bool by_controller =
        !reserved && !has_annotation(volume, volume_annotation::kBoundByController);
    if (!reserved || ref->uid != claim_.uid() || by_controller) {
      json::Writer w;
      w.object();
      if (by_controller)
        w.member("metadata")
            .object()
            .member("annotations")
            .object()
            .member(volume_annotation::kBoundByController)
            .string("yes")
            .end()
            .end();
      w.member("spec").object().member("claimRef").raw(claim_ref_json(claim_)).end().end();
      plan_.patch(volume, w.take());
    }
    const bool names_it = wanted_volume() == volume.name();
    if (!names_it || !has_annotation(claim_, volume_annotation::kBindCompleted)) {
      json::Writer w;
      w.object().member("metadata").object().member("annotations").object();
      w.member(volume_annotation::kBindCompleted).string("yes");
      if (!names_it) w.member(volume_annotation::kBoundByController).string("yes");
      w.end().end();
      if (!names_it) w.member("spec").object().member("volumeName").string(volume.name()).end();
      w.end();
      plan_.patch(claim_, w.take());
    }
    if (!plan_.empty()) return;  // then their statuses
    if (!volume.status()["phase"].equals("Bound"))
      plan_.patch_status(volume, R"({"status":{"phase":"Bound","message":null}})");
    set_status("Bound", &volume);
  }

  void set_status(const char* phase, const Object* volume) {
    StatusDraft status(claim_.status());
    const bool entered = !in_phase(phase);
    status.text("phase", phase);
    if (volume == nullptr) {
      status.raw("accessModes", "").raw("capacity", "").raw("currentVolumeAttributesClassName", "");
    } else {
      const json::Slice spec = volume->member("spec");
      status.raw("accessModes", std::string(spec["accessModes"].raw()));
      if (entered && spec["capacity"]["storage"].present() && other_size(spec["capacity"]))
        status.raw("capacity", std::string(spec["capacity"].raw()));
      const json::Slice attributes = spec["volumeAttributesClassName"];
      if (entered && attributes.is_string())
        status.raw("currentVolumeAttributesClassName", std::string(attributes.raw()));
    }
    plan_.set_status(claim_, status.json());
  }
  bool other_size(json::Slice capacity) const {
    const json::Slice mine = claim_.status()["capacity"]["storage"];
    if (!mine.present()) return true;
    const auto a = kube::Quantity::from_json(mine),
               b = kube::Quantity::from_json(capacity["storage"]);
    return !a || !b || *a != *b;
  }

  const View& view_;
  const Object& claim_;
  WallTime now_;
  Plan plan_;
};

class VolumeRun {
 public:
  VolumeRun(const View& view, const Object& volume, WallTime now)
      : view_(view), volume_(volume), now_(now) {}

  Plan plan() {
    let_go();
    if (!plan_.empty()) return std::move(plan_);
    const auto ref = claim_ref(volume_);
    if (!ref || ref->uid.empty())
      set_phase("Available");
    else
      follow(*ref);
    return std::move(plan_);
  }

 private:
  bool in_phase(std::string_view phase) const { return volume_.status()["phase"].equals(phase); }
  std::string policy() const {
    return volume_.member("spec")["persistentVolumeReclaimPolicy"].text();
  }
  bool simulated() const {
    return volume_.annotation(volume_annotation::kProvisionedBy) == kSimulated;
  }
  void set_phase(const char* phase, const std::string& message = "") {
    if (in_phase(phase)) return;
    plan_.patch_status(volume_, fmt::format(R"({{"status":{{"phase":"{}","message":{}}}}})", phase,
                                            message.empty() ? "null" : json::quoted(message)));
  }

  // A volume of ours that is deleted, and that nobody holds, has no storage any more.
  void let_go() {
    if (!volume_.deleting() || !simulated() || in_phase("Bound")) return;
    const std::vector<std::string> all = volume_.finalizers();
    if (std::find(all.begin(), all.end(), kProvisionerFinalizer) == all.end()) return;
    plan_.patch(volume_,
                fmt::format(R"({{"metadata":{{"$deleteFromPrimitiveList/finalizers":["{}"]}}}})",
                            kProvisionerFinalizer),
                Pin::kRevision, kube::PatchType::kStrategic);
  }

  void follow(const ClaimRef& ref) {
    const Key key{ref.ns, ref.name};
    const Object* claim = view_.get(kPersistentVolumeClaim, key);
    const bool released = in_phase("Released") || in_phase("Failed");
    if (claim == nullptr && released) return reclaim();
    Object asked;
    if (claim == nullptr || claim->uid() != ref.uid) {
      const Answer* answer = live(view_, plan_, kPersistentVolumeClaim, key);
      if (answer == nullptr) return;
      if (answer->error && answer->error->reason != Reason::kNotFound) {
        plan_.again_at(now_ + 1s);
        return;
      }
      claim = nullptr;
      if (!answer->error && answer->objects.size() == 1 && answer->objects[0].uid() == ref.uid) {
        asked = answer->objects[0];
        claim = &asked;
      }
    }
    if (claim == nullptr) return release();
    const std::string names = claim->member("spec")["volumeName"].text();
    if (names == volume_.name()) return set_phase("Bound");
    if (names.empty()) {
      // The claim's own run finishes the binding, unless it must not.
      if (!same_volume_mode(volume_, *claim)) tell_mismatch(*claim);
      return;
    }
    // The claim has another volume.
    if (has_annotation(volume_, volume_annotation::kProvisionedBy) && policy() == "Delete")
      return release();
    unbind();
  }

  void tell_mismatch(const Object& claim) {
    plan_.event(volume_,
                {EventType::kWarning, "VolumeMismatch", "Bind",
                 fmt::format("Cannot bind PersistentVolume to requested PersistentVolumeClaim "
                             "\"{}\" due to incompatible volumeMode.",
                             claim.name())});
    plan_.event(claim, {EventType::kWarning, "VolumeMismatch", "Bind",
                        fmt::format("Cannot bind PersistentVolume \"{}\" to requested "
                                    "PersistentVolumeClaim due to incompatible volumeMode.",
                                    volume_.name())});
  }

  void release() {
    if (in_phase("Released") || in_phase("Failed")) return reclaim();
    set_phase("Released");  // the next run reclaims it
  }

  void unbind() {
    plan_.patch(
        volume_,
        has_annotation(volume_, volume_annotation::kBoundByController)
            ? fmt::format(
                  R"({{"metadata":{{"annotations":{{"{}":null}}}},"spec":{{"claimRef":null}}}})",
                  volume_annotation::kBoundByController)
            : R"({"spec":{"claimRef":{"uid":null}}})");
  }

  void reclaim() {
    const std::string how = policy();
    if (how == "Retain") return;
    if (how == "Delete") return remove();
    if (how == "Recycle")
      return fail("VolumeFailedRecycle", "No recycler plugin found for the volume!");
    fail("VolumeUnknownReclaimPolicy", "Volume has unrecognized PersistentVolumeReclaimPolicy");
  }

  void remove() {
    if (volume_.deleting()) return;
    const std::string by = volume_.annotation(volume_annotation::kProvisionedBy);
    if (!by.empty() && by != kSimulated) {
      // Somebody else's business, unless nobody can do it.
      if (by.starts_with("kubernetes.io/"))
        fail("VolumeFailedDelete", "no volume plugin matched name: " + by);
      return;
    }
    const json::Slice spec = volume_.member("spec");
    if (by.empty() && spec["csi"].is_object()) return;
    const std::string path = spec["hostPath"]["path"].text();
    if (by.empty() && !spec["hostPath"].is_object())
      return fail("VolumeFailedDelete",
                  fmt::format("error getting deleter volume plugin for volume \"{}\": no volume "
                              "plugin matched",
                              volume_.name()));
    if (by.empty() && (path.find("/tmp/") == path.npos || path.ends_with("/tmp/")))
      return fail("VolumeFailedDelete",
                  "host_path deleter only supports /tmp/.+ but received provided " + path);
    plan_.erase(volume_, kube::Propagation::kUnset);
  }

  void fail(const char* reason, const std::string& note) {
    if (in_phase("Failed")) return;
    set_phase("Failed", note);
    plan_.event(volume_, {EventType::kWarning, reason, "Reclaim", note});
  }

  const View& view_;
  const Object& volume_;
  WallTime now_;
  Plan plan_;
};

// Claims that may want a volume, and the one that has it.
void wake_for_volume(const View& view, const Object& volume, std::vector<Key>& wake) {
  wake.push_back(volume.key());
  const auto ref = claim_ref(volume);
  if (ref) wake.push_back({ref->ns, ref->name});
  for (const Object* claim : view.by_index(kPersistentVolumeClaim, kByVolume, volume.name()))
    wake.push_back(claim->key());
  if (ref || !volume.status()["phase"].equals("Available")) return;
  for (const Object* claim :
       view.by_index(kPersistentVolumeClaim, kUnboundByClass, "class " + class_of_volume(volume)))
    wake.push_back(claim->key());
}

void wake_for_claim(const View& view, const Object& claim, std::vector<Key>& wake) {
  wake.push_back(claim.key());
  for (const std::string& name : volume_name(claim)) wake.push_back({"", name});
  for (const Object* volume : view.by_index(kPersistentVolume, kByClaimRef, claim.key().text()))
    wake.push_back(volume->key());
}

void wake_for_class(const View& view, const Object& its_class, std::vector<Key>& wake) {
  for (const Object* claim : view.by_index(kPersistentVolumeClaim, kUnboundByClass,
                                           fmt::format("class {}", its_class.name())))
    wake.push_back(claim->key());
  if (!is_default_class(its_class)) return;
  for (const Object* claim : view.by_index(kPersistentVolumeClaim, kUnboundByClass, kUnset))
    wake.push_back(claim->key());
}

class Binder final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("persistentvolume-binder-controller");
    spec.reconciles(kPersistentVolumeClaim, each_state(&wake_for_claim));
    spec.watches(kPersistentVolume, each_state(&wake_for_volume));
    spec.watches(kStorageClass, each_state(&wake_for_class));
    spec.reads(kube::kNode).reads(kube::kPod);
    spec.index(kPersistentVolume, kByClaimRef, &claim_ref_key);
    spec.index(kPersistentVolume, kFreeByClass, &free_class);
    spec.index(kPersistentVolumeClaim, kUnboundByClass, &unbound_class);
    spec.index(kPersistentVolumeClaim, kByVolume, &volume_name);
    spec.index(kube::kPod, kByClaim, &claims_of_pod);
    spec.patches(kPersistentVolumeClaim).patches_status(kPersistentVolumeClaim);
    spec.creates(kPersistentVolume).patches(kPersistentVolume).patches_status(kPersistentVolume);
    spec.erases(kPersistentVolume).tells();
    return spec;
  }
  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    if (key.ns.empty()) {
      const Object* volume = view.get(kPersistentVolume, key);
      return volume == nullptr ? Plan::done() : VolumeRun(view, *volume, now).plan();
    }
    const Object* claim = view.get(kPersistentVolumeClaim, key);
    return claim == nullptr ? Plan::done() : ClaimRun(view, *claim, now).plan();
  }
};

}  // namespace

std::unique_ptr<Controller> make_persistent_volume_binder() { return std::make_unique<Binder>(); }

}  // namespace berth::controllers
