// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/pod_parts.h"

#include <set>

#include <fmt/format.h>

#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/core/qos.h"
#include "apiserver/kinds/object_meta.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

json::Value copied(Peek value, json::Arena& arena) {
  return value.value() == nullptr ? json::Value(nullptr, arena.storage())
                                  : json::Value(*value.value(), arena.storage());
}

// All but one part is as it was, the labels and owners too.
void restore_all(const KindRow& row, Edit& edit) {
  begin_status_update(row, edit);
  edit.restore_status();
  for (const std::string_view field : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    json::erase(edit.metadata(), field);
    if (const json::Value* was = edit.was_metadata()[field].value())
      edit.metadata()[bj(field)] = *was;
  }
}

void count_change(const KindRow& row, Edit& edit) {
  if (row.counts_generation && body_changed(edit))
    edit.metadata()["generation"] = edit.from().generation() + 1;
}

Peek named(Peek list, std::string_view name) {
  for (const json::Value& each : list.elements())
    if (Peek(each)["name"].is(name)) return each;
  return {};
}

Findings checked_metadata(Edit& edit) {
  Findings findings;
  const Peek now(edit.metadata());
  check_metadata_update(now, edit.was_metadata(), Path("metadata"), findings);
  return findings;
}

}  // namespace

void begin_finalize(const KindRow& row, Edit& edit) {
  json::Value finalizers = copied(Peek(edit.body())["spec"]["finalizers"], edit.arena());
  begin_status_update(row, edit);
  edit.restore_status();
  json::Dict& spec = make_dict(edit.body(), "spec");
  if (Peek(finalizers).size() == 0)
    json::erase(spec, "finalizers");
  else
    spec["finalizers"] = std::move(finalizers);
}

void begin_ephemeral(const KindRow& row, Edit& edit) {
  json::Value containers = copied(Peek(edit.body())["spec"]["ephemeralContainers"], edit.arena());
  restore_all(row, edit);
  json::Dict& spec = make_dict(edit.body(), "spec");
  if (Peek(containers).size() == 0)
    json::erase(spec, "ephemeralContainers");
  else
    spec["ephemeralContainers"] = std::move(containers);
  count_change(row, edit);
}

Findings check_ephemeral(Edit& edit) {
  Findings findings = checked_metadata(edit);
  const Peek spec = Peek(edit.body())["spec"], now = spec["ephemeralContainers"],
             was = edit.was_body()["spec"]["ephemeralContainers"];
  const Path at = Path("spec") / "ephemeralContainers";
  std::set<std::string_view> names;
  for (const std::string_view list : {"containers", "initContainers"})
    for (const json::Value& each : spec[list].elements()) names.insert(Peek(each)["name"].text());
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::string_view name = now[i]["name"].text();
    if (name.empty())
      findings.required(at[i] / "name");
    else if (!names.insert(name).second)
      findings.duplicate(at[i] / "name", name);
    if (now[i]["image"].text().empty()) findings.required(at[i] / "image");
    for (const std::string_view field :
         {"ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resources"})
      if (now[i][field].size() > 0)
        findings.forbidden(at[i] / field, "field is not allowed for ephemeral containers");
  }
  for (const json::Value& each : was.elements()) {
    const std::string_view name = Peek(each)["name"].text();
    const Peek found = named(now, name);
    if (!found)
      findings.forbidden(at, fmt::format("existing ephemeral containers {} may not be removed\n",
                                         json::quoted(name)));
    else if (!same(found, Peek(each)))
      findings.forbidden(at, fmt::format("existing ephemeral containers {} may not be changed",
                                         json::quoted(name)));
  }
  return findings;
}

namespace {

// k8s 1.36: where containers come, go or change places nothing is dropped, so that it is refused.
bool same_containers(Peek now, Peek was) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (now[list].size() != was[list].size()) return false;
    for (std::size_t i = 0; i < now[list].size(); ++i)
      if (!now[list][i]["name"].is(was[list][i]["name"].text())) return false;
  }
  return true;
}

