// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "apiserver/kinds/core/env_check.h"
#include "apiserver/kinds/core/handler_check.h"
#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/core/resources_check.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

void check_ports(Peek ports, const Path& at, Findings& findings) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Peek port = ports[i];
    const std::string_view name = port["name"].text();
    if (!name.empty()) {
      const kube::Complaints complaints = check_port_name(name);
      complain(complaints, name, at[i] / "name", findings);
      if (complaints.empty() && !names.insert(name).second)
        findings.duplicate(at[i] / "name", name);
    }
    const std::int64_t container = port["containerPort"].integer_or(0);
    const std::int64_t host = port["hostPort"].integer_or(0);
    if (container == 0)
      findings.required(at[i] / "containerPort");
    else
      complain(check_port_number(container), container, at[i] / "containerPort", findings);
    if (host != 0) complain(check_port_number(host), host, at[i] / "hostPort", findings);
    must_be_one_of(port["protocol"].text(), {"SCTP", "TCP", "UDP"}, at[i] / "protocol", findings);
  }
}

void check_mounts(const PodRules& rules, Peek container, const Path& at, Findings& findings) {
  const Peek mounts = container["volumeMounts"], devices = container["volumeDevices"];
  std::set<std::string_view> points, device_names, device_paths;
  for (const json::Value& device : devices.elements()) {
    device_names.insert(Peek(device)["name"].text());
    device_paths.insert(Peek(device)["devicePath"].text());
  }
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const Peek mount = mounts[i];
    const std::string_view name = mount["name"].text(), path = mount["mountPath"].text();
    if (name.empty()) findings.required(at[i] / "name");
    if (!rules.volumes.contains(name)) findings.not_found(at[i] / "name", name);
    if (path.empty()) findings.required(at[i] / "mountPath");
    if (!points.insert(path).second) findings.invalid(at[i] / "mountPath", path, "must be unique");
    if (device_names.contains(name))
      findings.invalid(at[i] / "name", name, "must not already exist in volumeDevices");
    if (device_paths.contains(path))
      findings.invalid(at[i] / "mountPath", path,
                       "must not already exist as a path in volumeDevices");
    // k8s 1.36: these name the list, not its element.
    const std::string_view sub = mount["subPath"].text(), expression = mount["subPathExpr"].text();
    if (!sub.empty()) must_descend(sub, at / "subPath", findings);
    if (!expression.empty()) {
      if (!sub.empty())
        findings.invalid(at[i] / "subPathExpr", expression,
                         "subPathExpr and subPath are mutually exclusive");
      must_descend(expression, at / "subPathExpr", findings);
    }
    const Peek propagation = mount["mountPropagation"];
    if (propagation) {
      if (!one_of(propagation.text(), {"Bidirectional", "HostToContainer", "None"}))
        findings.not_supported(at / "mountPropagation", propagation.text(),
                               {"Bidirectional", "HostToContainer", "None"});
      if (propagation.is("Bidirectional") && !container["securityContext"]["privileged"].boolean())
        findings.forbidden(at / "mountPropagation",
                           "Bidirectional mount propagation is available only to privileged "
                           "containers");
    }
    const Peek read_only = mount["recursiveReadOnly"];
    if (!read_only || read_only.is("Disabled")) continue;
    const Path here = at / "recursiveReadOnly";
    if (!one_of(read_only.text(), {"Enabled", "IfPossible"})) {
      findings.not_supported(here, read_only.text(), {"Disabled", "Enabled", "IfPossible"});
      continue;
    }
    if (!mount["readOnly"].boolean())
      findings.forbidden(here, "may only be specified when readOnly is true");
    if (propagation && !propagation.is("None"))
      findings.forbidden(here,
                         "may only be specified when mountPropagation is None or not specified");
  }
}

