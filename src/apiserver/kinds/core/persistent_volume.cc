// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/access_modes.h"
#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/core/pod_fill.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

std::string capacity(const kube::Object& volume) {
  const std::string amount = look_up(volume, "spec.capacity.storage").text();
  return amount.empty() ? "0" : amount;
}

std::string modes(const kube::Object& volume) {
  return access_modes_text(volume.member("spec")["accessModes"]);
}

std::string phase(const kube::Object& volume) {
  return volume.deleting() ? "Terminating" : volume.status()["phase"].text();
}

std::string claim(const kube::Object& volume) {
  const json::Slice ref = look_up(volume, "spec.claimRef");
  return ref ? ref["namespace"].text() + "/" + ref["name"].text() : "";
}

std::string storage_class(const kube::Object& volume) {
  const std::string old = volume.annotation("volume.beta.kubernetes.io/storage-class");
  return old.empty() ? volume.member("spec")["storageClassName"].text() : old;
}

void fill_volume(Edit& edit) {
  if (edit.status().is_object()) set_default(edit.status().as_object(), "phase", "Pending");
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  set_default(*spec, "persistentVolumeReclaimPolicy", "Retain");
  set_default(*spec, "volumeMode", "Filesystem");
  round_amounts(*spec, "capacity");
  if (json::Dict* path = dict_in(*spec, "hostPath"))
    if (!Peek(*path)["type"]) (*path)["type"] = "";
}

void new_volume(Edit& edit) {
  edit.status() = {
      {"phase", "Pending"},
      {"lastPhaseTransitionTime", *Peek(edit.metadata())["creationTimestamp"].value()}};
}

constexpr std::string_view kSources[] = {"hostPath",
                                         "gcePersistentDisk",
                                         "awsElasticBlockStore",
                                         "glusterfs",
                                         "flocker",
                                         "nfs",
                                         "rbd",
                                         "quobyte",
                                         "cephfs",
                                         "iscsi",
                                         "cinder",
                                         "fc",
                                         "flexVolume",
                                         "azureFile",
                                         "vsphereVolume",
                                         "photonPersistentDisk",
                                         "portworxVolume",
                                         "azureDisk",
                                         "scaleIO",
                                         "local",
                                         "storageos",
                                         "csi"};

void check_source(Peek spec, std::string_view kind, const Path& at, Findings& findings) {
  const Peek source = spec[kind];
  if (kind == "hostPath") {
    if (source["path"].text().empty()) return findings.required(at / "path");
    must_not_step_back(source["path"].text(), at / "path", findings);
  } else if (kind == "nfs") {
    if (source["server"].text().empty()) findings.required(at / "server");
    if (source["path"].text().empty()) findings.required(at / "path");
    if (!source["path"].text().starts_with('/'))
      findings.invalid(at / "path", source["path"].text(), "must be an absolute path");
  } else if (kind == "local") {
    if (source["path"].text().empty())
      findings.required(at / "path");
    else
      must_not_step_back(source["path"].text(), at / "path", findings);
  } else if (kind == "csi") {
    if (source["driver"].text().empty()) findings.required(at / "driver");
    if (source["volumeHandle"].text().empty()) findings.required(at / "volumeHandle");
  }
}

void check_volume(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"];
  const Path at("spec");
  const Peek access = spec["accessModes"], amounts = spec["capacity"];
  if (access.size() == 0) findings.required(at / "accessModes");
  check_access_modes(access, at / "accessModes", findings);
  if (amounts.size() == 0) findings.required(at / "capacity");
  if (!amounts["storage"] || amounts.size() > 1)
    findings.not_supported(at / "capacity", amounts ? as_shown(amounts) : Shown::raw("null"),
                           {"storage"});
  for (const auto& amount : amounts.members()) {
    const Path here = (at / "capacity").key(sv(amount.key()));
    const kube::Quantity read = quantity(Peek(amount.value()));
    if (read.sign() < 0) findings.invalid(here, read.value(), "must be a valid resource quantity");
    if (read.sign() <= 0)
      findings.invalid(here, Peek(amount.value()).text(), "must be greater than zero");
  }
  const std::string_view policy = spec["persistentVolumeReclaimPolicy"].text();
  if (!policy.empty() && !one_of(policy, {"Delete", "Recycle", "Retain"}))
    findings.not_supported(at / "persistentVolumeReclaimPolicy", policy,
                           {"Delete", "Recycle", "Retain"});
  if (const Peek affinity = spec["nodeAffinity"]) {
    if (affinity["required"])
      check_node_selector(affinity["required"], at / "nodeAffinity" / "required", findings);
    else
      findings.required(at / "nodeAffinity" / "required", "must specify required node constraints");
  }
  bool found = false;
  for (const std::string_view kind : kSources) {
    if (!spec[kind]) continue;
    if (found) {
      findings.forbidden(at / kind, "may not specify more than 1 volume type");
      continue;
    }
    found = true;
    check_source(spec, kind, at / kind, findings);
    if (kind == "local" && !spec["nodeAffinity"])
      findings.required(at / "nodeAffinity", "Local volume requires node affinity");
  }
  if (!found) findings.required(at, "must specify a volume type");
  if (spec["hostPath"]["path"].is("/") && policy == "Recycle")
    findings.forbidden(at / "persistentVolumeReclaimPolicy",
                       "may not be 'recycle' for a hostPath mount of '/'");
  if (!spec["storageClassName"].text().empty())
    must_be(&kube::check_dns_subdomain, spec["storageClassName"].text(), at / "storageClassName",
            findings);
  if (spec["volumeMode"] && !one_of(spec["volumeMode"].text(), {"Block", "Filesystem"}))
    findings.not_supported(at / "volumeMode", spec["volumeMode"].text(), {"Block", "Filesystem"});
}

void check_volume_update(Edit& edit, Findings& findings) {
  const Peek now = Peek(edit.body())["spec"], was = edit.was_body()["spec"];
  for (const std::string_view kind : kSources)
    if (!same(now[kind], was[kind])) {
      findings.forbidden(Path("spec") / "persistentvolumesource",
                         "spec.persistentvolumesource is immutable after creation");
      break;
    }
  if (now["volumeMode"].text() != was["volumeMode"].text())
    findings.invalid(Path("volumeMode"), now["volumeMode"].text(), "field is immutable");
}

}  // namespace

KindRow persistent_volume() {
  return Kind("v1", "PersistentVolume", "persistentvolumes")
      .cluster_scoped()
      .short_name("pv")
      .status()
      .name_column()
      .column("Capacity", shown(&capacity))
      .column("Access Modes", shown(&modes))
      .column("Reclaim Policy", text("spec.persistentVolumeReclaimPolicy"))
      .column("Status", shown(&phase))
      .column("Claim", shown(&claim))
      .column("StorageClass", shown(&storage_class))
      .column("VolumeAttributesClass", text("spec.volumeAttributesClassName", "<unset>"))
      .column("Reason", text("status.reason"))
      .age_column()
      .wide("VolumeMode", text("spec.volumeMode", "<unset>"))
      .fill(&fill_volume)
      .on_create(&new_volume)
      .check(&check_volume)
      .check_update(&check_volume_update);
}

}  // namespace berth::apiserver
