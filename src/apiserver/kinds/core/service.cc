// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/service_check.h"

namespace berth::apiserver {
namespace {

std::string cluster_ip(const kube::Object& service) {
  const json::Slice ips = service.member("spec")["clusterIPs"];
  return ips.size() > 0 ? ips[std::size_t{0}].text() : "<none>";
}

std::string external_ip(const kube::Object& service) {
  const json::Slice spec = service.member("spec");
  const std::string type = spec["type"].text(), given = joined(spec["externalIPs"]);
  if (type == "ClusterIP" || type == "NodePort") return given.empty() ? "<none>" : given;
  if (type == "ExternalName") return spec["externalName"].text();
  if (type != "LoadBalancer") return "<unknown>";
  const std::string balancer = load_balancer_text(service.status()["loadBalancer"]);
  if (given.empty()) return balancer.empty() ? "<pending>" : balancer;
  return balancer.empty() ? given : balancer + "," + given;
}

std::string ports(const kube::Object& service) {
  std::string out;
  for (const json::Slice port : service.member("spec")["ports"].elements()) {
    if (!out.empty()) out += ',';
    const std::int64_t number = port["port"].integer().value_or(0);
    const std::int64_t node = port["nodePort"].integer().value_or(0);
    out += node > 0 ? fmt::format("{}:{}/{}", number, node, port["protocol"].text())
                    : fmt::format("{}/{}", number, port["protocol"].text());
  }
  return out.empty() ? "<none>" : out;
}

bool externally_accessible(Peek spec) {
  return spec["type"].is("LoadBalancer") || spec["type"].is("NodePort") ||
         (spec["type"].is("ClusterIP") && spec["externalIPs"].size() > 0);
}

void fill_service(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  set_default(*spec, "sessionAffinity", "None");
  const Peek affinity = Peek(*spec)["sessionAffinity"];
  if (affinity.is("None")) json::erase(*spec, "sessionAffinityConfig");
  if (Peek(*spec)["sessionAffinity"].is("ClientIP") &&
      !Peek(*spec)["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"])
    (*spec)["sessionAffinityConfig"] = {{"clientIP", {{"timeoutSeconds", 10800}}}};
  set_default(*spec, "type", "ClusterIP");
  each_dict(*spec, "ports", [](json::Dict& port) {
    set_default(port, "protocol", "TCP");
    const Peek target = Peek(port)["targetPort"];
    if (!target || (target.is_text() ? target.text().empty() : target.integer_or(0) == 0))
      port["targetPort"] = Peek(port)["port"].integer_or(0);
  });
  if (externally_accessible(Peek(*spec))) set_default(*spec, "externalTrafficPolicy", "Cluster");
  const std::string type{Peek(*spec)["type"].text()};
  if (type == "NodePort" || type == "LoadBalancer" || type == "ClusterIP")
    set_default(*spec, "internalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") set_default(*spec, "allocateLoadBalancerNodePorts", true);
}

// clusterIP is the first of clusterIPs, whichever was given.
void agree_on_cluster_ip(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr || Peek(*spec)["type"].is("ExternalName")) return;
  const std::string ip{Peek(*spec)["clusterIP"].text()};
  if (!ip.empty() && Peek(*spec)["clusterIPs"].size() == 0) (*spec)["clusterIPs"] = {bj(ip)};
}

void new_service(Edit& edit) {
  agree_on_cluster_ip(edit);
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr || Peek(*spec)["type"].is("ExternalName")) return;
  // k8s 1.36: who has neither address nor selector is taken to know both families.
  const bool both = Peek(*spec)["clusterIP"].is("None") && Peek(*spec)["selector"].size() == 0;
  if (both && !Peek(*spec)["ipFamilyPolicy"] && Peek(*spec)["ipFamilies"].size() == 0) {
    (*spec)["ipFamilyPolicy"] = "RequireDualStack";
    (*spec)["ipFamilies"] = {"IPv4", "IPv6"};
  }
  set_default(*spec, "ipFamilyPolicy", "SingleStack");
  if (Peek(*spec)["ipFamilies"].size() == 0) (*spec)["ipFamilies"] = json::List({"IPv4"});
}

// What was allotted stays allotted when an update leaves it out.
void keep_allotted(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  const Peek was = edit.was_body()["spec"];
  if (spec == nullptr || Peek(*spec)["type"].is("ExternalName") || was["type"].is("ExternalName"))
    return;
  for (const std::string_view field : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"})
    if (const Peek old = was[field]; old && !Peek(*spec)[field]) (*spec)[bj(field)] = *old.value();
  agree_on_cluster_ip(edit);
  if (Peek(*spec)["type"].is("ClusterIP")) return;
  each_dict(*spec, "ports", [&](json::Dict& port) {
    if (Peek(port)["nodePort"].integer_or(0) != 0) return;
    for (const json::Value& each : was["ports"].elements())
      if (Peek(each)["port"].integer_or(0) == Peek(port)["port"].integer_or(0) &&
          Peek(each)["protocol"].text() == Peek(port)["protocol"].text() &&
          Peek(each)["nodePort"].integer_or(0) != 0)
        port["nodePort"] = Peek(each)["nodePort"].integer_or(0);
  });
}

}  // namespace

KindRow service() {
  return Kind("v1", "Service", "services")
      .short_name("svc")
      .category("all")
      .creates_on_update()
      .named_by(&kube::check_dns_label)
      .status()
      .subresource({.name = "proxy",
                    .kind = "ServiceProxyOptions",
                    .verbs = {"create", "delete", "get", "patch", "update"}})
      .name_column()
      .column("Type", text("spec.type"))
      .column("Cluster-IP", shown(&cluster_ip))
      .column("External-IP", shown(&external_ip))
      .column("Port(s)", shown(&ports))
      .age_column()
      .wide("Selector", labels("spec.selector"))
      .selectable("spec.clusterIP")
      .selectable("spec.type")
      .fill(&fill_service)
      .on_create(&new_service)
      .on_update(&keep_allotted)
      .check(&check_service)
      .check_update(&check_service_update);
}

}  // namespace berth::apiserver
