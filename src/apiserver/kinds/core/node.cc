// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <fmt/format.h>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/pod_fill.h"
#include "apiserver/kinds/core/resources_check.h"
#include "apiserver/kinds/findings.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

std::string status(const kube::Object& node) {
  std::string out;
  for (const json::Slice condition : node.status()["conditions"].elements())
    if (condition["type"].equals("Ready"))
      out = condition["status"].equals("True") ? "Ready" : "NotReady";
  if (out.empty()) out = "Unknown";
  if (node.member("spec")["unschedulable"].boolean()) out += ",SchedulingDisabled";
  return out;
}

std::string roles(const kube::Object& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::set<std::string> sorted;
  for (const auto [key, value] : node.labels().members()) {
    if (key.starts_with(kPrefix)) {
      if (key.size() > kPrefix.size()) sorted.emplace(key.substr(kPrefix.size()));
    } else if (key == "kubernetes.io/role" && !value.text().empty()) {
      sorted.insert(value.text());
    }
  }
  return sorted.empty() ? "<none>" : fmt::format("{}", fmt::join(sorted, ","));
}

Cell address(std::string_view type) {
  return shown([type](const kube::Object& node) -> std::string {
    for (const json::Slice each : node.status()["addresses"].elements())
      if (each["type"].equals(type)) return each["address"].text();
    return "<none>";
  });
}

std::string kernel(const kube::Object& node) {
  const json::Slice info = node.status()["nodeInfo"];
  std::string out = info["kernelVersion"].text();
  if (out.empty()) out = "<unknown>";
  const std::string architecture = info["architecture"].text();
  return architecture.empty() ? out : fmt::format("{} ({})", out, architecture);
}

std::string unschedulable(const kube::Object& node) {
  return node.member("spec")["unschedulable"].boolean() ? "true" : "false";
}

void fill_node(Edit& edit) {
  if (!edit.status().is_object()) return;
  json::Dict& fields = edit.status().as_object();
  for (const std::string_view list : {"capacity", "allocatable"}) round_amounts(fields, list);
  if (Peek(fields)["capacity"] && !Peek(fields)["allocatable"])
    fields["allocatable"] = *Peek(fields)["capacity"].value();
  // podCIDR is the first of podCIDRs, whichever was given.
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  const std::string first{Peek(*spec)["podCIDR"].text()};
  if (Peek(*spec)["podCIDRs"].size() > 0)
    (*spec)["podCIDR"] = *Peek(*spec)["podCIDRs"][std::size_t{0}].value();
  else if (!first.empty())
    (*spec)["podCIDRs"] = {bj(first)};
}

void check_taints(Peek taints, const Path& at, Findings& findings) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const std::string_view key = taints[i]["key"].text(), value = taints[i]["value"].text(),
                           effect = taints[i]["effect"].text();
    must_be(&kube::check_qualified_name, key, at[i] / "key", findings);
    if (const kube::Complaints why = kube::check_label_value(value); !why.empty())
      findings.invalid(at[i] / "value", value, fmt::format("{}", fmt::join(why, ";")));
    must_be_one_of(effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"}, at[i] / "effect",
                   findings);
    if (!seen.emplace(effect, key).second) {
      const auto field = [&](std::string_view name) {
        const Peek found = taints[i][name];
        return found ? as_shown(found).text() : std::string("null");
      };
      findings.duplicate(at[i], Shown::raw(fmt::format(
                                    "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{}}}: "
                                    "taints must be unique by key and effect pair",
                                    Shown(key).text(), Shown(value).text(), Shown(effect).text(),
                                    field("timeAdded"))));
    }
  }
}

void check_node(Edit& edit, Findings& findings) {
  const Peek fields(edit.status());
  // k8s 1.36: taints are told as if they stood in the metadata.
  check_taints(Peek(edit.body())["spec"]["taints"], Path("metadata") / "taints", findings);
  for (const std::string_view list : {"capacity", "allocatable"})
    for (const auto& amount : fields[list].members())
      check_resource_amount(sv(amount.key()), Peek(amount.value()),
                            Path("status") / list / sv(amount.key()), findings);
}

void check_node_update(Edit& edit, Findings& findings) {
  const Peek now = Peek(edit.body())["spec"], was = edit.was_body()["spec"];
  const Path at("spec");
  if (was["podCIDRs"].size() > 0 && !same(now["podCIDRs"], was["podCIDRs"]))
    findings.forbidden(at / "podCIDRs",
                       "node updates may not change podCIDR except from \"\" to valid");
  if (!was["providerID"].text().empty() && now["providerID"].text() != was["providerID"].text())
    findings.forbidden(at / "providerID",
                       "node updates may not change providerID except from \"\" to valid");
}

}  // namespace

KindRow node() {
  KindRow row =
      Kind("v1", "Node", "nodes")
          .cluster_scoped()
          .short_name("no")
          .status()
          .subresource({.name = "proxy",
                        .kind = "NodeProxyOptions",
                        .verbs = {"create", "delete", "get", "patch", "update"}})
          .name_column()
          .column("Status", shown(&status))
          .column("Roles", shown(&roles))
          .age_column()
          .column("Version", text("status.nodeInfo.kubeletVersion"))
          .wide("Internal-IP", address("InternalIP"))
          .wide("External-IP", address("ExternalIP"))
          .wide("OS-Image", text("status.nodeInfo.osImage", "<unknown>"))
          .wide("Kernel-Version", shown(&kernel))
          .wide("Container-Runtime", text("status.nodeInfo.containerRuntimeVersion", "<unknown>"))
          .selectable("spec.unschedulable", &unschedulable)
          .fill(&fill_node)
          .check(&check_node)
          .check_update(&check_node_update);
  // A node is created with the status that its kubelet gives it.
  row.status_on_create = true;
  return row;
}

}  // namespace berth::apiserver
