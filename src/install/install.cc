// SPDX-License-Identifier: Apache-2.0
#include "install/install.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "controllers/registry.h"
#include "json/yaml.h"
#include "kube/ours/ours.h"
#include "runtime/home.h"
#include "runtime/scavenge/roles.h"
#include "runtime/slots/roles.h"
#include "runtime/slots/scheduler_side.h"

namespace berth::install {
namespace {

std::string_view deploy_file(std::string_view name) {
  const auto found = std::find_if(kDeployFiles.begin(), kDeployFiles.end(),
                                  [&](const auto& file) { return file.first == name; });
  BERTH_CHECK(found != kDeployFiles.end(), fmt::format("deploy/{} was not built in", name));
  return found->second;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

// By group and resource: what can be given by Roles in the namespaces where controllers work, and
// what cannot. Pods are seen everywhere: what a node has left is what all of them leave.
using Verbs = std::map<std::pair<std::string, std::string>, std::set<std::string>>;
struct Rules {
  Verbs of_cluster, of_namespaces;
};
Rules rules_of(const std::vector<std::unique_ptr<runtime::Controller>>& controllers) {
  Rules rules;
  for (const auto& controller : controllers) {
    const runtime::Spec spec = controller->spec();
    const auto grant = [&](kube::KindId id, const std::string& part, const std::string& verb,
                           bool reads) {
      const kube::Kind& kind = kube::kind_of(id);
      const bool everywhere = !kind.namespaced || (reads && id == kube::kPod);
      (everywhere ? rules.of_cluster
                  : rules.of_namespaces)[{kind.group,
                                          part.empty() ? kind.plural : kind.plural + "/" + part}]
          .insert(verb);
    };
    for (const runtime::WatchSpec& watch : spec.watched())
      for (const char* verb : {"get", "list", "watch"}) grant(watch.kind, "", verb, true);
    for (const runtime::CallSpec& call : spec.calls()) {
      grant(call.kind, call.subresource, call.verb, false);
      if (call.kind != kube::kEvent) grant(call.kind, "", "get", false);  // an answer that was lost
    }
  }
  return rules;
}
// What the extender may do, and what a stock kube-scheduler has to be told to ask it.
void add_doors(const InstallOptions& options, std::vector<std::string>& documents) {
  const std::string account = options.ns + ":berth-extender";
  for (const std::string& manifest :
       runtime::door_role(runtime::Door::kExtender, "berth-extender", account))
    documents.push_back(json::json_to_yaml(manifest));
  for (const std::string& manifest : runtime::scavenger_door_role(
           runtime::ScavengerDoorKind::kReplica, "berth-extender-scavengers", account))
    documents.push_back(json::json_to_yaml(manifest));
  runtime::SchedulerSide side;
  side.url = fmt::format("https://berth-extender.{}.svc:9443/slots", options.ns);
  side.ca_file = "/etc/kubernetes/berth/ca.crt";
  side.cert_file = "/etc/kubernetes/berth/tls.crt";
  side.key_file = "/etc/kubernetes/berth/tls.key";
  side.scheduler_name = options.executors.scheduler;
  side.managed = options.executors.slot_resource;
  std::string text = fmt::format(
      "# Nothing reads this: merge `extenders` into the file that kube-scheduler's --config "
      "names.\n"
      "# In its node's network a scheduler does not know services' names: write the address "
      "instead.\n"
      "apiVersion: v1\nkind: ConfigMap\n"
      "metadata: {{name: berth-stock-scheduler, namespace: {}, labels: {{app: berth-extender, "
      "part: "
      "program}}}}\ndata:\n  kube-scheduler.yaml: |\n",
      options.ns);
  std::istringstream lines(runtime::kube_scheduler_config(side));
  for (std::string line; std::getline(lines, line);) text += "    " + line + "\n";
  documents.push_back(std::move(text));
}

constexpr std::string_view kSnapshotRights = R"(apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: berth-container-snapshots}}
rules:
  - {{apiGroups: [""], resources: [nodes/proxy], verbs: [create]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: berth-container-snapshots}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: berth-container-snapshots}}
subjects: [{{kind: ServiceAccount, name: berth-controllers, namespace: {}}}]
)";

std::string role(std::string_view kind, std::string_view where, const Verbs& verbs) {
  std::string text = fmt::format(
      "apiVersion: rbac.authorization.k8s.io/v1\nkind: {}\nmetadata: {{name: "
      "berth-controllers{}}}\n"
      "rules:\n",
      kind, where);
  for (const auto& [what, allowed] : verbs)
    text += fmt::format("  - {{apiGroups: [\"{}\"], resources: [{}], verbs: [{}]}}\n", what.first,
                        what.second, fmt::join(allowed, ", "));
  return text;
}

}  // namespace

