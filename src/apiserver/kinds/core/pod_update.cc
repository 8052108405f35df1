// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/core/pod_update.h"

#include <fmt/format.h>

#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";

void check_annotation_update(Edit& edit, Findings& findings) {
  const Peek now = Peek(edit.metadata())["annotations"], was = edit.was_metadata()["annotations"];
  const Path at = (Path("metadata") / "annotations").key(kMirror);
  if (was[kMirror] && was[kMirror].text() != now[kMirror].text())
    findings.forbidden(at, "may not remove or update mirror pod annotation");
  if (!was[kMirror] && now[kMirror]) findings.forbidden(at, "may not add mirror pod annotation");
  // Most pods have none, and then their spec need not be read.
  if (now.size() > 0)
    check_pod_annotations(now, Peek(edit.body())["spec"], Path("metadata") / "annotations",
                          findings);
}

// False: nothing more can be said.
bool check_same_containers(Peek now, Peek was, const Path& at, Findings& findings) {
  if (now.size() != was.size()) {
    findings.forbidden(at, "pod updates may not add or remove containers");
    return false;
  }
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i]["image"].text().empty()) findings.required(at[i] / "image");
  return true;
}

bool check_deadline(Peek now, Peek was, const Path& at, Findings& findings) {
  const auto seconds = now.integer(), before = was.integer();
  if (!seconds) {
    if (before)
      findings.invalid(at, Shown::raw("null"),
                       "must not update from a positive integer to nil value");
    return true;
  }
  if (*seconds < 0 || *seconds > 2147483647) {
    findings.invalid(at, *seconds, "must be between 0 and 2147483647, inclusive");
    return false;
  }
  if (before && *before < *seconds) {
    findings.invalid(at, *seconds, "must be less than or equal to previous value");
    return false;
  }
  return true;
}

bool same_but_seconds(Peek a, Peek b) {
  for (const std::string_view field : {"key", "operator", "value", "effect"})
    if (a[field].text() != b[field].text()) return false;
  return true;
}

void check_added_tolerations(Peek now, Peek was, const Path& at, Findings& findings) {
  for (const json::Value& old : was.elements()) {
    bool found = false;
    for (const json::Value& each : now.elements()) found |= same_but_seconds(old, each);
    if (!found)
      return findings.forbidden(
          at, "existing toleration can not be modified except its tolerationSeconds");
  }
  check_tolerations(now, at, findings);
}

void check_removed_gates(Peek now, Peek was, const Path& at, Findings& findings) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::string_view name = now[i]["name"].text();
    bool known = false;
    for (const json::Value& old : was.elements()) known |= Peek(old)["name"].text() == name;
    if (!known)
      findings.forbidden(
          at[i] / "name",
          fmt::format("only deletion is allowed, but found new scheduling gate '{}'", name));
  }
}

// What `was` demands stands unchanged at the front of `now`.
bool only_adds(Peek now, Peek was) {
  if (now.size() < was.size()) return false;
  for (std::size_t i = 0; i < was.size(); ++i)
    if (!same(now[i], was[i])) return false;
  return true;
}

// A gated pod may be narrowed down, so that an outside scheduler can direct it.
void check_narrowed(Peek now, Peek was, const Path& at, Findings& findings) {
  for (const auto& label : was["nodeSelector"].members())
    if (now["nodeSelector"][sv(label.key())].text() != Peek(label.value()).text()) {
      findings.invalid(at / "nodeSelector", as_shown(now["nodeSelector"]),
                       "only additions to spec.nodeSelector are allowed (no mutations or "
                       "deletions)");
      break;
    }
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  const Peek old_terms = was["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"];
  const Peek new_terms = now["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"];
  const Path terms_at = at / "affinity" / "nodeAffinity" / kRequired / "nodeSelectorTerms";
  if (old_terms.size() == 0) return;
  if (old_terms.size() != new_terms.size())
    return findings.invalid(terms_at, as_shown(new_terms),
                            "no additions/deletions to non-empty NodeSelectorTerms list are "
                            "allowed");
  for (std::size_t i = 0; i < old_terms.size(); ++i) {
    const Peek old = old_terms[i], term = new_terms[i];
    const bool was_empty = old["matchExpressions"].size() + old["matchFields"].size() == 0;
    const bool is_empty = term["matchExpressions"].size() + term["matchFields"].size() == 0;
    if ((was_empty && !is_empty) || !only_adds(term["matchExpressions"], old["matchExpressions"]) ||
        !only_adds(term["matchFields"], old["matchFields"]))
      findings.invalid(terms_at[i], as_shown(term),
                       "only additions are allowed (no mutations or deletions)");
  }
}

