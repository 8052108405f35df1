// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/pod_fill.h"
#include "apiserver/kinds/core/resources_check.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {

namespace {

// "cpu: 1/4, memory: 2Gi/8Gi", of limits or of all others.
std::string used(const kube::Object& object, bool of_limits) {
  std::map<std::string, std::string> sorted;
  const json::Slice status = object.status();
  for (const auto [name, hard] : status["hard"].members()) {
    if (name.starts_with("limits.") != of_limits) continue;
    const std::string amount = status["used"][name].text();
    sorted.emplace(name, (amount.empty() ? "0" : amount) + "/" + hard.text());
  }
  std::string out;
  for (const auto& [name, amounts] : sorted)
    out += (out.empty() ? "" : ", ") + name + ": " + amounts;
  return out;
}

bool is_quota_resource(std::string_view name) {
  constexpr std::string_view kRequests = "requests.";
  return one_of(name, {"cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory",
                       "requests.storage", "requests.ephemeral-storage", "limits.cpu",
                       "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas",
                       "services", "replicationcontrollers", "secrets", "persistentvolumeclaims",
                       "configmaps", "services.nodeports", "services.loadbalancers"}) ||
         is_huge_page(name) ||
         (name.starts_with(kRequests) && is_huge_page(name.substr(kRequests.size())));
}

void check_quota(Edit& edit, Findings& findings) {
  const Path at = Path("spec") / "hard";
  for (const auto& limit : Peek(edit.body())["spec"]["hard"].members()) {
    const std::string_view name = sv(limit.key());
    check_resource_name(name, at.key(name), findings);
    if (name.find('/') == std::string_view::npos && !is_quota_resource(name))
      findings.invalid(at.key(name), name, "must be a standard resource for quota");
    check_resource_amount(name, Peek(limit.value()), at.key(name), findings);
  }
  const Peek scopes = Peek(edit.body())["spec"]["scopes"];
  std::set<std::string_view> seen;
  for (const json::Value& each : scopes.elements()) {
    const std::string_view scope = Peek(each).text();
    if (!one_of(scope, {"Terminating", "NotTerminating", "BestEffort", "NotBestEffort",
                        "PriorityClass", "CrossNamespacePodAffinity", "VolumeAttributesClass"}))
      findings.invalid(Path("spec") / "scopes", as_shown(scopes), "unsupported scope");
    seen.insert(scope);
  }
  for (const auto& [one, other] :
       {std::pair("BestEffort", "NotBestEffort"), std::pair("Terminating", "NotTerminating")})
    if (seen.contains(one) && seen.contains(other))
      findings.invalid(Path("spec") / "scopes", as_shown(scopes), "conflicting scopes");
}

}  // namespace

KindRow resource_quota() {
  return Kind("v1", "ResourceQuota", "resourcequotas")
      .short_name("quota")
      .status()
      .name_column()
      .column("Request", shown([](const kube::Object& o) { return used(o, false); }))
      .column("Limit", shown([](const kube::Object& o) { return used(o, true); }))
      .age_column()
      .fill([](Edit& edit) {
        if (json::Dict* spec = dict_in(edit.body(), "spec")) round_amounts(*spec, "hard");
      })
      .check(&check_quota);
}

}  // namespace berth::apiserver
