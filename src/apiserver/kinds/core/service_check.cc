// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/core/service_check.h"

#include <set>

#include <fmt/format.h>

#include "apiserver/kinds/object_meta.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

bool headless(Peek spec) {
  return spec["clusterIPs"].size() == 1 && spec["clusterIPs"][std::size_t{0}].is("None");
}

void check_type(Peek spec, const Path& at, Findings& findings) {
  const std::string_view type = spec["type"].text();
  if (type == "LoadBalancer" || type == "NodePort") {
    if (headless(spec))
      findings.invalid((at / "clusterIPs")[0], "None",
                       fmt::format("may not be set to 'None' for {} services", type));
  } else if (type == "ExternalName") {
    for (const std::string_view field : {"clusterIPs", "ipFamilies", "ipFamilyPolicy"})
      if (spec[field].size() > 0 || spec[field].is_text())
        findings.forbidden(at / field, "may not be set for ExternalName services");
    std::string_view name = spec["externalName"].text();
    if (name.ends_with('.')) name.remove_suffix(1);
    if (name.empty())
      findings.required(at / "externalName");
    else
      must_be(&kube::check_dns_subdomain, name, at / "externalName", findings);
  }
}

void check_ports(Peek ports, const Path& at, Findings& findings) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Peek port = ports[i];
    const std::string_view name = port["name"].text();
    if (ports.size() > 1 && name.empty()) {
      findings.required(at[i] / "name");
    } else if (!name.empty()) {
      must_be(&kube::check_dns_label, name, at[i] / "name", findings);
      if (!names.insert(name).second) findings.duplicate(at[i] / "name", name);
    }
    complain(check_port_number(port["port"].integer_or(0)), port["port"].integer_or(0),
             at[i] / "port", findings);
    must_be_one_of(port["protocol"].text(), {"SCTP", "TCP", "UDP"}, at[i] / "protocol", findings);
    must_be_port(port["targetPort"], at[i] / "targetPort", findings);
    if (port["appProtocol"])
      must_be(&kube::check_qualified_name, port["appProtocol"].text(), at[i] / "appProtocol",
              findings);
  }
}

