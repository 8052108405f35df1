// SPDX-License-Identifier: Apache-2.0
#include "controllers/job/policies.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::controllers {
namespace {

using Action = Judgement::Action;

bool given(json::Slice value) { return value.present() && !value.is_null(); }

bool code_matches(std::int64_t code, json::Slice rule) {
  bool listed = false;
  for (const json::Slice one : rule["values"].elements()) listed |= one.integer() == code;
  if (rule["operator"].equals("In")) return listed;
  return rule["operator"].equals("NotIn") && !listed;
}

json::Slice container_that_matches(json::Slice statuses, json::Slice rule) {
  for (const json::Slice one : statuses.elements()) {
    const json::Slice ended = one["state"]["terminated"];
    if (!given(ended)) continue;
    if (given(rule["containerName"]) && rule["containerName"].text() != one["name"].text())
      continue;
    const std::int64_t code = ended["exitCode"].integer().value_or(0);
    if (code != 0 && code_matches(code, rule)) return one;
  }
  return {};
}

json::Slice condition_that_matches(json::Slice conditions, json::Slice patterns) {
  for (const json::Slice one : conditions.elements())
    for (const json::Slice pattern : patterns.elements())
      if (one["type"].text() == pattern["type"].text() &&
          one["status"].text() == pattern["status"].text())
        return one;
  return {};
}

std::optional<Action> action_named(json::Slice name) {
  if (name.equals("Ignore")) return Action::kIgnore;
  if (name.equals("FailIndex")) return Action::kFailIndex;
  if (name.equals("Count")) return Action::kCount;
  if (name.equals("FailJob")) return Action::kFailJob;
  return std::nullopt;
}

}  // namespace

Judgement judge_failure(json::Slice policy, const kube::Object& pod) {
  const json::Slice status = pod.status();
  int at = -1;
  for (const json::Slice rule : policy["rules"].elements()) {
    ++at;
    const std::optional<Action> action = action_named(rule["action"]);
    if (const json::Slice codes = rule["onExitCodes"]; given(codes)) {
      json::Slice found = container_that_matches(status["containerStatuses"], codes);
      if (!found) found = container_that_matches(status["initContainerStatuses"], codes);
      if (!found || !action) continue;
      if (*action != Action::kFailJob) return {*action};
      return {*action,
              fmt::format("Container {} for pod {}/{} failed with exit code {} matching {} rule at "
                          "index {}",
                          found["name"].text(), pod.ns(), pod.name(),
                          found["state"]["terminated"]["exitCode"].integer().value_or(0),
                          rule["action"].text(), at)};
    }
    if (const json::Slice patterns = rule["onPodConditions"]; given(patterns)) {
      const json::Slice found = condition_that_matches(status["conditions"], patterns);
      if (!found || !action) continue;
      if (*action != Action::kFailJob) return {*action};
      return {*action,
              fmt::format("Pod {}/{} has condition {} matching {} rule at index {}", pod.ns(),
                          pod.name(), found["type"].text(), rule["action"].text(), at)};
    }
  }
  return {};
}

std::optional<std::string> success_met(json::Slice policy, std::int64_t completions,
                                       const Indexes& succeeded) {
  if (succeeded.empty()) return std::nullopt;
  int at = -1;
  for (const json::Slice rule : policy["rules"].elements()) {
    ++at;
    const std::optional<std::int64_t> count = rule["succeededCount"].integer();
    bool met = false;
    if (given(rule["succeededIndexes"])) {
      const Indexes wanted = Indexes::parse(rule["succeededIndexes"].text(), completions);
      if (wanted.empty()) continue;
      const std::int64_t done = wanted.common_with(succeeded);
      met = done == wanted.total() || (count && done >= *count);
    } else {
      met = count && succeeded.total() >= *count;
    }
    if (met) return fmt::format("Matched rules at index {}", at);
  }
  return std::nullopt;
}

}  // namespace berth::controllers