void check_order(Peek now, Peek was, std::string_view list, const Path& at, Findings& findings) {
  if (now[list].size() != was[list].size())
    return findings.forbidden(at / list,
                              fmt::format("{} may not be added or removed on resize", list));
  for (std::size_t i = 0; i < now[list].size(); ++i)
    if (!now[list][i]["name"].is(was[list][i]["name"].text()))
      findings.forbidden((at / list)[i] / "name",
                         fmt::format("{} may not be renamed or reordered on resize", list));
}

bool lost(Peek now, Peek was) {
  for (const auto& member : was.members())
    if (!now[sv(member.key())]) return true;
  return false;
}

// Equal but for what may be resized.
bool same_but_resized(Peek now, Peek was) {
  for (const std::string_view field : {"requests", "limits"}) {
    const Peek is = now["resources"][field], had = was["resources"][field];
    for (const Peek list : {is, had})
      for (const auto& member : list.members()) {
        const std::string_view name = sv(member.key());
        if (name != "cpu" && name != "memory" && !same(is[name], had[name])) return false;
      }
  }
  return same(now["resources"]["claims"], was["resources"]["claims"]) &&
         same(now["resizePolicy"], was["resizePolicy"]);
}

}  // namespace

void begin_resize(const KindRow& row, Edit& edit) {
  const json::Value posted = copied(Peek(edit.body())["spec"], edit.arena());
  if (!same_containers(Peek(posted), edit.was_body()["spec"])) return;
  restore_all(row, edit);
  json::Dict& spec = make_dict(edit.body(), "spec");
  for (const std::string_view list : {"containers", "initContainers"})
    each_dict(spec, list, [&](json::Dict& container) {
      const Peek wanted = named(Peek(posted)[list], Peek(container)["name"].text());
      for (const std::string_view field : {"resources", "resizePolicy"}) {
        json::erase(container, field);
        if (const json::Value* value = wanted[field].value()) container[bj(field)] = *value;
      }
    });
  count_change(row, edit);
}

Findings check_resize(Edit& edit) {
  Findings findings = checked_metadata(edit);
  const Peek now = Peek(edit.body())["spec"], was = edit.was_body()["spec"];
  const Path at("spec");
  check_pod_spec(now, Peek(edit.metadata()), true, at, findings);
  const Peek pod_wide = was["resources"];
  if (pod_wide["requests"].size() + pod_wide["limits"].size() > 0) {
    findings.forbidden(Path(""),
                       "resize of pods with pod-level resources is forbidden when "
                       "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled");
    return findings;
  }
  // k8s 1.36: the class is told as it was.
  if (qos_class(now) != qos_class(was))
    findings.invalid(at, qos_class(was), "Pod QOS Class may not change as a result of resizing");
  const std::size_t before = findings.size();
  for (const std::string_view list : {"containers", "initContainers"})
    check_order(now, was, list, at, findings);
  if (findings.size() != before) return findings;
  for (const std::string_view list : {"initContainers", "containers"})
    for (std::size_t i = 0; i < now[list].size(); ++i) {
      const Peek is = now[list][i], had = was[list][i];
      const Path here = (at / list)[i];
      if (list == "initContainers" && !is["restartPolicy"].is("Always")) {
        if (!same(is, had))
          findings.forbidden(at, "resources for non-sidecar init containers are immutable");
        continue;
      }
      for (const std::string_view field : {"requests", "limits"})
        if (lost(is["resources"][field], had["resources"][field]))
          findings.forbidden(here / "resources" / field,
                             fmt::format("resource {} cannot be removed", field));
      if (!same_but_resized(is, had)) {
        if (list == "containers")
          findings.forbidden(at, "only cpu and memory resources are mutable");
        else
          findings.forbidden(
              here, "only cpu and memory resources for init or sidecar containers are mutable");
      }
    }
  return findings;
}

}  // namespace berth::apiserver
