// SPDX-License-Identifier: Apache-2.0
// matchConditions of webhooks: expressions about a request, all of which must be true before
// anybody is called.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/kinds/findings.h"
#include "json/slice.h"
#include "kube/cel/program.h"

namespace berth::apiserver {

struct MatchCondition {
  std::string expression;
  cel::Program program;
};

// The error says what is wrong with the expression.
Result<cel::Program> compile_condition(std::string_view expression);

// Of an AdmissionReview. nullopt: it is neither so nor so, and `why` says why.
std::optional<bool> all_match(const std::vector<MatchCondition>&, std::string_view review,
                              std::string& why);

// The conditions of one webhook, as they are given.
void check_conditions(json::Slice conditions, const std::string& at, Findings&);

}  // namespace berth::apiserver
