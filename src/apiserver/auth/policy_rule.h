// SPDX-License-Identifier: Apache-2.0
// One rule of a role, and the questions it answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/auth/auth.h"
#include "apiserver/edit/peek.h"
#include "json/slice.h"

namespace berth::apiserver {

struct PolicyRule {
  std::vector<std::string> verbs = {}, groups = {}, resources = {}, names = {}, urls = {};
  friend bool operator==(const PolicyRule&, const PolicyRule&) = default;
};

PolicyRule rule_from(json::Slice);
PolicyRule rule_from(Peek);

// Whatever the name, where that is an object's.
bool allows_but_for_name(const PolicyRule&, const Attributes&);
bool allows_name(const PolicyRule&, std::string_view name);

// Those parts of `wanted`, one verb and one resource each, that no rule of `held` has.
std::vector<PolicyRule> missing_rights(const std::vector<PolicyRule>& held,
                                       const std::vector<PolicyRule>& wanted);
// `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}` a line, in order; verbs of one
// resource come together.
std::string rights_text(const std::vector<PolicyRule>&);

}  // namespace berth::apiserver