void check_devices(const PodRules& rules, Peek container, const Path& at, Findings& findings) {
  const Peek devices = container["volumeDevices"];
  std::set<std::string_view> names, paths, mounted, mount_paths;
  for (const json::Value& mount : container["volumeMounts"].elements()) {
    mounted.insert(Peek(mount)["name"].text());
    mount_paths.insert(Peek(mount)["mountPath"].text());
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string_view name = devices[i]["name"].text(), path = devices[i]["devicePath"].text();
    const auto volume = rules.volumes.find(name);
    if (name.empty()) findings.required(at[i] / "name");
    if (names.contains(name)) findings.invalid(at[i] / "name", name, "must be unique");
    if (volume == rules.volumes.end())
      findings.not_found(at[i] / "name", name);
    else if (!volume->second["persistentVolumeClaim"] && !volume->second["ephemeral"])
      findings.invalid(at[i] / "name", name,
                       "can only use volume source type of PersistentVolumeClaim or Ephemeral for "
                       "block mode");
    if (path.empty()) findings.required(at[i] / "devicePath");
    if (paths.contains(path)) findings.invalid(at[i] / "devicePath", path, "must be unique");
    Findings steps;
    must_not_step_back(path, at, steps);
    if (!path.empty() && !steps.empty())
      findings.invalid(at[i] / "devicePath", path, "can not contain backsteps ('..')");
    else
      paths.insert(path);
    if (mounted.contains(name))
      findings.invalid(at[i] / "name", name, "must not already exist in volumeMounts");
    if (mount_paths.contains(path))
      findings.invalid(at[i] / "devicePath", path,
                       "must not already exist as a path in volumeMounts");
    if (!name.empty()) names.insert(name);
  }
}

void check_resize_policy(Peek policies, const PodRules& rules, const Path& at, Findings& findings) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const std::string_view resource = policies[i]["resourceName"].text();
    const std::string_view policy = policies[i]["restartPolicy"].text();
    if (!seen.insert(resource).second) findings.duplicate(at[i], resource);
    must_be_one_of(resource, {"cpu", "memory"}, at, findings);
    must_be_one_of(policy, {"NotRequired", "RestartContainer"}, at, findings);
    if (rules.spec["restartPolicy"].is("Never") && policy != "NotRequired")
      findings.invalid(at, policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
  }
}

void check_common(const PodRules& rules, Peek container, const Path& at, Findings& findings) {
  const std::string_view name = container["name"].text();
  if (name.empty())
    findings.required(at / "name");
  else
    must_be(&kube::check_dns_label, name, at / "name", findings);
  if (container["image"].text().empty()) findings.required(at / "image");
  must_be_one_of(container["terminationMessagePolicy"].text(), {"File", "FallbackToLogsOnError"},
                 at / "terminationMessagePolicy", findings);
  check_ports(container["ports"], at / "ports", findings);
  check_env(container["env"], at / "env", findings);
  check_env_from(container["envFrom"], at / "envFrom", findings);
  check_mounts(rules, container, at / "volumeMounts", findings);
  check_devices(rules, container, at / "volumeDevices", findings);
  must_be_one_of(container["imagePullPolicy"].text(), {"Always", "IfNotPresent", "Never"},
                 at / "imagePullPolicy", findings);
  check_resources(container["resources"], false, rules.claims, at / "resources", findings);
  check_resize_policy(container["resizePolicy"], rules, at / "resizePolicy", findings);
  check_container_security(container["securityContext"], rules.host_users(), at / "securityContext",
                           findings);
}

