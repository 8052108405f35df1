// SPDX-License-Identifier: Apache-2.0
// The defaults of pod specs, in pods and in templates.
#pragma once

#include <string_view>

#include "json/value.h"

namespace berth::apiserver {

void fill_pod_spec(json::Dict& spec);
void fill_pod_template(json::Dict& pod_template);
// What only a pod gets: requests from limits, host ports on the host's network.
void fill_only_pods(json::Dict& spec);
void fill_claim_spec(json::Dict& spec);
// Amounts finer than a thousandth are rounded up. `key` names a map of amounts.
void round_amounts(json::Dict& of, std::string_view key);

// Always for :latest, else IfNotPresent.
std::string_view pull_policy_of(std::string_view image);

}  // namespace berth::apiserver
