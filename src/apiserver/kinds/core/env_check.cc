// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/core/env_check.h"

#include <algorithm>

#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kScaled =
    "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported "
    "with the ";

void check_divisor(std::string_view resource, Peek divisor, const Path& at, Findings& findings) {
  const kube::Quantity amount = quantity(divisor);
  if (!divisor || amount.is_zero()) return;
  const std::string text = amount.text();
  const std::string_view what = resource.substr(resource.find('.') + 1);
  const bool scaled = one_of(
      text, {"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"});
  if (what == "cpu") {
    if (!one_of(text, {"1m", "1"}))
      findings.invalid(at / "divisor", resource,
                       "only divisor's values 1m and 1 are supported with the cpu resource");
  } else if (what == "memory" && !scaled) {
    findings.invalid(at / "divisor", resource, std::string(kScaled) + "memory resource");
  } else if (what == "ephemeral-storage" && !scaled) {
    findings.invalid(at / "divisor", resource,
                     std::string(kScaled) + "local ephemeral storage resource");
  } else if (what.starts_with("hugepages-") && !scaled) {
    findings.invalid(at / "divisor", resource, std::string(kScaled) + "hugepages resource");
  }
}

void check_key_ref(Peek ref, const Path& at, Findings& findings) {
  must_be(&kube::check_dns_subdomain, ref["name"].text(), at / "name", findings);
  if (ref["key"].text().empty())
    findings.required(at / "key");
  else
    must_be(&check_config_key, ref["key"].text(), at / "key", findings);
}

void check_file_ref(Peek ref, const Path& at, Findings& findings) {
  const std::string_view key = ref["key"].text(), volume = ref["volumeName"].text(),
                         path = ref["path"].text();
  if (key.empty())
    findings.required(at / "key");
  else
    complain(check_env_name(key), key, at / "key", findings);
  if (volume.empty())
    findings.required(at / "volumeName");
  else
    must_be(&kube::check_dns_label, volume, at / "volumeName", findings);
  if (path.empty())
    findings.required(at / "path");
  else
    must_not_step_back(path, at / "path", findings);
}

void check_source(Peek variable, const Path& at, Findings& findings) {
  const Peek from = variable["valueFrom"];
  if (!from) return;
  int sources = 0;
  if (const Peek ref = from["fieldRef"]) {
    ++sources;
    check_field_ref(ref, false, at / "fieldRef", findings);
  }
  if (const Peek ref = from["resourceFieldRef"]) {
    ++sources;
    check_resource_field_ref(ref, false, at / "resourceFieldRef", findings);
  }
  for (const std::string_view kind : {"configMapKeyRef", "secretKeyRef"})
    if (const Peek ref = from[kind]) {
      ++sources;
      check_key_ref(ref, at / kind, findings);
    }
  if (const Peek ref = from["fileKeyRef"]) {
    ++sources;
    check_file_ref(ref, at / "fileKeyRef", findings);
  }
  if (sources == 0)
    findings.invalid(at, "",
                     "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                     "`secretKeyRef` or `fileKeyRef`");
  else if (!variable["value"].text().empty())
    findings.invalid(at, "", "may not be specified when `value` is not empty");
  else if (sources > 1)
    findings.invalid(at, "", "may not have more than one field specified at a time");
}

// metadata.labels['x'] into "metadata.labels" and "x".
bool split_subscript(std::string_view path, std::string_view& front, std::string_view& key) {
  const std::size_t open = path.find("['");
  if (open == std::string_view::npos || !path.ends_with("']")) return false;
  front = path.substr(0, open);
  key = path.substr(open + 2, path.size() - open - 4);
  return true;
}

bool known_to_downward_api(std::string_view path) {
  return one_of(path,
                {"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
                 "metadata.uid", "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName",
                 "spec.schedulerName", "status.phase", "status.hostIP", "status.hostIPs",
                 "status.podIP", "status.podIPs", "spec.host"});
}

}  // namespace

void check_field_ref(Peek ref, bool in_volume, const Path& at, Findings& findings) {
  const std::string_view version = ref["apiVersion"].text();
  const std::string path(ref["fieldPath"].text());
  if (version.empty()) return findings.required(at / "apiVersion");
  if (path.empty()) return findings.required(at / "fieldPath");
  std::string_view front, key;
  const bool subscript = split_subscript(path, front, key);
  if (version != "v1")
    return findings.invalid(
        at / "fieldPath", path,
        "error converting fieldPath: unsupported pod version: " + std::string(version));
  if (subscript ? !one_of(front, {"metadata.annotations", "metadata.labels"})
                : !known_to_downward_api(path))
    return findings.invalid(
        at / "fieldPath", path,
        subscript ? "error converting fieldPath: field label does not support subscript: " + path
                  : "error converting fieldPath: field label not supported: " + path);
  if (subscript) {
    std::string name(key);
    if (front == "metadata.annotations")
      for (char& c : name)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return must_be(&kube::check_qualified_name, name, at, findings);
  }
  if (in_volume) {
    constexpr std::string_view kVolume[] = {"metadata.annotations", "metadata.labels",
                                            "metadata.name", "metadata.namespace", "metadata.uid"};
    for (const std::string_view good : kVolume)
      if (good == path) return;
    return findings.not_supported(at / "fieldPath", path, kVolume);
  }
  constexpr std::string_view kEnv[] = {"metadata.name",
                                       "metadata.namespace",
                                       "metadata.uid",
                                       "spec.nodeName",
                                       "spec.serviceAccountName",
                                       "status.hostIP",
                                       "status.hostIPs",
                                       "status.podIP",
                                       "status.podIPs"};
  for (const std::string_view good : kEnv)
    if (good == path) return;
  findings.not_supported(at / "fieldPath", path, kEnv);
}

void check_resource_field_ref(Peek ref, bool in_volume, const Path& at, Findings& findings) {
  const std::string_view resource = ref["resource"].text();
  constexpr std::string_view kGood[] = {
      "limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
      "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
  const bool good = std::find(std::begin(kGood), std::end(kGood), resource) != std::end(kGood) ||
                    resource.starts_with("requests.hugepages-") ||
                    resource.starts_with("limits.hugepages-");
  if (in_volume && ref["containerName"].text().empty())
    findings.required(at / "containerName");
  else if (resource.empty())
    findings.required(at / "resource");
  else if (!good)
    findings.not_supported(at / "resource", resource, kGood);
  check_divisor(resource, ref["divisor"], at, findings);
}

void check_env(Peek variables, const Path& at, Findings& findings) {
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string_view name = variables[i]["name"].text();
    if (name.empty())
      findings.required(at[i] / "name");
    else
      complain(check_env_name(name), name, at[i] / "name", findings);
    check_source(variables[i], at[i] / "valueFrom", findings);
  }
}

void check_env_from(Peek sources, const Path& at, Findings& findings) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string_view prefix = sources[i]["prefix"].text();
    if (!prefix.empty()) complain(check_env_name(prefix), prefix, at[i] / "prefix", findings);
    int count = 0;
    for (const std::string_view kind : {"configMapRef", "secretRef"}) {
      const Peek ref = sources[i][kind];
      if (!ref) continue;
      ++count;
      if (ref["name"].text().empty())
        findings.required(at[i] / kind / "name");
      else
        must_be(&kube::check_dns_subdomain, ref["name"].text(), at[i] / kind / "name", findings);
    }
    if (count == 0)
      findings.invalid(at, "", "must specify one of: `configMapRef` or `secretRef`");
    else if (count > 1)
      findings.invalid(at, "", "may not have more than one field specified at a time");
  }
}

}  // namespace berth::apiserver
