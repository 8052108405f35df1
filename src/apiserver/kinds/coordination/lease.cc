// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {

namespace {

void check_lease(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"];
  const Path at("spec");
  if (const auto seconds = spec["leaseDurationSeconds"].integer(); seconds && *seconds <= 0)
    findings.invalid(at / "leaseDurationSeconds", *seconds, "must be greater than 0");
  if (const auto count = spec["leaseTransitions"].integer())
    must_not_be_negative(*count, at / "leaseTransitions", findings);
}

}  // namespace

KindRow lease() {
  return Kind("coordination.k8s.io/v1", "Lease", "leases")
      .conditional_update()
      .creates_on_update()
      .name_column()
      .column("Holder", text("spec.holderIdentity"))
      .age_column()
      .check(&check_lease);
}

}  // namespace berth::apiserver