void check_restart_rules(Peek container, const Path& at, Findings& findings) {
  const Peek policy = container["restartPolicy"], rules = container["restartPolicyRules"];
  if (!policy) {
    if (rules.size() == 0) return;
    findings.required(at / "restartPolicy",
                      "must specify restartPolicy when restart rules are used");
  } else if (!one_of(policy.text(), {"Always", "Never", "OnFailure"})) {
    findings.not_supported(at / "restartPolicy", policy.text(), {"Always", "Never", "OnFailure"});
  }
  if (rules.size() > 20)
    findings.too_many(at / "restartPolicyRules", static_cast<std::int64_t>(rules.size()), 20);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Path here = (at / "restartPolicyRules")[i];
    const std::string_view action = rules[i]["action"].text();
    if (!one_of(action, {"Restart", "RestartAllContainers"}))
      findings.not_supported(here / "action", action, {"Restart", "RestartAllContainers"});
    const Peek codes = rules[i]["exitCodes"];
    if (!codes) {
      findings.required(here / "exitCodes", "must be specified");
      continue;
    }
    const std::string_view op = codes["operator"].text();
    if (!one_of(op, {"In", "NotIn"}))
      findings.not_supported(here / "exitCodes" / "operator", op, {"In", "NotIn"});
    if (codes["values"].size() > 255)
      findings.too_many(here / "exitCodes" / "values",
                        static_cast<std::int64_t>(codes["values"].size()), 255);
  }
}

void check_running(const PodRules& rules, Peek container, const Path& at, Findings& findings) {
  const Peek grace = rules.spec["terminationGracePeriodSeconds"];
  if (container["lifecycle"])
    check_lifecycle(container["lifecycle"], grace, at / "lifecycle", findings);
  check_probe(container["livenessProbe"], ProbeKind::kLiveness, grace, at / "livenessProbe",
              findings);
  check_probe(container["readinessProbe"], ProbeKind::kReadiness, grace, at / "readinessProbe",
              findings);
  check_probe(container["startupProbe"], ProbeKind::kStartup, grace, at / "startupProbe", findings);
}

void check_host_ports(Peek container, std::set<std::string>& taken, const Path& at,
                      Findings& findings) {
  const Peek ports = container["ports"];
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::int64_t port = ports[i]["hostPort"].integer_or(0);
    if (port == 0) continue;
    const std::string place =
        fmt::format("{}/{}/{}", ports[i]["protocol"].text(), ports[i]["hostIP"].text(), port);
    if (!taken.insert(place).second) findings.duplicate((at / "ports")[i] / "hostPort", place);
  }
}

}  // namespace

void check_containers(const PodRules& rules, const Path& at, Findings& findings) {
  const Peek containers = rules.spec["containers"];
  if (containers.size() == 0) return findings.required(at);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Peek container = containers[i];
    check_common(rules, container, at[i], findings);
    if (!names.insert(container["name"].text()).second)
      findings.duplicate(at[i] / "name", container["name"].text());
    check_running(rules, container, at[i], findings);
    check_restart_rules(container, at[i], findings);
  }
  std::set<std::string> taken;
  for (std::size_t i = 0; i < containers.size(); ++i)
    check_host_ports(containers[i], taken, at[i], findings);
}

void check_init_containers(const PodRules& rules, const Path& at, Findings& findings) {
  std::set<std::string_view> names;
  for (const json::Value& each : rules.spec["containers"].elements())
    names.insert(Peek(each)["name"].text());
  const Peek containers = rules.spec["initContainers"];
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Peek container = containers[i];
    const std::string_view name = container["name"].text();
    check_common(rules, container, at[i], findings);
    if (container["restartPolicy"] || container["restartPolicyRules"].size() > 0)
      check_restart_rules(container, at[i], findings);
    if (names.contains(name))
      findings.duplicate(at[i] / "name", name);
    else if (!name.empty())
      names.insert(name);
    std::set<std::string> taken;
    check_host_ports(container, taken, at[0], findings);
    const bool sidecar = container["restartPolicy"].is("Always");
    if (sidecar) {
      check_running(rules, container, at[i], findings);
    } else {
      for (const std::string_view field :
           {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"})
        if (container[field])
          findings.forbidden(at[i] / field,
                             "may not be set for init containers without restartPolicy=Always");
      const Peek policies = container["resizePolicy"];
      for (std::size_t p = 0; p < policies.size(); ++p)
        if (policies[p]["restartPolicy"].is("RestartContainer"))
          findings.invalid((at[i] / "resizePolicy")[p] / "restartPolicy", "RestartContainer",
                           "must not be set to 'RestartContainer' for non-sidecar initContainers");
    }
  }
}

}  // namespace berth::apiserver
