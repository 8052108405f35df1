// SPDX-License-Identifier: Apache-2.0
#include "base/faults.h"

#include <fmt/format.h>

namespace berth {
namespace {

std::string_view what_is_wrong(const FaultRule& rule) {
  if (rule.point.empty()) return "names no point";
  if ((rule.hit > 0) == (rule.probability > 0)) return "needs either a hit or a probability";
  if (rule.probability < 0 || rule.probability > 1) return "needs a probability between 0 and 1";
  if (rule.action == FaultAction::kDelay && rule.delay <= Duration{})
    return "needs a delay above zero";
  if (rule.restart_after < Duration{}) return "cannot restart before it crashed";
  return {};
}

}  // namespace

std::optional<FaultAction> fault_action_named(std::string_view name) {
  if (name == "crash") return FaultAction::kCrash;
  if (name == "delay") return FaultAction::kDelay;
  if (name == "fail") return FaultAction::kFail;
  return std::nullopt;
}

Result<FaultPlan> FaultPlan::make(std::vector<FaultRule> rules) {
  FaultPlan plan;
  for (FaultRule& rule : rules) {
    if (const std::string_view wrong = what_is_wrong(rule); !wrong.empty())
      return invalid(fmt::format("fault {} ({}): {}", plan.rules_.size() + 1, rule.point, wrong));
    plan.rules_.push_back({std::move(rule)});
  }
  return plan;
}

const FaultRule* FaultPlan::pass(std::string_view process, std::string_view point, Random& random) {
  const auto found = passed_.find(point);
  if (found == passed_.end())
    passed_.emplace(point, 1);
  else
    ++found->second;
  const FaultRule* applies = nullptr;
  for (Counted& counted : rules_) {
    const FaultRule& rule = counted.rule;
    if (rule.point != point || (!rule.process.empty() && rule.process != process)) continue;
    ++counted.passed;
    // Every rule draws and counts, so that one rule does not shift another.
    const bool now = rule.hit > 0 ? counted.passed == rule.hit : random.chance(rule.probability);
    if (now && applies == nullptr) applies = &rule;
  }
  return applies;
}

std::uint64_t FaultPlan::passed(std::string_view point) const {
  const auto found = passed_.find(point);
  return found == passed_.end() ? 0 : found->second;
}

}  // namespace berth
