// SPDX-License-Identifier: Apache-2.0
// Why a pod is where it is, or nowhere: for every node and every plugin.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "gateway/observe/records.h"
#include "gateway/observe/tap.h"
#include "kube/object.h"
#include "scheduler/framework/profile.h"

namespace berth::gateway {

struct ExplainQuestion {
  const Snapshot& snapshot;
  const kube::Object& pod;
  std::span<const scheduler::ProfileSpec> profiles;  // one at least; the first judges strangers
  std::span<const DecisionRecord> attempts;          // of this pod
};

// Explanation of ui/src/api/types.ts. Pure; takes a while, so it belongs on offload. The snapshot
// is only read, but by one at a time.
Result<std::string> explain(const ExplainQuestion&);

// NodeDetail of ui/src/api/types.ts. `object` is the Node as the API server has it.
Result<std::string> node_detail(const Snapshot&, const kube::Object& object);

// Pods that have a node and such a name: Found[] of ui/src/api/types.ts.
std::string find_pods(const Snapshot&, std::string_view words, std::size_t most);

}  // namespace berth::gateway
