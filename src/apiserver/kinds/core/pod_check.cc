// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/core/pod_check.h"

#include <charconv>

#include <fmt/format.h>

#include "apiserver/kinds/core/resources_check.h"
#include "apiserver/kinds/object_meta.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

void check_resource_claims(Peek claims, const Path& at, Findings& findings) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Peek claim = claims[i];
    const std::string_view name = claim["name"].text();
    if (name.empty())
      findings.required(at[i] / "name");
    else if (!names.insert(name).second)
      findings.duplicate(at[i] / "name", name);
    else
      must_be(&kube::check_dns_label, name, at[i] / "name", findings);
    const Peek one = claim["resourceClaimName"], made = claim["resourceClaimTemplateName"];
    // Kubernetes shows its own struct here.
    const auto pointer = [](Peek p) { return p ? as_shown(p).text() : std::string("null"); };
    const Shown whole = Shown::raw(
        fmt::format("{{\"Name\":{},\"ResourceClaimName\":{},\"ResourceClaimTemplateName\":{}}}",
                    Shown(name).text(), pointer(one), pointer(made)));
    if (one && made)
      findings.invalid(at[i], whole,
                       "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be "
                       "specified");
    if (!one && !made)
      findings.invalid(at[i], whole,
                       "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    for (const std::string_view field : {"resourceClaimName", "resourceClaimTemplateName"})
      if (claim[field])
        must_be(&kube::check_dns_subdomain, claim[field].text(), at[i] / field, findings);
  }
}

// A subdomain whose labels may have underscores, and begin with one.
bool is_search_path(std::string_view path) {
  if (path.empty() || path.size() > 253) return false;
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  while (true) {
    const std::size_t dot = path.find('.');
    std::string_view label = path.substr(0, dot);
    if (label.starts_with('_')) label.remove_prefix(1);
    if (label.empty() || !alphanumeric(label.front()) || !alphanumeric(label.back())) return false;
    for (const char c : label)
      if (!alphanumeric(c) && c != '-' && c != '_') return false;
    if (dot == std::string_view::npos) return true;
    path.remove_prefix(dot + 1);
  }
}

void check_dns(Peek spec, const Path& at, Findings& findings) {
  const Peek config = spec["dnsConfig"];
  if (spec["dnsPolicy"].is("None")) {
    if (!config) return findings.required(at, "must provide `dnsConfig` when `dnsPolicy` is None");
    if (config["nameservers"].size() == 0)
      return findings.required(at / "nameservers",
                               "must provide at least one DNS nameserver when `dnsPolicy` is None");
  }
  const Peek servers = config["nameservers"], searches = config["searches"];
  if (servers.size() > 3)
    findings.invalid(at / "nameservers", as_shown(servers),
                     "must not have more than 3 nameservers");
  for (std::size_t i = 0; i < servers.size(); ++i)
    complain(check_ip(servers[i].text()), servers[i].text(), (at / "nameservers")[i], findings);
  if (searches.size() > 32)
    findings.invalid(at / "searches", as_shown(searches),
                     "must not have more than 32 search paths");
  std::size_t length = searches.size() > 0 ? searches.size() - 1 : 0;
  for (std::size_t i = 0; i < searches.size(); ++i) length += searches[i].text().size();
  if (length > 2048)
    findings.invalid(at / "searches", as_shown(searches),
                     "must not have more than 2048 characters (including spaces) in the search "
                     "list");
  for (std::size_t i = 0; i < searches.size(); ++i) {
    std::string search(searches[i].text());
    if (search == ".") continue;
    if (search.ends_with('.')) search.pop_back();
    if (!is_search_path(search))
      findings.invalid(
          (at / "searches")[i], search,
          "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', "
          "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', "
          "regex used for validation is "
          "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')");
  }
  for (std::size_t i = 0; i < config["options"].size(); ++i)
    if (config["options"][i]["name"].text().empty())
      findings.required((at / "options")[i], "must not be empty");
}

void check_host_network(const PodRules& rules, const Path& at, Findings& findings) {
  if (!rules.spec["hostNetwork"].boolean()) return;
  const Peek containers = rules.spec["containers"];
  for (std::size_t c = 0; c < containers.size(); ++c)
    for (std::size_t p = 0; p < containers[c]["ports"].size(); ++p) {
      const Peek port = containers[c]["ports"][p];
      const std::int64_t host = port["hostPort"].integer_or(0);
      if ((rules.is_pod || host != 0) && host != port["containerPort"].integer_or(0))
        findings.invalid(((at / "containers")[c] / "ports")[p] / "hostPort", host,
                         "must match `containerPort` when `hostNetwork` is true");
    }
}

