// SPDX-License-Identifier: Apache-2.0
// Steps about storage, and the default class of ingresses, which is chosen in the same way.
#include <algorithm>

#include "apiserver/admission/refusal.h"
#include "apiserver/admission/steps.h"
#include "kube/quantity.h"

namespace berth::apiserver {

namespace {

constexpr std::string_view kBetaClass = "volume.beta.kubernetes.io/storage-class";

class StorageObjectInUseProtection final : public AdmissionStep {
 public:
  std::string_view name() const override { return "StorageObjectInUseProtection"; }

  Result<Ok> mutate(AdmissionCall& call) override {
    if (call.operation != Operation::kCreate || call.edit == nullptr) return Ok{};
    if (call.is(kube::kPersistentVolume)) add(call, "kubernetes.io/pv-protection");
    if (call.is(kube::kPersistentVolumeClaim)) add(call, "kubernetes.io/pvc-protection");
    if (call.is(kube::kVolumeAttributesClass)) add(call, "kubernetes.io/vac-protection");
    return Ok{};
  }

 private:
  static void add(AdmissionCall& call, std::string_view finalizer) {
    json::Value& list = call.edit->metadata()["finalizers"];
    if (!list.is_array()) list.emplace_array();
    for (const json::Value& each : list.get_array())
      if (Peek(each).is(finalizer)) return;
    list.get_array().push_back(bj(finalizer));
  }
};

// Among those that are marked: the newest, then the first by name.
std::string default_class(const Store& store, kube::KindId kind,
                          std::initializer_list<std::string_view> annotations) {
  std::vector<kube::Object> marked;
  for (kube::Object& each : all_at_tip(store, kind))
    for (const std::string_view annotation : annotations)
      if (each.annotation(annotation) == "true") {
        marked.push_back(std::move(each));
        break;
      }
  if (marked.empty()) return "";
  const auto first = std::min_element(
      marked.begin(), marked.end(), [](const kube::Object& a, const kube::Object& b) {
        const WallTime at = a.created().value_or(WallTime{}), bt = b.created().value_or(WallTime{});
        return at == bt ? a.name() < b.name() : at > bt;
      });
  return std::string(first->name());
}

class DefaultStorageClass final : public AdmissionStep {
 public:
  explicit DefaultStorageClass(const Store& store) : store_(store) {}
  std::string_view name() const override { return "DefaultStorageClass"; }

  Result<Ok> mutate(AdmissionCall& call) override {
    if (!call.is(kube::kPersistentVolumeClaim) || call.operation != Operation::kCreate ||
        call.edit == nullptr || spec_of(call)["storageClassName"] ||
        Peek(call.edit->metadata())["annotations"].members().contains(bj(kBetaClass)))
      return Ok{};
    const std::string chosen = default_class(store_, kube::kStorageClass,
                                             {"storageclass.kubernetes.io/is-default-class",
                                              "storageclass.beta.kubernetes.io/is-default-class"});
    if (!chosen.empty()) make_dict(call.edit->body(), "spec")["storageClassName"] = bj(chosen);
    return Ok{};
  }

 private:
  const Store& store_;
};

class DefaultIngressClass final : public AdmissionStep {
 public:
  explicit DefaultIngressClass(const Store& store) : store_(store) {}
  std::string_view name() const override { return "DefaultIngressClass"; }

  Result<Ok> mutate(AdmissionCall& call) override {
    if (!call.is(kube::kIngress) || call.operation != Operation::kCreate || call.edit == nullptr ||
        spec_of(call)["ingressClassName"] ||
        Peek(call.edit->metadata())["annotations"].members().contains(
            "kubernetes.io/ingress.class"))
      return Ok{};
    const std::string chosen =
        default_class(store_, kube::kIngressClass, {"ingressclass.kubernetes.io/is-default-class"});
    if (!chosen.empty()) make_dict(call.edit->body(), "spec")["ingressClassName"] = bj(chosen);
    return Ok{};
  }

 private:
  const Store& store_;
};

class PersistentVolumeClaimResize final : public AdmissionStep {
 public:
  explicit PersistentVolumeClaimResize(const Store& store) : store_(store) {}
  std::string_view name() const override { return "PersistentVolumeClaimResize"; }

  Result<Ok> validate(AdmissionCall& call) override {
    if (!call.is(kube::kPersistentVolumeClaim) || call.operation != Operation::kUpdate ||
        call.edit == nullptr || !call.old.valid())
      return Ok{};
    const json::Slice was = call.old.member("spec");
    const auto before = kube::Quantity::from_json(was["resources"]["requests"]["storage"]);
    const auto after =
        kube::Quantity::parse(spec_of(call)["resources"]["requests"]["storage"].text());
    if (!before || !after || *after <= *before) return Ok{};
    if (!call.old.status()["phase"].equals("Bound"))
      return tl::unexpected(refusal(call, "Only bound persistent volume claims can be expanded"));
    const std::string now = class_of(Peek(call.edit->metadata())["annotations"][kBetaClass],
                                     spec_of(call)["storageClassName"]);
    std::string then = call.old.annotation(kBetaClass);
    if (then.empty()) then = was["storageClassName"].text();
    const kube::Object* found = now.empty() || now != then
                                    ? nullptr
                                    : store_.get(kube::kStorageClass, {"", now}, View::kTip);
    if (found != nullptr && found->member("allowVolumeExpansion").boolean()) return Ok{};
    return tl::unexpected(
        refusal(call,
                "only dynamically provisioned pvc can be resized and the storageclass that "
                "provisions the pvc must support resize"));
  }

 private:
  static std::string class_of(Peek annotation, Peek field) {
    return std::string(annotation ? annotation.text() : field.text());
  }
  const Store& store_;
};

}  // namespace

Step storage_object_in_use_protection() { return std::make_unique<StorageObjectInUseProtection>(); }
Step default_storage_class(const Store& store) {
  return std::make_unique<DefaultStorageClass>(store);
}
Step default_ingress_class(const Store& store) {
  return std::make_unique<DefaultIngressClass>(store);
}
Step persistent_volume_claim_resize(const Store& store) {
  return std::make_unique<PersistentVolumeClaimResize>(store);
}

}  // namespace berth::apiserver