void check_unique_ports(Peek spec, const Path& at, Findings& findings) {
  const Peek ports = spec["ports"];
  if (spec["type"].is("ClusterIP"))
    for (std::size_t i = 0; i < ports.size(); ++i)
      if (ports[i]["nodePort"].integer_or(0) != 0)
        findings.forbidden(at[i] / "nodePort", "may not be used when `type` is 'ClusterIP'");
  std::set<std::pair<std::string_view, std::int64_t>> node_ports, numbers;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::int64_t node_port = ports[i]["nodePort"].integer_or(0);
    if (node_port != 0 && !node_ports.emplace(ports[i]["protocol"].text(), node_port).second)
      findings.duplicate(at[i] / "nodePort", node_port);
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string_view protocol = ports[i]["protocol"].text();
    const std::int64_t number = ports[i]["port"].integer_or(0);
    if (!numbers.emplace(protocol, number).second)
      findings.duplicate(
          at[i], Shown::raw(fmt::format("{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,"
                                        "\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                                        Shown(protocol).text(), number)));
  }
}

void check_addresses(Peek spec, const Path& at, Findings& findings) {
  if (spec["type"].is("ExternalName")) return;
  const std::string_view ip = spec["clusterIP"].text();
  const Peek ips = spec["clusterIPs"], families = spec["ipFamilies"];
  const Path ips_at = at / "clusterIPs";
  if (!ip.empty()) {
    if (ips.size() == 0)
      findings.required(ips_at);
    else if (ips[std::size_t{0}].text() != ip)
      findings.invalid(ips_at, as_shown(ips), "first value must match `clusterIP`");
  } else if (ips.size() > 0) {
    findings.invalid(ips_at, as_shown(ips), "must be empty when `clusterIP` is not specified");
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < families.size(); ++i) {
    const std::string_view family = families[i].text();
    if (!one_of(family, {"IPv4", "IPv6"}))
      findings.not_supported((at / "ipFamilies")[i], family, {"IPv4", "IPv6"});
    if (!seen.insert(family).second) findings.duplicate((at / "ipFamilies")[i], family);
  }
  if (spec["ipFamilyPolicy"] && !one_of(spec["ipFamilyPolicy"].text(),
                                        {"PreferDualStack", "RequireDualStack", "SingleStack"}))
    findings.not_supported(at / "ipFamilyPolicy", spec["ipFamilyPolicy"].text(),
                           {"PreferDualStack", "RequireDualStack", "SingleStack"});
  for (std::size_t i = 0; i < ips.size(); ++i) {
    if (i == 0 && ips[i].is("None")) {
      if (ips.size() > 1)
        findings.invalid(ips_at, as_shown(ips), "'None' must be the first and only value");
      continue;
    }
    complain(check_ip(ips[i].text()), ips[i].text(), ips_at[i], findings);
  }
  if (ips.size() > 2) findings.invalid(ips_at, as_shown(ips), "may only hold up to 2 values");
}

bool externally_accessible(Peek spec) {
  return spec["type"].is("LoadBalancer") || spec["type"].is("NodePort") ||
         (spec["type"].is("ClusterIP") && spec["externalIPs"].size() > 0);
}

void check_traffic(Peek spec, const Path& at, Findings& findings) {
  const std::string_view external = spec["externalTrafficPolicy"].text();
  if (!externally_accessible(spec)) {
    if (!external.empty())
      findings.invalid(at / "externalTrafficPolicy", external,
                       "may only be set for externally-accessible services");
  } else {
    must_be_one_of(external, {"Cluster", "Local"}, at / "externalTrafficPolicy", findings);
  }
  const std::int64_t health = spec["healthCheckNodePort"].integer_or(0);
  const bool needs_health = spec["type"].is("LoadBalancer") && external == "Local";
  if (!needs_health && health != 0)
    findings.invalid(at / "healthCheckNodePort", health,
                     "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
                     "'Local'");
  const Peek internal = spec["internalTrafficPolicy"];
  if (internal && !one_of(internal.text(), {"Cluster", "Local"}))
    findings.not_supported(at / "internalTrafficPolicy", internal.text(), {"Cluster", "Local"});
  const Peek spread = spec["trafficDistribution"];
  if (spread && !one_of(spread.text(), {"PreferClose", "PreferSameZone", "PreferSameNode"}))
    findings.not_supported(at / "trafficDistribution", spread.text(),
                           {"PreferClose", "PreferSameZone", "PreferSameNode"});
}

}  // namespace

void check_service(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"];
  const Path at("spec");
  if (spec["ports"].size() == 0 && !headless(spec) && !spec["type"].is("ExternalName"))
    findings.required(at / "ports");
  check_type(spec, at, findings);
  check_ports(spec["ports"], at / "ports", findings);
  check_labels(spec["selector"], at / "selector", findings);
  must_be_one_of(spec["sessionAffinity"].text(), {"ClientIP", "None"}, at / "sessionAffinity",
                 findings);
  if (spec["sessionAffinity"].is("ClientIP")) {
    const std::int64_t seconds =
        spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].integer_or(0);
    if (seconds <= 0 || seconds > 86400)
      findings.invalid(at / "sessionAffinityConfig" / "clientIP" / "timeoutSeconds", seconds,
                       "must be greater than 0 and less than 86400");
  }
  check_addresses(spec, at, findings);
  for (std::size_t i = 0; i < spec["externalIPs"].size(); ++i)
    complain(check_ip(spec["externalIPs"][i].text()), spec["externalIPs"][i].text(),
             (at / "externalIPs")[i], findings);
  const std::string_view type = spec["type"].text();
  if (!one_of(type, {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}))
    findings.not_supported(at / "type", type,
                           {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"});
  check_unique_ports(spec, at / "ports", findings);
  if (spec["loadBalancerSourceRanges"].size() > 0 && type != "LoadBalancer")
    findings.forbidden(at / "LoadBalancerSourceRanges",
                       "may only be used when `type` is 'LoadBalancer'");
  if (spec["allocateLoadBalancerNodePorts"] && type != "LoadBalancer")
    findings.forbidden(at / "allocateLoadBalancerNodePorts",
                       "may only be used when `type` is 'LoadBalancer'");
  if (spec["loadBalancerClass"] && type != "LoadBalancer")
    findings.forbidden(at / "loadBalancerClass", "may only be used when `type` is 'LoadBalancer'");
  check_traffic(spec, at, findings);
}

void check_service_update(Edit& edit, Findings& findings) {
  const Peek now = Peek(edit.body())["spec"], was = edit.was_body()["spec"];
  if (now["type"].is("ExternalName") || was["type"].is("ExternalName")) return;
  const Peek ips = now["clusterIPs"], old = was["clusterIPs"];
  if (old.size() > 0 && ips.size() > 0 && ips[std::size_t{0}].text() != old[std::size_t{0}].text())
    findings.invalid(Path("spec") / "clusterIPs", as_shown(ips), "may not change once set");
}

}  // namespace berth::apiserver
