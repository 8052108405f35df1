// SPDX-License-Identifier: Apache-2.0
// Which pods name which claims.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"

namespace berth::controllers {

// The index "claims": a pod under the key of every claim that it names, its own ephemeral ones too.
inline constexpr std::string_view kByClaim = "claims";
std::vector<std::string> claims_of_pod(const kube::Object& pod);

// It has ended, or is deleted and none of its containers runs.
bool pod_is_over(const kube::Object& pod);
// It keeps the claim from going: it has a node and names the claim.
bool pod_holds_claim(const kube::Object& pod, const kube::Object& claim);

}  // namespace berth::controllers
