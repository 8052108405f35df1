// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

void check_seccomp(Peek profile, const Path& at, Findings& findings) {
  if (!profile) return;
  const std::string_view type = profile["type"].text();
  if (type.empty())
    findings.required(at / "type", "type is required when seccompProfile is set");
  else if (!one_of(type, {"Localhost", "RuntimeDefault", "Unconfined"}))
    findings.not_supported(at / "type", type, {"Localhost", "RuntimeDefault", "Unconfined"});
  const Peek local = profile["localhostProfile"];
  if (type == "Localhost") {
    if (!local)
      findings.required(at / "localhostProfile", "must be set when seccomp type is Localhost");
    else
      must_descend(local.text(), at / "localhostProfile", findings);
  } else if (local) {
    findings.invalid(at / "localhostProfile", as_shown(profile),
                     "can only be set when seccomp type is Localhost");
  }
}

void check_app_armor(Peek profile, const Path& at, Findings& findings) {
  if (!profile) return;
  const std::string_view type = profile["type"].text();
  const Peek local = profile["localhostProfile"];
  if (type == "Localhost") {
    const std::string_view name = local.text();
    if (name.empty())
      findings.required(at / "localhostProfile", "must be set when AppArmor type is Localhost");
    else if (name.front() == ' ' || name.back() == ' ')
      findings.invalid(at / "localhostProfile", name, "must not be padded with whitespace");
    if (name.size() > 4095) findings.too_long(at / "localhostProfile", 4095);
  } else if (type == "RuntimeDefault" || type == "Unconfined") {
    if (local)
      findings.invalid(at / "localhostProfile", local.text(),
                       "can only be set when AppArmor type is Localhost");
  } else if (type.empty()) {
    findings.required(at / "type", "type is required when appArmorProfile is set");
  } else {
    findings.not_supported(at / "type", type, {"Localhost", "RuntimeDefault", "Unconfined"});
  }
}

void check_ids(Peek context, std::initializer_list<std::string_view> fields, const Path& at,
               Findings& findings) {
  for (const std::string_view field : fields)
    if (const auto id = context[field].integer())
      complain(check_user_id(*id), *id, at / field, findings);
}

bool is_sysctl(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  std::size_t from = 0;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && name[i] != '.' && name[i] != '/') {
      if (!alphanumeric(name[i]) && name[i] != '-' && name[i] != '_') return false;
      continue;
    }
    if (i == from || !alphanumeric(name[from]) || !alphanumeric(name[i - 1])) return false;
    from = i + 1;
  }
  return true;
}

void check_sysctls(Peek spec, const Path& at, Findings& findings) {
  const Peek sysctls = spec["securityContext"]["sysctls"];
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < sysctls.size(); ++i) {
    const std::string_view name = sysctls[i]["name"].text();
    if (name.empty())
      findings.required(at[i] / "name");
    else if (!is_sysctl(name))
      findings.invalid(at[i] / "name", name,
                       "must have at most 253 characters and match regex "
                       "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$");
    else if (seen.contains(name))
      findings.duplicate(at[i] / "name", name);
    seen.insert(name);
    std::string dotted(name);
    for (char& c : dotted)
      if (c == '/') c = '.';
    if (spec["hostNetwork"].boolean() && dotted.starts_with("net."))
      findings.invalid(at[i] / "name", name, "may not be specified when 'hostNetwork' is true");
    else if (spec["hostIPC"].boolean() &&
             (dotted.starts_with("kernel.shm") || dotted.starts_with("kernel.msg") ||
              dotted == "kernel.sem" || dotted.starts_with("fs.mqueue.")))
      findings.invalid(at[i] / "name", name, "may not be specified when 'hostIPC' is true");
  }
}

void check_word(Peek value, std::initializer_list<std::string_view> words, const Path& at,
                Findings& findings) {
  if (value && !one_of(value.text(), words)) findings.not_supported(at, value.text(), words);
}

}  // namespace

void check_pod_security(Peek spec, const Path& spec_path, Findings& findings) {
  const Peek context = spec["securityContext"];
  if (!context) return;
  const Path at = spec_path / "securityContext";
  check_ids(context, {"fsGroup", "runAsUser", "runAsGroup"}, at, findings);
  const Peek groups = context["supplementalGroups"];
  for (std::size_t i = 0; i < groups.size(); ++i)
    complain(check_user_id(groups[i].integer_or(0)), groups[i].integer_or(0),
             (at / "supplementalGroups")[i], findings);
  if (spec["shareProcessNamespace"].boolean() && spec["hostPID"].boolean())
    findings.invalid(at / "shareProcessNamespace", true,
                     "ShareProcessNamespace and HostPID cannot both be enabled");
  check_sysctls(spec, at / "sysctls", findings);
  check_word(context["fsGroupChangePolicy"], {"Always", "OnRootMismatch"},
             at / "fsGroupChangePolicy", findings);
  check_seccomp(context["seccompProfile"], at / "seccompProfile", findings);
  check_app_armor(context["appArmorProfile"], at / "appArmorProfile", findings);
  check_word(context["supplementalGroupsPolicy"], {"Merge", "Strict"},
             at / "supplementalGroupsPolicy", findings);
  check_word(context["seLinuxChangePolicy"], {"Recursive"}, at / "seLinuxChangePolicy", findings);
}

void check_container_security(Peek context, bool host_users, const Path& at, Findings& findings) {
  if (!context) return;
  check_ids(context, {"runAsUser", "runAsGroup"}, at, findings);
  if (const Peek mount = context["procMount"]) {
    check_word(mount, {"Default", "Unmasked"}, at / "procMount", findings);
    if (host_users && mount.is("Unmasked"))
      findings.invalid(at / "procMount", mount.text(),
                       "`hostUsers` must be false to use `Unmasked`");
  }
  check_seccomp(context["seccompProfile"], at / "seccompProfile", findings);
  const Peek escalation = context["allowPrivilegeEscalation"];
  if (escalation && !escalation.boolean()) {
    if (context["privileged"].boolean())
      findings.invalid(at, as_shown(context),
                       "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    for (const json::Value& capability : context["capabilities"]["add"].elements())
      if (Peek(capability).is("CAP_SYS_ADMIN"))
        findings.invalid(at, as_shown(context),
                         "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                         "CAP_SYS_ADMIN");
  }
  check_app_armor(context["appArmorProfile"], at / "appArmorProfile", findings);
}

}  // namespace berth::apiserver
