// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/access_modes.h"
#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/core/pod_fill.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

bool bound(const kube::Object& claim) { return !claim.member("spec")["volumeName"].text().empty(); }

std::string capacity(const kube::Object& claim) {
  if (!bound(claim)) return "";
  const std::string amount = claim.status()["capacity"]["storage"].text();
  return amount.empty() ? "0" : amount;
}

std::string modes(const kube::Object& claim) {
  return bound(claim) ? access_modes_text(claim.status()["accessModes"]) : "";
}

std::string phase(const kube::Object& claim) {
  return claim.deleting() ? "Terminating" : claim.status()["phase"].text();
}

std::string storage_class(const kube::Object& claim) {
  const std::string old = claim.annotation("volume.beta.kubernetes.io/storage-class");
  return old.empty() ? claim.member("spec")["storageClassName"].text() : old;
}

void fill_claim(Edit& edit) {
  if (edit.status().is_object()) set_default(edit.status().as_object(), "phase", "Pending");
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  fill_claim_spec(*spec);
}

// Sources that nobody understands are dropped; the two ways to name one agree.
void settle_source(json::Dict* spec) {
  const Peek given = Peek(*spec)["dataSource"];
  const bool claim = given["kind"].is("PersistentVolumeClaim") && given["apiGroup"].text().empty();
  const bool snapshot =
      given["kind"].is("VolumeSnapshot") && given["apiGroup"].is("snapshot.storage.k8s.io");
  if (given && !claim && !snapshot && !Peek(*spec)["dataSourceRef"])
    json::erase(*spec, "dataSource");
  const Peek source = Peek(*spec)["dataSource"], ref = Peek(*spec)["dataSourceRef"];
  if (source && !ref)
    (*spec)["dataSourceRef"] = json::Value(*source.value());
  else if (ref && !source && ref["namespace"].text().empty())
    (*spec)["dataSource"] = json::Value(*ref.value());
}

void new_claim(Edit& edit) {
  edit.status() = {{"phase", "Pending"}};
  if (json::Dict* spec = dict_in(edit.body(), "spec")) settle_source(spec);
}

void check_claim(Edit& edit, Findings& findings) {
  check_claim_spec(Peek(edit.body())["spec"], Path("spec"), findings);
}

void check_claim_update(Edit& edit, Findings& findings) {
  const Peek now = Peek(edit.body())["spec"], was = edit.was_body()["spec"];
  const bool is_bound = edit.was_status()["phase"].is("Bound");
  json::Value munged(now.members(), edit.arena().storage());
  json::Dict& fields = munged.as_object();
  const auto undo = [](json::Dict& of, std::string_view key, Peek old) {
    json::erase(of, key);
    if (old) of[bj(key)] = *old.value();
  };
  if (was["volumeName"].text().empty()) json::erase(fields, "volumeName");
  if (!was["storageClassName"]) undo(fields, "storageClassName", {});
  if (is_bound) {
    if (json::Dict* resources = dict_in(fields, "resources"))
      if (json::Dict* requests = dict_in(*resources, "requests"))
        undo(*requests, "storage", was["resources"]["requests"]["storage"]);
    undo(fields, "volumeAttributesClassName", was["volumeAttributesClassName"]);
  }
  if (!same(Peek(munged), was))
    findings.forbidden(Path("spec"),
                       "spec is immutable after creation except resources.requests and "
                       "volumeAttributesClassName for bound claims");
  const kube::Quantity size = quantity(now["resources"]["requests"]["storage"]);
  if (size < quantity(was["resources"]["requests"]["storage"]) &&
      size <= quantity(edit.was_status()["capacity"]["storage"]))
    findings.forbidden(Path("spec") / "resources" / "requests" / "storage",
                       "field can not be less than status.capacity");
  if (now["volumeMode"].text() != was["volumeMode"].text())
    findings.invalid(Path("volumeMode"), now["volumeMode"].text(), "field is immutable");
}

}  // namespace

KindRow persistent_volume_claim() {
  return Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
      .short_name("pvc")
      .status()
      .name_column()
      .column("Status", shown(&phase))
      .column("Volume", text("spec.volumeName"))
      .column("Capacity", shown(&capacity))
      .column("Access Modes", shown(&modes))
      .column("StorageClass", shown(&storage_class))
      .column("VolumeAttributesClass", text("spec.volumeAttributesClassName", "<unset>"))
      .age_column()
      .wide("VolumeMode", text("spec.volumeMode", "<unset>"))
      .fill(&fill_claim)
      .on_create(&new_claim)
      .check(&check_claim)
      .check_update(&check_claim_update);
}

}  // namespace berth::apiserver
