// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/core/access_modes.h"
#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/core/resources_check.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

void check_data_source(Peek source, const Path& at, Findings& findings) {
  if (!source) return;
  if (source["name"].text().empty()) findings.required(at / "name");
  if (source["kind"].text().empty()) findings.required(at / "kind");
  const std::string_view group = source["apiGroup"].text();
  if (group.empty()) {
    if (!source["kind"].is("PersistentVolumeClaim"))
      findings.invalid(at, source["kind"].text(),
                       "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  } else {
    must_be(&kube::check_dns_subdomain, group, at / "apiGroup", findings);
  }
}

}  // namespace

void check_claim_spec(Peek spec, const Path& at, Findings& findings) {
  const Peek modes = spec["accessModes"];
  if (modes.size() == 0)
    findings.required(at / "accessModes", "at least 1 access mode is required");
  check_label_selector(spec["selector"], at / "selector", findings);
  check_access_modes(modes, at / "accessModes", findings);
  const Peek storage = spec["resources"]["requests"]["storage"];
  const Path storage_at = (at / "resources").key("storage");
  if (!storage)
    findings.required(storage_at);
  else if (quantity(storage).sign() <= 0)
    findings.invalid(storage_at, storage.text(), "must be greater than zero");
  for (const std::string_view field : {"storageClassName"})
    if (!spec[field].text().empty())
      must_be(&kube::check_dns_subdomain, spec[field].text(), at / field, findings);
  if (spec["volumeMode"] && !one_of(spec["volumeMode"].text(), {"Block", "Filesystem"}))
    findings.not_supported(at / "volumeMode", spec["volumeMode"].text(), {"Block", "Filesystem"});
  check_data_source(spec["dataSource"], at / "dataSource", findings);
  check_data_source(spec["dataSourceRef"], at / "dataSourceRef", findings);
  const Peek source = spec["dataSource"], ref = spec["dataSourceRef"];
  if (source && ref &&
      !(source["kind"].text() == ref["kind"].text() &&
        source["name"].text() == ref["name"].text() &&
        source["apiGroup"].text() == ref["apiGroup"].text()))
    findings.invalid(at, Shown::raw("{}"), "must match dataSourceRef");
  if (!spec["volumeAttributesClassName"].text().empty())
    must_be(&kube::check_dns_subdomain, spec["volumeAttributesClassName"].text(),
            at / "volumeAttributesClassName", findings);
}

}  // namespace berth::apiserver
