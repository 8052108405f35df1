// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/bootstrap.h"

#include <fmt/format.h>

#include "apiserver/auth/bootstrap_rbac.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/strategy.h"
#include "base/check.h"
#include "json/writer.h"

namespace berth::apiserver {

namespace {

std::string system_namespace(std::string_view name) {
  return fmt::format(
      R"({{"kind":"Namespace","apiVersion":"v1","metadata":{{"name":"{0}","labels":{{"kubernetes.io/metadata.name":"{0}"}}}},"spec":{{"finalizers":["kubernetes"]}},"status":{{"phase":"Active"}}}})",
      name);
}

std::string system_priority(std::string_view name, std::int64_t value, std::string_view what) {
  json::Writer w;
  w.object().member("kind").string("PriorityClass");
  w.member("apiVersion").string("scheduling.k8s.io/v1");
  w.member("metadata").object().member("name").string(name).end();
  w.member("value").integer(value).member("description").string(what);
  w.member("preemptionPolicy").string("PreemptLowerPriority").end();
  return w.take();
}

std::string authentication(const std::string& client_ca) {
  json::Writer w;
  w.object().member("kind").string("ConfigMap").member("apiVersion").string("v1");
  w.member("metadata").object().member("name").string("extension-apiserver-authentication");
  w.member("namespace").string("kube-system").end();
  w.member("data").object();
  if (!client_ca.empty()) w.member("client-ca-file").string(client_ca);
  w.end().end();
  return w.take();
}

std::string first_address(const ServiceRange& range) {
  const std::size_t dot = range.network.rfind('.');
  return fmt::format("{}.{}", range.network.substr(0, dot),
                     std::stoi(range.network.substr(dot + 1)) + 1);
}

std::vector<std::string> own_service(const std::string& address, std::uint16_t port,
                                     const ServiceRange& services) {
  std::vector<std::string> out;
  out.push_back(fmt::format(
      R"({{"kind":"Service","apiVersion":"v1","metadata":{{"name":"kubernetes","namespace":"default","labels":{{"component":"apiserver","provider":"kubernetes"}}}},"spec":{{"ports":[{{"name":"https","protocol":"TCP","port":443,"targetPort":{0}}}],"clusterIP":"{1}","clusterIPs":["{1}"],"type":"ClusterIP","sessionAffinity":"None","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","internalTrafficPolicy":"Cluster"}},"status":{{"loadBalancer":{{}}}}}})",
      port, first_address(services)));
  out.push_back(fmt::format(
      R"({{"kind":"Endpoints","apiVersion":"v1","metadata":{{"name":"kubernetes","namespace":"default","labels":{{"endpointslice.kubernetes.io/skip-mirror":"true"}}}},"subsets":[{{"addresses":[{{"ip":"{}"}}],"ports":[{{"name":"https","port":{},"protocol":"TCP"}}]}}]}})",
      address, port));
  out.push_back(fmt::format(
      R"({{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{{"name":"kubernetes","namespace":"default","labels":{{"kubernetes.io/service-name":"kubernetes"}}}},"addressType":"IPv4","endpoints":[{{"addresses":["{}"],"conditions":{{"ready":true}}}}],"ports":[{{"name":"https","protocol":"TCP","port":{}}}]}})",
      address, port));
  return out;
}

enum class Present : std::uint8_t { kKept, kReplaced };

void write_object(Store& store, const std::string& manifest, WallTime now,
                  const std::function<std::string()>& uid, Present present) {
  json::Arena arena;
  json::Value document = json::parse_good(manifest, arena);
  const auto kind =
      kube::find_kind(Peek(document)["apiVersion"].text(), Peek(document)["kind"].text());
  const KindRow* row = kind ? find_built_in(*kind) : nullptr;
  BERTH_CHECK(row != nullptr, "bootstrap objects are of built-in kinds");
  const kube::Key key{std::string(Peek(document)["metadata"]["namespace"].text()),
                      std::string(Peek(document)["metadata"]["name"].text())};
  const kube::Object* before = store.get(row->id, key, View::kTip);
  if (before != nullptr && present == Present::kKept) return;
  const Peek given = Peek(document)["status"];
  const std::string status = given ? json::print(*given.value()) : "";
  Edit edit(row->id, std::move(document), arena);
  fill(*row, edit);
  const auto write = [&](Edit& next) {
    auto object = std::move(next).commit(0);
    BERTH_CHECK(object.has_value(), "bootstrap objects are well formed");
    store.write({.kind = row->id,
                 .key = key,
                 .expect = before == nullptr ? Write::Expect::kAbsent : Write::Expect::kPresent,
                 .next = stamped(std::move(*object))},
                {});
  };
  if (before != nullptr) {
    Edit next(*before, arena);
    next.body() = edit.body();
    if (next.changed()) write(next);
    return;
  }
  const auto begun =
      begin_create(*row, edit, {.ns = key.ns, .uid = uid(), .name_suffix = "", .now = now});
  BERTH_CHECK(begun.has_value(), "bootstrap objects are well formed");
  if (!status.empty()) edit.status() = json::parse_good(status, arena);
  write(edit);
}

}  // namespace

std::vector<std::string> bootstrap_objects(const BootstrapOptions& options) {
  std::vector<std::string> out;
  for (const std::string_view name : {"kube-system", "kube-public", "kube-node-lease", "default"})
    out.push_back(system_namespace(name));
  out.push_back(system_priority(
      "system-node-critical", 2000001000,
      "Used for system critical pods that must not be moved from their current node."));
  out.push_back(system_priority("system-cluster-critical", 2000000000,
                                "Used for system critical pods that must run in the cluster, but "
                                "can be moved to another node if necessary."));
  for (std::string& manifest : bootstrap_rbac()) out.push_back(std::move(manifest));
  out.push_back(authentication(options.client_ca));
  return out;
}

void write_bootstrap(Store& store, const std::vector<std::string>& manifests, WallTime now,
                     const std::function<std::string()>& uid) {
  for (const std::string& manifest : manifests)
    write_object(store, manifest, now, uid, Present::kKept);
}

void write_current(Store& store, const std::vector<std::string>& manifests, WallTime now,
                   const std::function<std::string()>& uid) {
  for (const std::string& manifest : manifests)
    write_object(store, manifest, now, uid, Present::kReplaced);
}

void write_own_service(Store& store, const std::string& address, std::uint16_t port, WallTime now,
                       const std::function<std::string()>& uid, const ServiceRange& services) {
  write_current(store, own_service(address, port, services), now, uid);
}

}  // namespace berth::apiserver
