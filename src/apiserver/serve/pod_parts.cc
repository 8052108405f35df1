// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/pod_parts.h"

#include <set>

#include <fmt/format.h>

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
      findings.forbidden(at, fmt::format("existing ephemeral containers {} may not be removed",
                                         json::quoted(name)));
    else if (!same(found, Peek(each)))
      findings.forbidden(at, fmt::format("existing ephemeral containers {} may not be changed",
                                         json::quoted(name)));
  }
  return findings;
}

void begin_resize(const KindRow& row, Edit& edit) {
  const json::Value posted = copied(Peek(edit.body())["spec"], edit.arena());
  restore_all(row, edit);
  json::Dict& spec = make_dict(edit.body(), "spec");
  for (const std::string_view list : {"containers", "initContainers"})
    each_dict(spec, list, [&](json::Dict& container) {
      const Peek wanted = named(Peek(posted)[list], Peek(container)["name"].text());
      if (!wanted) return;
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
  if (qos_class(now) != qos_class(was))
    findings.invalid(Path("status") / "qosClass", qos_class(now),
                     "Pod QOS Class may not change as a result of resizing");
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (std::size_t i = 0; i < now[list].size(); ++i) {
      const Peek before = was[list][i];
      for (const std::string_view field : {"requests", "limits"}) {
        const Peek amounts = now[list][i]["resources"][field], had = before["resources"][field];
        for (const auto& member : had.members()) {
          const std::string_view name = sv(member.key());
          const bool may = name == "cpu" || name == "memory";
          if (!may && !same(amounts[name], Peek(member.value())))
            findings.forbidden((at / list)[i] / "resources" / field,
                               "only cpu and memory resources are mutable");
          else if (may && !amounts[name])
            findings.forbidden((at / list)[i] / "resources" / field,
                               fmt::format("resource {} cannot be removed",
                                           field == "limits" ? "limits" : "requests"));
        }
      }
    }
  }
  return findings;
}

}  // namespace berth::apiserver