// The spec with what may change as it was, so that the rest can be compared.
json::Value with_changes_undone(Peek now, Peek was, bool gated, json::Arena& arena) {
  json::Value spec(now.members(), arena.storage());
  json::Dict& fields = spec.as_object();
  const auto undo = [](json::Dict& of, std::string_view key, Peek old) {
    json::erase(of, key);
    if (old) of[bj(key)] = *old.value();
  };
  for (const std::string_view list : {"containers", "initContainers"}) {
    std::size_t i = 0;
    each_dict(fields, list,
              [&](json::Dict& container) { undo(container, "image", was[list][i++]["image"]); });
  }
  for (const std::string_view field : {"activeDeadlineSeconds", "tolerations", "schedulingGates"})
    undo(fields, field, was[field]);
  if (was["terminationGracePeriodSeconds"].integer_or(0) < 0 &&
      now["terminationGracePeriodSeconds"].integer_or(0) == 1)
    undo(fields, "terminationGracePeriodSeconds", was["terminationGracePeriodSeconds"]);
  if (!gated) return spec;
  undo(fields, "nodeSelector", was["nodeSelector"]);
  const Peek old_affinity = was["affinity"]["nodeAffinity"];
  if (same(now["affinity"]["nodeAffinity"], old_affinity)) return spec;
  json::Dict& affinity = make_dict(fields, "affinity");
  undo(affinity, "nodeAffinity", old_affinity);
  if (affinity.empty() && !was["affinity"]) json::erase(fields, "affinity");
  return spec;
}

}  // namespace

void check_pod_update(Edit& edit, Findings& findings) {
  const Peek now = Peek(edit.body())["spec"], was = edit.was_body()["spec"];
  const Path at("spec");
  check_annotation_update(edit, findings);
  for (const std::string_view list : {"containers", "initContainers"})
    if (!check_same_containers(now[list], was[list], at / list, findings)) return;
  if (!check_deadline(now["activeDeadlineSeconds"], was["activeDeadlineSeconds"],
                      at / "activeDeadlineSeconds", findings))
    return;
  check_added_tolerations(now["tolerations"], was["tolerations"], at / "tolerations", findings);
  check_removed_gates(now["schedulingGates"], was["schedulingGates"], at / "schedulingGates",
                      findings);
  if (same(now, was)) return;
  const bool gated = was["schedulingGates"].size() > 0;
  if (gated) check_narrowed(now, was, at, findings);
  const json::Value munged = with_changes_undone(now, was, gated, edit.arena());
  if (!same(Peek(munged), was))
    findings.forbidden(
        at,
        "pod updates may not change fields other than "
        "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
        "`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
        "negative)");
}

void check_pod_status(Edit& edit, Findings& findings) {
  check_annotation_update(edit, findings);
  const Path at("status");
  const Peek now(edit.status()), was = edit.was_status();
  const std::string_view nominated = now["nominatedNodeName"].text();
  const bool renominated = nominated != was["nominatedNodeName"].text() && !nominated.empty();
  if (renominated)
    must_be(&kube::check_dns_subdomain, nominated, at / "nominatedNodeName", findings);
  const json::Slice spec = edit.from().member("spec");
  if (renominated && !spec["nodeName"].text().empty())
    findings.forbidden(at / "nominatedNodeName",
                       "may not be set on pods that are already bound to a node");
  if (const std::int64_t seen = now["observedGeneration"].integer_or(0); seen < 0)
    findings.invalid(at / "observedGeneration", seen, "must be a non-negative integer");
  if (now["qosClass"].text() != was["qosClass"].text())
    findings.invalid(at / "qosClass", now["qosClass"].text(), "field is immutable");
  if (spec["restartPolicy"].equals("Always")) return;
  const Peek old_statuses = was["containerStatuses"];
  const bool on_failure = spec["restartPolicy"].equals("OnFailure");
  for (std::size_t i = 0; i < old_statuses.size(); ++i) {
    const Peek ended = old_statuses[i]["state"]["terminated"];
    if (!ended || (on_failure && ended["exitCode"].integer_or(0) != 0)) continue;
    for (const json::Value& each : now["containerStatuses"].elements())
      if (Peek(each)["name"].text() == old_statuses[i]["name"].text() &&
          !Peek(each)["state"]["terminated"])
        findings.forbidden((at / "containerStatuses")[i] / "state",
                           "may not be transitioned to non-terminated state");
  }
}

}  // namespace berth::apiserver
