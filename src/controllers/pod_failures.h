// SPDX-License-Identifier: Apache-2.0
// What workload controllers make of a pod that could not be created or deleted.
#pragma once

#include "runtime/controller.h"

namespace berth::controllers {

// The pod's create or delete that ended the last plan, where people should hear of it; null
// otherwise. Writes that were only overtaken, and those in a namespace that ends, are none.
const runtime::FailedAction* pod_failure(const runtime::View&);
bool creates_pod(const runtime::FailedAction&);
void tell_pod_failure(runtime::Plan&, const kube::Object& owner, const runtime::FailedAction&);

// The last create failed because its namespace ends: so would every other.
bool namespace_ends(const runtime::View&);

}  // namespace berth::controllers
