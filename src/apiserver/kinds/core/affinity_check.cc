// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

void check_expression(Peek expression, bool values_too, const Path& at, Findings& findings) {
  const std::string_view op = expression["operator"].text();
  const Peek values = expression["values"];
  if (op == "In" || op == "NotIn") {
    if (values.size() == 0)
      findings.required(at / "values", "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (values.size() > 0)
      findings.forbidden(at / "values",
                         "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else if (op == "Gt" || op == "Lt") {
    if (values.size() != 1)
      findings.required(at / "values",
                        "must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else {
    findings.invalid(at / "operator", op, "not a valid selector operator");
  }
  must_be(&kube::check_qualified_name, expression["key"].text(), at / "key", findings);
  for (std::size_t i = 0; values_too && i < values.size(); ++i)
    must_be(&kube::check_label_value, values[i].text(), (at / "values")[i], findings);
}

void check_field_expression(Peek expression, const Path& at, Findings& findings) {
  const std::string_view op = expression["operator"].text();
  const Peek values = expression["values"];
  if (op != "In" && op != "NotIn")
    findings.invalid(at / "operator", op, "not a valid selector operator");
  else if (values.size() != 1)
    findings.required(
        at / "values",
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  if (!expression["key"].is("metadata.name"))
    findings.invalid(at / "key", expression["key"].text(), "not a valid field selector key");
  else
    for (std::size_t i = 0; i < values.size(); ++i)
      must_be(&kube::check_dns_subdomain, values[i].text(), (at / "values")[i], findings);
}

void check_term(Peek term, bool values_too, const Path& at, Findings& findings) {
  for (std::size_t i = 0; i < term["matchExpressions"].size(); ++i)
    check_expression(term["matchExpressions"][i], values_too, (at / "matchExpressions")[i],
                     findings);
  for (std::size_t i = 0; i < term["matchFields"].size(); ++i)
    check_field_expression(term["matchFields"][i], (at / "matchFields")[i], findings);
}

void check_weight(Peek term, const Path& at, Findings& findings) {
  const std::int64_t weight = term["weight"].integer_or(0);
  if (weight <= 0 || weight > 100)
    findings.invalid(at / "weight", weight, "must be in the range 1-100");
}

void check_label_keys(Peek keys, Peek selector, const Path& at, Findings& findings) {
  if (keys.size() == 0) return;
  if (!selector)
    return findings.forbidden(at, "must not be specified when labelSelector is not set");
  for (std::size_t i = 0; i < keys.size(); ++i)
    must_be(&kube::check_qualified_name, keys[i].text(), at[i], findings);
}

std::size_t place_of(std::string_view key, Peek keys) {
  for (std::size_t i = keys.size(); i-- > 0;)
    if (keys[i].text() == key) return i;
  return keys.size();
}

void check_match_label_keys(Peek term, const Path& at, Findings& findings) {
  const Peek match = term["matchLabelKeys"], mismatch = term["mismatchLabelKeys"];
  const Peek selector = term["labelSelector"];
  check_label_keys(match, selector, at / "matchLabelKeys", findings);
  check_label_keys(mismatch, selector, at / "mismatchLabelKeys", findings);
  std::set<std::string_view> selected;
  for (const auto& label : selector["matchLabels"].members()) selected.insert(sv(label.key()));
  for (const json::Value& each : selector["matchExpressions"].elements()) {
    const std::string_view key = Peek(each)["key"].text();
    const std::size_t i = place_of(key, match);
    if (i < match.size() && selected.contains(key))
      findings.invalid(at[i], key, "exists in both matchLabelKeys and labelSelector");
    selected.insert(key);
  }
  for (std::size_t i = 0; i < match.size(); ++i)
    if (place_of(match[i].text(), mismatch) < mismatch.size())
      findings.invalid((at / "matchLabelKeys")[i], match[i].text(),
                       "exists in both matchLabelKeys and mismatchLabelKeys");
}

void check_pod_term(Peek term, const Path& at, Findings& findings) {
  check_label_selector(term["labelSelector"], at / "labelSelector", findings);
  check_label_selector(term["namespaceSelector"], at / "namespaceSelector", findings);
  for (const json::Value& ns : term["namespaces"].elements())
    must_be(&kube::check_dns_label, Peek(ns).text(), at / "namespace", findings);
  check_match_label_keys(term, at, findings);
  const std::string_view topology = term["topologyKey"].text();
  if (topology.empty()) findings.required(at / "topologyKey", "can not be empty");
  must_be(&kube::check_qualified_name, topology, at / "topologyKey", findings);
}

void check_pod_terms(Peek affinity, const Path& at, Findings& findings) {
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  for (std::size_t i = 0; i < affinity[kRequired].size(); ++i)
    check_pod_term(affinity[kRequired][i], (at / kRequired)[i], findings);
  for (std::size_t i = 0; i < affinity[kPreferred].size(); ++i) {
    const Path here = (at / kPreferred)[i];
    check_weight(affinity[kPreferred][i], here, findings);
    check_pod_term(affinity[kPreferred][i]["podAffinityTerm"], here / "podAffinityTerm", findings);
  }
}

}  // namespace

void check_node_selector(Peek node_selector, const Path& at, Findings& findings) {
  const Peek terms = node_selector["nodeSelectorTerms"];
  const Path here = at / "nodeSelectorTerms";
  if (terms.size() == 0)
    return findings.required(here, "must have at least one node selector term");
  for (std::size_t i = 0; i < terms.size(); ++i) check_term(terms[i], true, here[i], findings);
}

void check_affinity(Peek affinity, const Path& at, Findings& findings) {
  if (const Peek node = affinity["nodeAffinity"]) {
    const Path here = at / "nodeAffinity";
    if (const Peek required = node["requiredDuringSchedulingIgnoredDuringExecution"])
      check_node_selector(required, here / "requiredDuringSchedulingIgnoredDuringExecution",
                          findings);
    const Peek preferred = node["preferredDuringSchedulingIgnoredDuringExecution"];
    for (std::size_t i = 0; i < preferred.size(); ++i) {
      const Path term = (here / "preferredDuringSchedulingIgnoredDuringExecution")[i];
      check_weight(preferred[i], term, findings);
      check_term(preferred[i]["preference"], false, term / "preference", findings);
    }
  }
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"})
    if (affinity[kind]) check_pod_terms(affinity[kind], at / kind, findings);
}

void check_tolerations(Peek tolerations, const Path& at, Findings& findings) {
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    const Peek toleration = tolerations[i];
    const std::string_view key = toleration["key"].text(), op = toleration["operator"].text(),
                           value = toleration["value"].text(), effect = toleration["effect"].text();
    if (!key.empty()) must_be(&kube::check_qualified_name, key, at[i] / "key", findings);
    if (key.empty() && op != "Exists")
      findings.invalid(at[i] / "operator", op,
                       "operator must be Exists when `key` is empty, which means \"match all "
                       "values and all keys\"");
    if (toleration["tolerationSeconds"] && effect != "NoExecute")
      findings.invalid(at[i] / "effect", effect,
                       "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (op.empty() || op == "Equal") {
      if (const kube::Complaints why = kube::check_label_value(value); !why.empty())
        findings.invalid(at[i] / "operator", value, fmt::format("{}", fmt::join(why, ";")));
    } else if (op == "Exists") {
      if (!value.empty())
        findings.invalid(at[i] / "operator", value,
                         "value must be empty when `operator` is 'Exists'");
    } else if (op == "Lt" || op == "Gt") {
      findings.not_supported(at[i] / "operator", op, {"Equal", "Exists", "Lt", "Gt"});
    } else {
      findings.not_supported(at[i] / "operator", op, {"Equal", "Exists"});
    }
    if (!effect.empty() && !one_of(effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"}))
      findings.not_supported(at[i] / "effect", effect,
                             {"NoSchedule", "PreferNoSchedule", "NoExecute"});
  }
}

void check_spread_constraints(Peek constraints, const Path& at, Findings& findings) {
  std::vector<bool> comes_again(constraints.size());
  std::set<std::pair<std::string_view, std::string_view>> later;
  for (std::size_t i = constraints.size(); i-- > 0;) {
    const Peek constraint = constraints[i];
    comes_again[i] =
        !later.emplace(constraint["topologyKey"].text(), constraint["whenUnsatisfiable"].text())
             .second;
  }
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const Peek constraint = constraints[i];
    const std::string_view key = constraint["topologyKey"].text(),
                           action = constraint["whenUnsatisfiable"].text();
    must_be_positive(constraint["maxSkew"].integer_or(0), at[i] / "maxSkew", findings);
    if (key.empty()) findings.required(at[i] / "topologyKey", "can not be empty");
    if (!one_of(action, {"DoNotSchedule", "ScheduleAnyway"}))
      findings.not_supported(at[i] / "whenUnsatisfiable", action,
                             {"DoNotSchedule", "ScheduleAnyway"});
    if (comes_again[i])
      findings.duplicate(at[i] / "{topologyKey, whenUnsatisfiable}",
                         fmt::format("{{{}, {}}}", key, action));
    if (const auto domains = constraint["minDomains"].integer()) {
      must_be_positive(*domains, at[i] / "minDomains", findings);
      if (action != "DoNotSchedule")
        findings.invalid(
            at[i] / "minDomains", *domains,
            fmt::format("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}",
                        action));
    }
    for (const std::string_view policy : {"nodeAffinityPolicy", "nodeTaintsPolicy"})
      if (constraint[policy] && !one_of(constraint[policy].text(), {"Honor", "Ignore"}))
        findings.not_supported(at[i] / policy, constraint[policy].text(), {"Honor", "Ignore"});
    check_match_label_keys(constraint, at[i], findings);
    check_label_selector(constraint["labelSelector"], at[i] / "labelSelector", findings);
  }
}

}  // namespace berth::apiserver
