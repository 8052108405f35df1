// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <fmt/format.h>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/resources_check.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

void take(json::Dict& to, Peek from) {
  for (const auto& amount : from.members())
    if (!to.contains(amount.key())) to[amount.key()] = amount.value();
}

// For containers, one bound stands in for the next.
void fill_limits(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  each_dict(*spec, "limits", [](json::Dict& limit) {
    if (!Peek(limit)["type"].is("Container")) return;
    take(make_dict(limit, "default"), Peek(limit)["max"]);
    json::Dict& requests = make_dict(limit, "defaultRequest");
    take(requests, Peek(limit)["default"]);
    take(requests, Peek(limit)["min"]);
    for (const std::string_view field : {"default", "defaultRequest"})
      if (Peek(limit)[field].size() == 0) json::erase(limit, field);
  });
}

// "min value 2 is greater than max value 1", told at `where` with `value`.
void check_order(Peek low, std::string_view low_name, Peek high, std::string_view high_name,
                 Peek value, const Path& where, Findings& findings) {
  if (low && high && quantity(low) > quantity(high))
    findings.invalid(where, value.text(),
                     fmt::format("{} value {} is greater than {} value {}", low_name, low.text(),
                                 high_name, high.text()));
}

void check_limit(Peek limit, const Path& at, Findings& findings) {
  const Peek most = limit["max"], least = limit["min"], standard = limit["default"],
             request = limit["defaultRequest"];
  if (limit["type"].is("Pod"))
    for (const std::string_view field : {"default", "defaultRequest"})
      if (limit[field].size() > 0)
        findings.forbidden(at / field, "may not be specified when `type` is 'Pod'");
  if (limit["type"].is("PersistentVolumeClaim") && !most["storage"] && !least["storage"])
    findings.required(at / "limits",
                      "either minimum or maximum storage value is required, but neither was "
                      "provided");
  std::set<std::string_view> names;
  for (const Peek list : {most, least, standard, request})
    for (const auto& amount : list.members()) names.insert(sv(amount.key()));
  const bool pod = limit["type"].is("Pod");
  for (const std::string_view name : names) {
    const Peek hi = most[name], lo = least[name], normal = pod ? Peek() : standard[name],
               asked = pod ? Peek() : request[name];
    check_order(lo, "min", hi, "max", lo, (at / "min").key(name), findings);
    const Path request_at = (at / "defaultRequest").key(name),
               default_at = (at / "default").key(name);
    check_order(lo, "min", asked, "default request", asked, request_at, findings);
    check_order(asked, "default request", hi, "max", asked, request_at, findings);
    check_order(asked, "default request", normal, "default limit", asked, request_at, findings);
    check_order(lo, "min", normal, "default", lo, default_at, findings);
    check_order(normal, "default", hi, "max", hi, default_at, findings);
  }
}

void check_limits(Edit& edit, Findings& findings) {
  const Peek limits = Peek(edit.body())["spec"]["limits"];
  const Path at = Path("spec") / "limits";
  std::set<std::string_view> types;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const std::string_view type = limits[i]["type"].text();
    const kube::Complaints complaints = kube::check_qualified_name(type);
    complain(complaints, type, at[i] / "type", findings);
    if (complaints.empty() && type.find('/') == std::string_view::npos &&
        !one_of(type, {"Pod", "Container", "PersistentVolumeClaim"}))
      findings.invalid(at[i] / "type", type, "must be a standard limit type or fully qualified");
    if (!types.insert(type).second) findings.duplicate(at[i] / "type", type);
    check_limit(limits[i], at[i], findings);
  }
}

}  // namespace

KindRow limit_range() {
  return Kind("v1", "LimitRange", "limitranges")
      .short_name("limits")
      .creates_on_update()
      .name_column()
      .column("Created At", text("metadata.creationTimestamp"), "date")
      .fill(&fill_limits)
      .check(&check_limits);
}

}  // namespace berth::apiserver