void check_gates(Peek spec, const Path& at, Findings& findings) {
  for (std::size_t i = 0; i < spec["readinessGates"].size(); ++i)
    must_be(&kube::check_qualified_name, spec["readinessGates"][i]["conditionType"].text(),
            (at / "readinessGates")[i] / "conditionType", findings);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < spec["schedulingGates"].size(); ++i) {
    const std::string_view name = spec["schedulingGates"][i]["name"].text();
    const Path here = (at / "schedulingGates")[i];
    must_be(&kube::check_qualified_name, name, here, findings);
    if (!seen.insert(name).second) findings.duplicate(here, name);
  }
}

void check_host_users(const PodRules& rules, const Path& at, Findings& findings) {
  if (rules.host_users()) return;
  constexpr std::pair<std::string_view, std::string_view> kFields[] = {
      {"hostNetwork", "hostNetwork"}, {"hostPID", "HostPID"}, {"hostIPC", "HostIPC"}};
  for (const auto& [field, told] : kFields)
    if (rules.spec[field].boolean()) findings.forbidden(at / told, "when `hostUsers` is false");
  for (const std::string_view list : {"initContainers", "containers"})
    for (std::size_t i = 0; i < rules.spec[list].size(); ++i)
      if (rules.spec[list][i]["volumeDevices"].size() > 0)
        findings.forbidden((at / list)[i] / "volumeDevices", "when `hostUsers` is false");
}

void check_hostname(Peek spec, const Path& at, Findings& findings) {
  const Peek name = spec["hostnameOverride"];
  if (!name) return;
  const Path here = at / "hostnameOverride";
  if (spec["setHostnameAsFQDN"].boolean())
    findings.forbidden(here, "may not be specified when setHostnameAsFQDN is true");
  if (spec["hostNetwork"].boolean())
    findings.forbidden(here, "may not be specified when hostNetwork is true");
  if (name.text().size() > 64) findings.too_long(here, 64);
  must_be(&kube::check_dns_subdomain, name.text(), here, findings);
}

void check_names(Peek spec, const Path& at, Findings& findings) {
  const auto check = [&](std::string_view field, NameRule rule) {
    if (!spec[field].text().empty()) must_be(rule, spec[field].text(), at / field, findings);
  };
  check("serviceAccountName", &kube::check_dns_subdomain);
  check("nodeName", &kube::check_dns_subdomain);
  if (const auto seconds = spec["activeDeadlineSeconds"].integer();
      seconds && (*seconds < 1 || *seconds > 2147483647))
    findings.invalid(at / "activeDeadlineSeconds", *seconds,
                     "must be between 1 and 2147483647, inclusive");
  check("hostname", &kube::check_dns_label);
  check("subdomain", &kube::check_dns_label);
}

void check_host_aliases(Peek aliases, const Path& at, Findings& findings) {
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    complain(check_ip(aliases[i]["ip"].text()), aliases[i]["ip"].text(), at[i] / "ip", findings);
    for (std::size_t h = 0; h < aliases[i]["hostnames"].size(); ++h)
      must_be(&kube::check_dns_subdomain, aliases[i]["hostnames"][h].text(),
              (at[i] / "hostnames")[h], findings);
  }
}

void check_os(Peek spec, const Path& at, Findings& findings) {
  const Peek os = spec["os"];
  if (!os) return;
  const std::string_view name = os["name"].text();
  if (name.empty()) return findings.required(at / "os" / "name");
  if (!one_of(name, {"linux", "windows"}))
    return findings.not_supported(at / "os", name, {"linux", "windows"});
  if (name != "linux") return;
  constexpr std::string_view kWhy = "windows options cannot be set for a linux pod";
  if (spec["securityContext"]["windowsOptions"])
    findings.forbidden(at / "securityContext" / "windowsOptions", kWhy);
  for (const std::string_view list : {"initContainers", "containers"})
    for (std::size_t i = 0; i < spec[list].size(); ++i)
      if (spec[list][i]["securityContext"]["windowsOptions"])
        findings.forbidden((at / list)[i] / "securityContext" / "windowsOptions", kWhy);
}

