// SPDX-License-Identifier: Apache-2.0
// Pods as a busy cluster has them, the same ones every time: what the bench decodes and what the
// end-to-end tests fill a server with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace berth::bench {

// One running pod of a Deployment with its status and managedFields, about 3.4 KB, its members in
// the order and form in which kube-apiserver prints them. Without kind and apiVersion, as items of
// a list are.
std::string pod_json(std::size_t index);

// A v1 PodList of the pods [from, from + count). A `continue_token` makes it a page.
std::string pod_list_json(std::size_t from, std::size_t count, std::uint64_t revision,
                          const std::string& continue_token = "");

// The same pod as a client would create it: about 3 KB, no server-made fields.
std::string new_pod_json(std::size_t index);

}  // namespace berth::bench