std::vector<std::string> parts() { return {"controllers", "gateway", "extender", "scheduler"}; }

std::string controllers_role(const std::vector<controllers::JobKind>& job_kinds) {
  auto controllers = controllers::make_controllers(
      controllers::names_of(controllers::Registration::Whose::kBerth), {.job_kinds = job_kinds});
  BERTH_CHECK(controllers, "controllers know their own names");
  return json::json_to_yaml(runtime::role_json("berth-controllers", *controllers));
}

std::vector<std::string> controllers_roles(const InstallOptions& options) {
  if (options.namespaces.empty()) return {controllers_role(options.job_kinds)};
  const auto controllers = controllers::make_controllers(controllers::names_for_some_namespaces(),
                                                         {.job_kinds = options.job_kinds});
  BERTH_CHECK(controllers, "controllers know their own names");
  const Rules rules = rules_of(*controllers);
  std::vector<std::string> all = {role("ClusterRole", "", rules.of_cluster)};
  for (const std::string& ns : options.namespaces) {
    all.push_back(role("Role", fmt::format(", namespace: {}", ns), rules.of_namespaces));
    // What they may do there, and the lease that says which replica does it.
    all.push_back(fmt::format(R"(apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: berth-controllers, namespace: {0}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: berth-controllers}}
subjects: [{{kind: ServiceAccount, name: berth-controllers, namespace: {1}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: berth-controllers-lease, namespace: {0}}}
rules:
  - {{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}}
  - {{apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [berth-controllers], verbs: [get, update]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: berth-controllers-lease, namespace: {0}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: berth-controllers-lease}}
subjects: [{{kind: ServiceAccount, name: berth-controllers, namespace: {1}}}]
)",
                              ns, options.ns));
  }
  return all;
}

Result<std::string> manifests(const InstallOptions& options) {
  const std::vector<std::string> known = parts();
  const auto wants = [&](std::string_view part) {
    return std::find(options.parts.begin(), options.parts.end(), part) != options.parts.end();
  };
  for (const std::string& part : options.parts)
    if (std::find(known.begin(), known.end(), part) == known.end())
      return invalid(
          fmt::format("there is no part \"{}\"; there are: {}", part, fmt::join(known, ", ")));
  std::vector<std::string> documents;
  const InstallOptions usual;
  const auto add_file = [&](std::string_view name) {
    documents.push_back(replaced(replaced(std::string(deploy_file(name)), usual.ns, options.ns),
                                 usual.image, options.image));
  };
  if (wants("controllers") || wants("gateway") || wants("extender")) {
    add_file("namespace.yaml");
    for (const std::string& manifest : kube::our_first_objects())
      documents.push_back(json::json_to_yaml(manifest));
  }
  if (wants("controllers")) {
    for (std::string& role : controllers_roles(options)) documents.push_back(std::move(role));
    if (options.namespaces.empty())
      for (const std::string& manifest :
           runtime::scavenger_door_role(runtime::ScavengerDoorKind::kReplica, "berth-reclaim",
                                        options.ns + ":berth-controllers"))
        documents.push_back(json::json_to_yaml(manifest));
  }
  if (wants("controllers") && options.container_snapshots)
    documents.push_back(fmt::format(kSnapshotRights, options.ns));
  if (wants("extender")) add_doors(options, documents);
  for (const std::string& part : known)
    if (wants(part)) add_file(part + ".yaml");
  std::string text = fmt::format("{}", fmt::join(documents, "---\n"));
  std::string more;
  for (const std::string& ns : options.namespaces) more += fmt::format(", --namespaces={}", ns);
  const std::string places = wants("scheduler") && options.executors.scheduler.empty()
                                 ? std::string("berth")  // as deploy/scheduler.yaml calls it
                                 : options.executors.scheduler;
  if (!places.empty()) more += fmt::format(", --executor-scheduler={}", places);
  if (options.executors.slot_resource) more += ", --slot-resource";
  std::string external = options.external_ns;
  if (external.empty() && !options.namespaces.empty()) external = options.namespaces.front();
  if (!external.empty())
    text = replaced(std::move(text), "--namespace=default", "--namespace=" + external);
  const std::string_view command = "command: [berth, controllers";
  return replaced(std::move(text), command, std::string(command) + more);
}

}  // namespace berth::install