void check_file_key_refs(Peek spec, const Path& at, Findings& findings) {
  for (const std::string_view list : {"initContainers", "containers"})
    for (std::size_t c = 0; c < spec[list].size(); ++c)
      for (std::size_t e = 0; e < spec[list][c]["env"].size(); ++e) {
        const Peek ref = spec[list][c]["env"][e]["valueFrom"]["fileKeyRef"];
        if (!ref) continue;
        const std::string_view name = ref["volumeName"].text();
        const Path here = ((at / list)[c] / "env")[e] / "valueFrom" / "fileKeyRef" / "volumeName";
        Peek found;
        for (const json::Value& volume : spec["volumes"].elements())
          if (Peek(volume)["name"].text() == name) found = volume;
        if (!found)
          findings.not_found(here, name);
        else if (!found["emptyDir"])
          findings.invalid(here, name, "referenced volume must be of type emptyDir");
      }
}

}  // namespace

void check_pod_annotations(Peek annotations, Peek spec, const Path& at, Findings& findings) {
  constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
  constexpr std::string_view kCost = "controller.kubernetes.io/pod-deletion-cost";
  if (annotations[kMirror] && spec["nodeName"].text().empty())
    findings.invalid(at.key(kMirror), annotations[kMirror].text(),
                     "must set spec.nodeName if mirror pod annotation is set");
  if (const Peek cost = annotations[kCost]) {
    std::int32_t number = 0;
    std::string_view text = cost.text();
    const bool good = [&] {
      if (text.empty() || text.front() == '+' || text == "-0" ||
          (text.size() > 1 && text.front() == '0') || text.starts_with("-0"))
        return false;
      const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
      return read.ec == std::errc() && read.ptr == text.data() + text.size();
    }();
    if (!good) findings.invalid(at.key(kCost), text, "must be a 32bit integer");
  }
}

void check_pod_spec(Peek spec, Peek metadata, bool is_pod, const Path& at, Findings& findings) {
  PodRules rules{.spec = spec, .metadata = metadata, .is_pod = is_pod};
  for (const json::Value& claim : spec["resourceClaims"].elements())
    rules.claims.insert(Peek(claim)["name"].text());
  if (!spec["terminationGracePeriodSeconds"])
    findings.required(at / "terminationGracePeriodSeconds");
  check_volumes(rules, at / "volumes", findings);
  check_resource_claims(spec["resourceClaims"], at / "resourceClaims", findings);
  check_containers(rules, at / "containers", findings);
  check_init_containers(rules, at / "initContainers", findings);
  check_pod_resources(spec, rules.claims, at, findings);
  check_host_network(rules, at, findings);
  must_be_one_of(spec["restartPolicy"].text(), {"Always", "OnFailure", "Never"},
                 at / "restartPolicy", findings);
  must_be_one_of(spec["dnsPolicy"].text(),
                 {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"}, at / "dnsPolicy",
                 findings);
  check_labels(spec["nodeSelector"], at / "nodeSelector", findings);
  check_pod_security(spec, at, findings);
  check_affinity(spec["affinity"], at / "affinity", findings);
  check_dns(spec, at / "dnsConfig", findings);
  check_gates(spec, at, findings);
  check_spread_constraints(spec["topologySpreadConstraints"], at / "topologySpreadConstraints",
                           findings);
  check_host_users(rules, at, findings);
  check_hostname(spec, at, findings);
  check_names(spec, at, findings);
  check_tolerations(spec["tolerations"], at / "tolerations", findings);
  check_host_aliases(spec["hostAliases"], at / "hostAliases", findings);
  for (const std::string_view field : {"priorityClassName", "runtimeClassName"})
    if (!spec[field].text().empty() || (field == "runtimeClassName" && spec[field]))
      must_be(&kube::check_dns_subdomain, spec[field].text(), at / field, findings);
  if (spec["preemptionPolicy"])
    must_be_one_of(spec["preemptionPolicy"].text(), {"PreemptLowerPriority", "Never"},
                   at / "preemptionPolicy", findings);
  if (spec["overhead"]) {
    json::Dict limits;
    limits["limits"] = *spec["overhead"].value();
    check_resources(Peek(limits), false, {}, at / "overhead", findings);
  }
  check_os(spec, at, findings);
  check_file_key_refs(spec, at, findings);
}

void check_pod_template(Peek pod_template, const Path& at, Findings& findings) {
  const Peek metadata = pod_template["metadata"], spec = pod_template["spec"];
  check_labels(metadata["labels"], at / "labels", findings);
  check_annotations(metadata["annotations"], at / "annotations", findings);
  check_pod_annotations(metadata["annotations"], spec, at / "annotations", findings);
  check_pod_spec(spec, {}, false, at / "spec", findings);
  if (spec["ephemeralContainers"].size() > 0)
    findings.forbidden(at / "spec" / "ephemeralContainers",
                       "ephemeral containers not allowed in pod template");
}

}  // namespace berth::apiserver
