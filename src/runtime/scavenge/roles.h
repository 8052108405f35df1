// SPDX-License-Identifier: Apache-2.0
// What a door to scavenger jobs may do, as RBAC.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::runtime {

enum class ScavengerDoorKind : unsigned char {
  kScheduler,  // on top of what a kube-scheduler may do anyway
  kReplica,    // the extender and the operator's reclaim: everything that a decision reads, too
};
// A ClusterRole, and its binding to a user ("system:kube-scheduler") or a service account
// ("ns:name").
std::vector<std::string> scavenger_door_role(ScavengerDoorKind, std::string_view name,
                                             std::string_view subject);

}  // namespace berth::runtime
