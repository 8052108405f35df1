// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/core/resources_check.h"

#include <fmt/format.h>

#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

bool is_native(std::string_view name) {
  return name.find('/') == std::string_view::npos ||
         name.find("kubernetes.io/") != std::string_view::npos;
}

bool is_standard_for_containers(std::string_view name) {
  return one_of(name, {"cpu", "memory", "ephemeral-storage"}) || is_huge_page(name);
}

bool is_standard(std::string_view name) {
  return is_standard_for_containers(name) ||
         one_of(name, {"requests.cpu", "requests.memory", "requests.storage",
                       "requests.ephemeral-storage", "limits.cpu", "limits.memory",
                       "limits.ephemeral-storage", "storage", "pods", "resourcequotas", "services",
                       "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims",
                       "services.nodeports", "services.loadbalancers"}) ||
         name.starts_with("requests.hugepages-");
}

void check_container_resource_name(std::string_view name, const Path& at, Findings& findings) {
  check_resource_name(name, at, findings);
  if (name.find('/') == std::string_view::npos) {
    if (!is_standard_for_containers(name))
      findings.invalid(at, name, "must be a standard resource for containers");
  } else if (!is_native(name) && !is_extended_resource(name)) {
    findings.invalid(at, name, "doesn't follow extended resource name standard");
  }
}

void check_pod_resource_name(std::string_view name, const Path& at, Findings& findings) {
  const std::size_t before = findings.size();
  check_resource_name(name, at, findings);
  if (findings.size() > before) return;
  if (!is_pod_level_resource(name))
    findings.not_supported(at, name, {"cpu", "hugepages-", "memory"});
}

void check_huge_page_amount(std::string_view resource, Peek amount, const Path& at,
                            Findings& findings) {
  if (!is_huge_page(resource)) return;
  const Result<kube::Quantity> page =
      kube::Quantity::parse(resource.substr(std::string_view("hugepages-").size()));
  const std::int64_t size = page ? page->value() : 0;
  if (size > 0 && quantity(amount).value() % size == 0) return;
  findings.invalid(
      at, amount.text(),
      fmt::format("{} is not positive integer multiple of {}", amount.text(), resource));
}

void check_claims(Peek claims, const std::set<std::string_view>& known, const Path& at,
                  Findings& findings) {
  std::set<std::string> seen;
  std::size_t i = 0;
  for (const json::Value& each : claims.elements()) {
    const Path here = at[i++];
    const std::string name{Peek(each)["name"].text()};
    const std::string_view request = Peek(each)["request"].text();
    if (name.empty()) {
      findings.required(here);
      continue;
    }
    if (seen.contains(name)) {
      findings.duplicate(here, name);
    } else {
      std::string key = name;
      if (!request.empty()) {
        must_be(&kube::check_dns_label, request, here / "request", findings);
        key += fmt::format("/{}", request);
      }
      if (seen.contains(key))
        findings.duplicate(here, key);
      else if (request.empty())
        for (const std::string& other : seen)
          if (other.starts_with(name + "/")) findings.duplicate(here, name);
      seen.insert(key);
    }
    if (known.contains(name)) continue;
    findings.not_found(here, name,
                       "must be one of the names in pod.spec.resourceClaims" +
                           (known.empty() ? std::string(" which is empty")
                                          : fmt::format(": {}", fmt::join(known, ", "))));
  }
}

void check_consistency(Peek spec, const Path& at, Findings& findings) {
  const Peek resources = spec["resources"];
  for (const auto& [name, needed] : aggregate_containers(spec, "requests")) {
    const Peek pod = resources["requests"][name];
    if (pod && quantity(pod) < needed)
      findings.invalid(
          (at / "requests").key(name), pod.text(),
          "must be greater than or equal to aggregate container requests of " + needed.text());
  }
  for (const auto& [name, needed] : aggregate_containers(spec, "limits")) {
    const Peek pod = resources["limits"][name];
    if (is_huge_page(name) && pod && quantity(pod) < needed)
      findings.invalid(
          (at / "limits").key(name), pod.text(),
          "must be greater than or equal to aggregate container limits of " + needed.text());
  }
  std::size_t i = 0;
  for (const json::Value& each : spec["containers"].elements()) {
    for (const auto& limit : Peek(each)["resources"]["limits"].members()) {
      const Peek pod = resources["limits"][sv(limit.key())];
      if (pod && quantity(pod) < quantity(Peek(limit.value())))
        findings.invalid((at / "containers")[i].key(sv(limit.key())) / "limits",
                         Peek(limit.value()).text(),
                         fmt::format("must be less than or equal to pod limits of {}", pod.text()));
    }
    ++i;
  }
}

}  // namespace

