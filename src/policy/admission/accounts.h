// SPDX-License-Identifier: Apache-2.0
// Whom admission trusts to have made something.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace berth::admission {

// Immutable while it is asked.
struct Accounts {
  using Names = std::set<std::string, std::less<>>;
  // Berth's own: they make Jobs of ScavengerJobs, hold slots, and write what Berth says of objects.
  Names ours = {};
  // Those that make pods of Jobs, and Jobs and pods of MPIJobs.
  Names makers = {"system:serviceaccount:kube-system:job-controller",
                  "system:kube-controller-manager",
                  "system:serviceaccount:mpi-operator:mpi-operator"};

  bool is_ours(std::string_view user) const { return ours.count(user) > 0; }
  bool makes_pods(std::string_view user) const { return makers.count(user) > 0; }
};

inline std::string service_account(std::string_view ns, std::string_view name) {
  return std::string("system:serviceaccount:").append(ns).append(":").append(name);
}

}  // namespace berth::admission
