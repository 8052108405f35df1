// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/batch/job_spec.h"

#include <charconv>
#include <set>

#include <fmt/format.h>

#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/core/pod_fill.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

constexpr std::int64_t kMany = 100'000, kFew = 10'000;

void check_exit_codes(Peek codes, const std::set<std::string_view>& containers, const Path& at,
                      Findings& findings) {
  const std::string_view op = codes["operator"].text();
  if (op.empty())
    findings.required(at / "operator", "valid values: [\"In\" \"NotIn\"]");
  else if (!one_of(op, {"In", "NotIn"}))
    findings.not_supported(at / "operator", op, {"In", "NotIn"});
  if (codes["containerName"] && !containers.contains(codes["containerName"].text()))
    findings.invalid(at / "containerName", codes["containerName"].text(),
                     "must be one of the container or initContainer names in the pod template");
  const Peek values = codes["values"];
  const Path here = at / "values";
  if (values.size() == 0)
    findings.invalid(here, values.value() == nullptr ? Shown::raw("null") : as_shown(values),
                     "at least one value is required");
  else if (values.size() > 255)
    findings.too_many(here, static_cast<std::int64_t>(values.size()), 255);
  bool ordered = true;
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t value = values[i].integer_or(0);
    if (op == "In" && value == 0)
      findings.invalid(here[i], value, "must not be 0 for the In operator");
    if (!seen.insert(value).second) findings.duplicate(here[i], value);
    if (i > 0 && values[i - 1].integer_or(0) > value) ordered = false;
  }
  if (!ordered) findings.invalid(here, as_shown(values), "must be ordered");
}

void check_failure_rule(Peek spec, Peek rule, const std::set<std::string_view>& containers,
                        const Path& at, Findings& findings) {
  const std::string_view action = rule["action"].text();
  if (action.empty()) {
    findings.required(at / "action",
                      "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]");
  } else if (action == "FailIndex") {
    if (!spec["backoffLimitPerIndex"])
      findings.invalid(at / "action", action, "requires the backoffLimitPerIndex to be set");
  } else if (!one_of(action, {"Count", "FailJob", "Ignore"})) {
    findings.not_supported(at / "action", action, {"Count", "FailIndex", "FailJob", "Ignore"});
  }
  const Peek codes = rule["onExitCodes"], conditions = rule["onPodConditions"];
  if (codes) check_exit_codes(codes, containers, at / "onExitCodes", findings);
  if (conditions.size() > 20)
    findings.too_many(at / "onPodConditions", static_cast<std::int64_t>(conditions.size()), 20);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Path here = (at / "onPodConditions")[i];
    must_be(&kube::check_qualified_name, conditions[i]["type"].text(), here / "type", findings);
    const std::string_view status = conditions[i]["status"].text();
    if (status.empty())
      findings.required(here / "status", "valid values: [\"False\" \"True\" \"Unknown\"]");
    else if (!one_of(status, {"False", "True", "Unknown"}))
      findings.not_supported(here / "status", status, {"False", "True", "Unknown"});
  }
  if (codes && conditions.size() > 0)
    findings.invalid_unshown(at,
                             "specifying both OnExitCodes and OnPodConditions is not supported");
  if (!codes && conditions.size() == 0)
    findings.invalid_unshown(at, "specifying one of OnExitCodes and OnPodConditions is required");
}

void check_failure_policy(Peek spec, const Path& at, Findings& findings) {
  const Peek rules = spec["podFailurePolicy"]["rules"];
  if (rules.size() > 20)
    findings.too_many(at / "rules", static_cast<std::int64_t>(rules.size()), 20);
  std::set<std::string_view> containers;
  for (const std::string_view list : {"containers", "initContainers"})
    for (const json::Value& each : spec["template"]["spec"][list].elements())
      containers.insert(Peek(each)["name"].text());
  for (std::size_t i = 0; i < rules.size(); ++i)
    check_failure_rule(spec, rules[i], containers, (at / "rules")[i], findings);
}

}  // namespace

