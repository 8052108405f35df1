// SPDX-License-Identifier: Apache-2.0
// What a ScavengerJob mounts must be there before it starts: claims, ConfigMaps and Secrets. They
// are read when they are needed, so the operator watches nobody's Secrets.
#pragma once

#include <string>
#include <vector>

#include "kube/ours/scavenger_job_view.h"
#include "runtime/plan.h"
#include "runtime/view.h"

namespace berth::controllers {

struct Reference {
  kube::KindId kind{};
  std::string name;
  friend bool operator==(const Reference&, const Reference&) = default;
};
// Each once; those that are optional are left out.
std::vector<Reference> references_of(const kube::ScavengerJobView&);

struct ReferenceCheck {
  bool known = true;    // false: the plan asks, and the key is looked at again
  std::string missing;  // "PersistentVolumeClaim data is not there"; "": nothing is
};
ReferenceCheck check_references(const runtime::View&, const kube::ScavengerJobView&, runtime::Plan&,
                                WallTime now);

}  // namespace berth::controllers
