// SPDX-License-Identifier: Apache-2.0
// What a door to slots may do, as RBAC.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::runtime {

enum class Door : unsigned char {
  kPlugin,    // on top of what a kube-scheduler may do anyway
  kExtender,  // everything
};
// A ClusterRole, and its binding to a user ("system:kube-scheduler") or a service account
// ("ns:name").
std::vector<std::string> door_role(Door, std::string_view name, std::string_view subject);

}  // namespace berth::runtime