Result<std::int64_t> count_indexes(std::string_view text, std::int64_t completions) {
  std::int64_t total = 0, last = -1;
  if (text.empty()) return total;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    const auto number = [&](std::string_view digits) -> Result<std::int64_t> {
      std::int64_t value = 0;
      const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || digits.empty())
        return invalid(fmt::format("cannot convert string to integer for index: \"{}\"", digits));
      return value;
    };
    const Result<std::int64_t> first = number(part.substr(0, dash));
    if (!first) return first;
    if (*first >= completions)
      return invalid(fmt::format("too large index: \"{}\"", part.substr(0, dash)));
    if (last >= 0 && *first <= last)
      return invalid(fmt::format("non-increasing order, previous: {}, current: {}", last, *first));
    last = *first;
    total += 1;
    if (dash != std::string_view::npos) {
      const Result<std::int64_t> end = number(part.substr(dash + 1));
      if (!end) return end;
      if (*end >= completions)
        return invalid(fmt::format("too large index: \"{}\"", part.substr(dash + 1)));
      if (*end <= *first)
        return invalid(
            fmt::format("non-increasing order, previous: {}, current: {}", *first, *end));
      total += *end - *first;
      last = *end;
    }
    if (comma == std::string_view::npos) return total;
    text.remove_prefix(comma + 1);
  }
}

namespace {

void check_success_policy(Peek spec, const Path& at, Findings& findings) {
  const Peek rules = spec["successPolicy"]["rules"];
  const std::int64_t completions = spec["completions"].integer_or(0);
  if (rules.size() == 0)
    findings.required(at / "rules",
                      "at least one rules must be specified when the successPolicy is specified");
  if (rules.size() > 20)
    findings.too_many(at / "rules", static_cast<std::int64_t>(rules.size()), 20);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Path here = (at / "rules")[i];
    const Peek indexes = rules[i]["succeededIndexes"];
    const auto count = rules[i]["succeededCount"].integer();
    if (!indexes && !count)
      findings.required(here,
                        "at least one of succeededCount or succeededIndexes must be specified");
    std::int64_t total = 0;
    if (indexes) {
      const Result<std::int64_t> read = count_indexes(indexes.text(), completions);
      if (read)
        total = *read;
      else
        findings.invalid(here / "succeededIndexes", indexes.text(),
                         "error parsing succeededIndexes: " + read.error().message);
    }
    if (!count) continue;
    must_not_be_negative(*count, here / "succeededCount", findings);
    if (*count > completions)
      findings.invalid(
          here / "succeededCount", *count,
          fmt::format("must be less than or equal to {} (the number of specified completions)",
                      completions));
    if (indexes && *count > total)
      findings.invalid(here / "succeededCount", *count,
                       fmt::format("must be less than or equal to {} (the number of indexes in the "
                                   "specified succeededIndexes field)",
                                   total));
  }
}

// As Go prints its own struct.
Shown shown_rules(Peek rules) {
  std::string out;
  for (const json::Value& rule : rules.elements())
    out += fmt::format("{}{{\"SucceededIndexes\":{},\"SucceededCount\":{}}}",
                       out.empty() ? "" : ",", as_shown(Peek(rule)["succeededIndexes"]).text(),
                       as_shown(Peek(rule)["succeededCount"]).text());
  return Shown::raw(fmt::format("{{\"Rules\":[{}]}}", out));
}

void check_indexed(Peek spec, const Path& at, Findings& findings) {
  const auto completions = spec["completions"].integer(), parallel = spec["parallelism"].integer(),
             failed = spec["maxFailedIndexes"].integer();
  if (!completions) findings.required(at / "completions", "when completion mode is Indexed");
  if (parallel && *parallel > kMany)
    findings.invalid(at / "parallelism", *parallel,
                     "must be less than or equal to 100000 when completion mode is Indexed");
  if (completions && failed && *failed > *completions)
    findings.invalid(at / "maxFailedIndexes", *failed, "must be less than or equal to completions");
  if (failed && *failed > kMany)
    findings.invalid(at / "maxFailedIndexes", *failed, "must be less than or equal to 100000");
  if (!completions || *completions <= kMany || !spec["backoffLimitPerIndex"]) return;
  constexpr std::string_view kLimit =
      "must be less than or equal to 10000 when completions are above 100000 and used with backoff "
      "limit per index";
  if (!failed)
    findings.required(at / "maxFailedIndexes",
                      "must be specified when completions is above 100000");
  if (parallel && *parallel > kFew) findings.invalid(at / "parallelism", *parallel, kLimit);
  if (failed && *failed > kFew) findings.invalid(at / "maxFailedIndexes", *failed, kLimit);
}

