// SPDX-License-Identifier: Apache-2.0
// What an embedded cluster has before anybody has created anything.
#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace berth::cluster {

// Manifests in JSON, in the order in which they are to be written: what the real server makes, the
// kinds of our own where they are carried out, and a role of its own for every controller, with the
// rights that it declares.
std::vector<std::string> first_objects(const ClusterOptions&);

// What is there once, at a cluster's first start, and then is its users' to change or to delete:
// the storage class of claims that name none, where it is asked for and somebody makes its volumes.
std::vector<std::string> objects_of_a_new_cluster(const ClusterOptions&);
// Named as that of kind and minikube.
inline constexpr std::string_view kDefaultStorageClass = "standard";

// Whether any controller of Berth's own runs: then its kinds are served.
bool runs_ours(const ClusterOptions&);

// Who may do everything.
kube::User owner_of_cluster();
// The user that a controller acts as.
std::string controller_user(std::string_view controller);
// Makes room for ordinary pods; no controller, but it has an account like theirs.
inline constexpr std::string_view kReclaimer = "berth-reclaim";

}  // namespace berth::cluster
