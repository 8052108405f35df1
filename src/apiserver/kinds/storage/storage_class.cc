// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules.h"
#include "base/lower.h"

namespace berth::apiserver {

namespace {

std::string name_and_default(const kube::Object& object) {
  for (const std::string_view key : {"storageclass.kubernetes.io/is-default-class",
                                     "storageclass.beta.kubernetes.io/is-default-class"})
    if (object.annotation(key) == "true") return std::string(object.name()) + " (default)";
  return std::string(object.name());
}

void check_class(Edit& edit, Findings& findings) {
  const Peek body(edit.body());
  const std::string provisioner = lower(body["provisioner"].text());
  if (provisioner.empty()) findings.required(Path("provisioner"));
  if (!provisioner.empty())
    must_be(&kube::check_qualified_name, provisioner, Path("provisioner"), findings);
  const std::string_view policy = body["reclaimPolicy"].text(),
                         mode = body["volumeBindingMode"].text();
  if (!policy.empty() && !one_of(policy, {"Delete", "Retain"}))
    findings.not_supported(Path("reclaimPolicy"), policy, {"Delete", "Retain"});
  if (!one_of(mode, {"Immediate", "WaitForFirstConsumer"}))
    findings.not_supported(Path("volumeBindingMode"), mode, {"Immediate", "WaitForFirstConsumer"});
}

}  // namespace

KindRow storage_class() {
  return Kind("storage.k8s.io/v1", "StorageClass", "storageclasses")
      .cluster_scoped()
      .short_name("sc")
      .column("Name", shown(&name_and_default))
      .format_last("name")
      .column("Provisioner", text("provisioner"))
      .column("ReclaimPolicy", text("reclaimPolicy", "Delete"))
      .column("VolumeBindingMode", text("volumeBindingMode", "Immediate"))
      .column("AllowVolumeExpansion", boolean("allowVolumeExpansion"))
      .age_column()
      .fill("reclaimPolicy", R"("Delete")")
      .fill("volumeBindingMode", R"("Immediate")")
      .check_create(&check_class)
      .immutable({"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"});
}

}  // namespace berth::apiserver