void check_managed_by(std::string_view name, const Path& at, Findings& findings) {
  const std::size_t slash = name.find('/');
  if (name.empty()) {
    findings.required(at);
  } else if (slash == std::string_view::npos || slash == 0 || slash + 1 == name.size()) {
    findings.invalid(at, name, "must be a domain-prefixed path (such as \"acme.io/foo\")");
  } else {
    for (const std::string& why : kube::check_dns_subdomain(name.substr(0, slash)))
      findings.invalid(at, name.substr(0, slash), why);
  }
  if (name.size() > 63) findings.too_long(at, 63);
}

void check_restart_policy(Peek spec, const Path& at, Findings& findings) {
  const std::string_view policy = spec["template"]["spec"]["restartPolicy"].text();
  if (policy.empty() || policy == "Always")
    findings.required(at, "valid values: \"OnFailure\", \"Never\"");
  else if (!one_of(policy, {"OnFailure", "Never"}))
    findings.not_supported(at, policy, {"OnFailure", "Never"});
  else if (spec["podFailurePolicy"] && policy != "Never")
    findings.invalid(at, policy, "only \"Never\" is supported when podFailurePolicy is specified");
}

}  // namespace

void fill_job_pattern(json::Dict& spec) {
  if (json::Dict* policy = dict_in(spec, "podFailurePolicy"))
    each_dict(*policy, "rules", [](json::Dict& rule) {
      each_dict(rule, "onPodConditions",
                [](json::Dict& pattern) { set_default(pattern, "status", "True"); });
    });
  if (json::Dict* pod_template = dict_in(spec, "template")) fill_pod_template(*pod_template);
}

void check_job_spec(Peek spec, const Path& at, Findings& findings) {
  for (const std::string_view field :
       {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
        "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"})
    if (const auto value = spec[field].integer())
      must_not_be_negative(*value, at / field, findings);
  if (spec["maxFailedIndexes"] && !spec["backoffLimitPerIndex"])
    findings.required(at / "backoffLimitPerIndex", "when maxFailedIndexes is specified");
  if (spec["managedBy"]) check_managed_by(spec["managedBy"].text(), at / "managedBy", findings);
  const Peek mode = spec["completionMode"];
  const bool indexed = mode.is("Indexed");
  if (mode && !one_of(mode.text(), {"NonIndexed", "Indexed"}))
    findings.not_supported(at / "completionMode", mode.text(), {"NonIndexed", "Indexed"});
  if (indexed) check_indexed(spec, at, findings);
  if (!mode || mode.is("NonIndexed"))
    for (const std::string_view field : {"backoffLimitPerIndex", "maxFailedIndexes"})
      if (const auto value = spec[field].integer())
        findings.invalid(at / field, *value, "requires indexed completion mode");
  if (spec["podFailurePolicy"]) check_failure_policy(spec, at / "podFailurePolicy", findings);
  if (spec["successPolicy"]) {
    if (!indexed)
      findings.invalid(at / "successPolicy", shown_rules(spec["successPolicy"]["rules"]),
                       "requires indexed completion mode");
    else
      check_success_policy(spec, at / "successPolicy", findings);
  }
  if (const Peek policy = spec["podReplacementPolicy"]) {
    if (spec["podFailurePolicy"]) {
      if (!policy.is("Failed"))
        findings.not_supported(at / "podReplacementPolicy", policy.text(), {"Failed"});
    } else if (!one_of(policy.text(), {"Failed", "TerminatingOrFailed"})) {
      findings.not_supported(at / "podReplacementPolicy", policy.text(),
                             {"Failed", "TerminatingOrFailed"});
    }
  }
  check_pod_template(spec["template"], at / "template", findings);
  check_restart_policy(spec, at / "template" / "spec" / "restartPolicy", findings);
}

}  // namespace berth::apiserver