// What the containers need together: the larger of the sum of those that run side by side and the
// most that an init container needs while the sidecars before it run.
std::map<std::string, kube::Quantity> aggregate_containers(Peek spec, std::string_view kind) {
  using Amounts = std::map<std::string, kube::Quantity>;
  Amounts sum, sidecars, most;
  const auto add = [&](Amounts& to, Peek container) {
    for (const auto& entry : container["resources"][kind].members())
      to[std::string(sv(entry.key()))] += quantity(Peek(entry.value()));
  };
  for (const json::Value& each : spec["containers"].elements()) add(sum, each);
  for (const json::Value& each : spec["initContainers"].elements()) {
    Amounts now = sidecars;
    if (Peek(each)["restartPolicy"].is("Always")) {
      add(sidecars, each);
      add(sum, each);
      now = sidecars;
    } else {
      add(now, each);
    }
    for (const auto& [name, amount] : now)
      if (auto [at, added] = most.emplace(name, amount); !added && at->second < amount)
        at->second = amount;
  }
  for (const auto& [name, amount] : most)
    if (auto [at, added] = sum.emplace(name, amount); !added && at->second < amount)
      at->second = amount;
  return sum;
}

bool is_pod_level_resource(std::string_view name) {
  return one_of(name, {"cpu", "memory"}) || is_huge_page(name);
}

bool is_huge_page(std::string_view name) { return name.starts_with("hugepages-"); }

bool is_extended_resource(std::string_view name) {
  if (is_native(name) || name.starts_with("requests.")) return false;
  return kube::check_qualified_name(fmt::format("requests.{}", name)).empty();
}

bool is_overcommit_allowed(std::string_view name) { return is_native(name) && !is_huge_page(name); }

bool is_integer_resource(std::string_view name) {
  return one_of(name, {"pods", "services", "replicationcontrollers", "resourcequotas", "secrets",
                       "configmaps", "persistentvolumeclaims", "services.nodeports",
                       "services.loadbalancers"}) ||
         is_extended_resource(name);
}

void check_resource_name(std::string_view name, const Path& at, Findings& findings) {
  const kube::Complaints complaints = kube::check_qualified_name(name);
  complain(complaints, name, at, findings);
  if (complaints.empty() && name.find('/') == std::string_view::npos && !is_standard(name))
    findings.invalid(at, name, "must be a standard resource type or fully qualified");
}

void check_resource_amount(std::string_view resource, Peek amount, const Path& at,
                           Findings& findings) {
  const kube::Quantity read = quantity(amount);
  if (read.sign() < 0) findings.invalid(at, amount.text(), "must be greater than or equal to 0");
  if (is_integer_resource(resource) && read.milli_value() % 1000 != 0)
    findings.invalid(at, amount.text(), "must be an integer");
}

void check_resources(Peek requirements, bool of_pod, const std::set<std::string_view>& claims,
                     const Path& at, Findings& findings) {
  const Peek limits = requirements["limits"], requests = requirements["requests"];
  const Path limits_at = at / "limits", requests_at = at / "requests";
  bool basic = false, huge = false;
  const auto check_one = [&](std::string_view name, Peek amount, const Path& here) {
    if (of_pod)
      check_pod_resource_name(name, here, findings);
    else
      check_container_resource_name(name, here, findings);
    check_resource_amount(name, amount, here, findings);
    huge |= is_huge_page(name);
    basic |= name == "cpu" || name == "memory";
  };
  for (const auto& limit : limits.members()) {
    const std::string_view name = sv(limit.key());
    check_one(name, limit.value(), limits_at.key(name));
    check_huge_page_amount(name, limit.value(), limits_at.key(name), findings);
  }
  for (const auto& request : requests.members()) {
    const std::string_view name = sv(request.key());
    const Peek amount(request.value()), limit = limits[name];
    check_one(name, amount, requests_at.key(name));
    if (limit) {
      const kube::Quantity asked = quantity(amount), allowed = quantity(limit);
      if (asked != allowed && !is_overcommit_allowed(name))
        findings.invalid(requests_at, amount.text(),
                         fmt::format("must be equal to {} limit of {}", name, limit.text()));
      else if (asked > allowed)
        findings.invalid(
            requests_at, amount.text(),
            fmt::format("must be less than or equal to {} limit of {}", name, limit.text()));
    } else if (!is_overcommit_allowed(name)) {
      findings.required(limits_at, "Limit must be set for non overcommitable resources");
    }
    check_huge_page_amount(name, amount, requests_at.key(name), findings);
  }
  if (huge && !basic) findings.forbidden(at, "HugePages require cpu or memory");
  check_claims(requirements["claims"], claims, at / "claims", findings);
}

void check_pod_resources(Peek pod_spec, const std::set<std::string_view>& claims, const Path& spec,
                         Findings& findings) {
  const Peek resources = pod_spec["resources"];
  if (!resources) return;
  const Path at = spec / "resources";
  if (pod_spec["os"]["name"].is("windows"))
    return findings.forbidden(at, "may not be set for a windows pod");
  if (resources["claims"])
    findings.forbidden(at / "claims", "claims may not be set for Resources at pod-level");
  check_resources(resources, true, claims, at, findings);
  check_consistency(pod_spec, at, findings);
}

}  // namespace berth::apiserver
