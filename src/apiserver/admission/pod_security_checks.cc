// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/pod_security_checks.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "apiserver/admission/pod_walk.h"
#include "apiserver/kinds/rules.h"
#include "json/writer.h"

namespace berth::apiserver {

namespace {

using Names = std::vector<std::string>;
using Values = std::set<std::string>;
using Finding = std::optional<SecurityFinding>;

// What a check looks at.
struct Pod {
  Peek metadata, spec;
  int minor;

  Peek context() const { return spec["securityContext"]; }
  bool windows() const { return minor >= 25 && spec["os"]["name"].is("windows"); }
  // k8s 1.35: a pod with users of its own may be root among them.
  bool own_users() const {
    return minor >= 35 && spec["hostUsers"] && !spec["hostUsers"].boolean();
  }
  template <class F>
  void each(F&& f) const {
    each_container(spec, [&](Peek container, std::string_view, std::size_t) {
      f(std::string(container["name"].text()), container);
    });
  }
};

template <class List>
std::string quoted(const List& list) {
  std::string out;
  for (const std::string& each : list) out += (out.empty() ? "\"" : "\", \"") + each;
  return out.empty() ? out : out + "\"";
}
std::string_view plural(std::string_view one, std::string_view many, std::size_t count) {
  return count == 1 ? one : many;
}
std::string containers(const Names& names) {
  return fmt::format("{} {}", plural("container", "containers", names.size()), quoted(names));
}
// "pod and containers "a", "b"".
std::string setters(bool pod, const Names& names) {
  std::string out = pod ? "pod" : "";
  if (!names.empty()) out += (pod ? " and " : "") + containers(names);
  return out;
}

Finding app_armor(const Pod& pod) {
  const auto good = [](Peek profile) {
    return one_of(profile["type"].text(), {"RuntimeDefault", "Localhost"});
  };
  Names bad, annotations;
  Values values;
  const Peek own = pod.context()["appArmorProfile"];
  const bool by_pod = own && !good(own);
  if (by_pod) values.emplace(own["type"].text());
  pod.each([&](const std::string& name, Peek container) {
    const Peek profile = container["securityContext"]["appArmorProfile"];
    if (!profile || good(profile)) return;
    bad.push_back(name);
    values.emplace(profile["type"].text());
  });
  for (const auto& member : pod.metadata["annotations"].members()) {
    const std::string_view key = sv(member.key()), value = Peek(member.value()).text();
    if (key.starts_with("container.apparmor.security.beta.kubernetes.io/") && !value.empty() &&
        value != "runtime/default" && !value.starts_with("localhost/"))
      annotations.push_back(fmt::format("{}={}", key, json::quoted(value)));
  }
  if (!by_pod && bad.empty() && annotations.empty()) return {};
  std::sort(annotations.begin(), annotations.end());
  std::string who = setters(by_pod, bad);
  if (!annotations.empty())
    who += fmt::format("{}{}", who.empty() ? "" : " and ",
                       plural("annotation", "annotations", annotations.size()));
  Names all(values.begin(), values.end());
  all.insert(all.end(), annotations.begin(), annotations.end());
  return SecurityFinding{
      std::string(plural("forbidden AppArmor profile", "forbidden AppArmor profiles", all.size())),
      fmt::format("{} must not set AppArmor profile type to {}", who, quoted(all))};
}

Finding default_capabilities(const Pod& pod) {
  Names bad;
  Values added;
  pod.each([&](const std::string& name, Peek container) {
    bool fine = true;
    for (const json::Value& each : container["securityContext"]["capabilities"]["add"].elements()) {
      const std::string_view capability = Peek(each).text();
      if (one_of(capability,
                 {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
                  "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}))
        continue;
      fine = false;
      added.emplace(capability);
    }
    if (!fine) bad.push_back(name);
  });
  if (bad.empty()) return {};
  return SecurityFinding{"non-default capabilities",
                         fmt::format("{} must not include {} in securityContext.capabilities.add",
                                     containers(bad), quoted(added))};
}

Finding host_namespaces(const Pod& pod) {
  Names used;
  for (const std::string_view field : {"hostNetwork", "hostPID", "hostIPC"})
    if (pod.spec[field].boolean()) used.push_back(std::string(field) + "=true");
  if (used.empty()) return {};
  return SecurityFinding{"host namespaces", fmt::format("{}", fmt::join(used, ", "))};
}

Finding host_paths(const Pod& pod) {
  Names volumes;
  for (const json::Value& each : pod.spec["volumes"].elements())
    if (Peek(each)["hostPath"]) volumes.emplace_back(Peek(each)["name"].text());
  if (volumes.empty()) return {};
  return SecurityFinding{
      "hostPath volumes",
      fmt::format("{} {}", plural("volume", "volumes", volumes.size()), quoted(volumes))};
}

Finding host_ports(const Pod& pod) {
  Names bad;
  Values ports;
  pod.each([&](const std::string& name, Peek container) {
    bool any = false;
    for (const json::Value& each : container["ports"].elements())
      if (const std::int64_t port = Peek(each)["hostPort"].integer_or(0); port != 0) {
        any = true;
        ports.insert(std::to_string(port));
      }
    if (any) bad.push_back(name);
  });
  if (bad.empty()) return {};
  return SecurityFinding{
      "hostPort",
      fmt::format("{} {} {} {}", containers(bad), plural("uses", "use", bad.size()),
                  plural("hostPort", "hostPorts", ports.size()), fmt::join(ports, ", "))};
}

Finding probe_hosts(const Pod& pod) {
  if (pod.minor < 34) return {};
  Values bad, hosts;
  const auto look = [&](const std::string& name, Peek handler) {
    for (const std::string_view way : {"httpGet", "tcpSocket"})
      if (const std::string_view host = handler[way]["host"].text(); !host.empty()) {
        bad.insert(name);
        hosts.emplace(host);
      }
  };
  pod.each([&](const std::string& name, Peek container) {
    for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"})
      look(name, container[probe]);
    for (const std::string_view hook : {"postStart", "preStop"})
      look(name, container["lifecycle"][hook]);
  });
  if (bad.empty()) return {};
  return SecurityFinding{
      "probe or lifecycle host",
      fmt::format("{} {} {} {}", containers(Names(bad.begin(), bad.end())),
                  plural("uses", "use", bad.size()),
                  plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.size()),
                  quoted(hosts))};
}

Finding privileged(const Pod& pod) {
  Names bad;
  pod.each([&](const std::string& name, Peek container) {
    if (container["securityContext"]["privileged"].boolean()) bad.push_back(name);
  });
  if (bad.empty()) return {};
  return SecurityFinding{"privileged",
                         containers(bad) + " must not set securityContext.privileged=true"};
}

Finding proc_mount(const Pod& pod) {
  Names bad;
  Values types;
  pod.each([&](const std::string& name, Peek container) {
    const Peek type = container["securityContext"]["procMount"];
    if (!type || type.is("Default")) return;
    bad.push_back(name);
    types.emplace(type.text());
  });
  if (bad.empty()) return {};
  return SecurityFinding{"procMount", fmt::format("{} must not set securityContext.procMount to {}",
                                                  containers(bad), quoted(types))};
}
Finding baseline_proc_mount(const Pod& pod) {
  return pod.own_users() ? Finding() : proc_mount(pod);
}

Finding se_linux(const Pod& pod) {
  Values types;
  bool user = false, role = false;
  const auto good = [&](Peek options) {
    const std::string_view type = options["type"].text();
    const bool known = one_of(type, {"", "container_t", "container_init_t", "container_kvm_t"}) ||
                       (pod.minor >= 31 && type == "container_engine_t");
    if (!known) types.emplace(type);
    user = user || !options["user"].text().empty();
    role = role || !options["role"].text().empty();
    return known && options["user"].text().empty() && options["role"].text().empty();
  };
  const Peek own = pod.context()["seLinuxOptions"];
  const bool by_pod = own && !good(own);
  Names bad;
  pod.each([&](const std::string& name, Peek container) {
    const Peek options = container["securityContext"]["seLinuxOptions"];
    if (options && !good(options)) bad.push_back(name);
  });
  if (!by_pod && bad.empty()) return {};
  Names what;
  if (!types.empty())
    what.push_back(fmt::format("{} {}", plural("type", "types", types.size()), quoted(types)));
  if (user) what.emplace_back("user may not be set");
  if (role) what.emplace_back("role may not be set");
  return SecurityFinding{"seLinuxOptions",
                         fmt::format("{} set forbidden securityContext.seLinuxOptions: {}",
                                     setters(by_pod, bad), fmt::join(what, "; "))};
}

// k8s 1.18 and before had annotations for it.
Finding seccomp_annotations(const Pod& pod) {
  Values bad;
  const auto look = [&](const std::string& key) {
    const Peek value = pod.metadata["annotations"][key];
    if (value.is_text() && !one_of(value.text(), {"runtime/default", "docker/default"}) &&
        !value.text().starts_with("localhost/"))
      bad.insert(fmt::format("{}={}", key, json::quoted(value.text())));
  };
  look("seccomp.security.alpha.kubernetes.io/pod");
  pod.each([&](const std::string& name, Peek) {
    look("container.seccomp.security.alpha.kubernetes.io/" + name);
  });
  if (bad.empty()) return {};
  return SecurityFinding{
      "seccompProfile",
      fmt::format("forbidden {} {}", plural("annotation", "annotations", bad.size()),
                  fmt::join(bad, ", "))};
}

Finding seccomp(const Pod& pod, bool must_be_set) {
  const auto good = [](Peek profile) {
    return one_of(profile["type"].text(), {"Localhost", "RuntimeDefault"});
  };
  const Peek own = pod.context()["seccompProfile"];
  const bool by_pod = own && !good(own);
  Values values;
  if (by_pod) values.emplace(own["type"].text());
  Names bad, unset;
  pod.each([&](const std::string& name, Peek container) {
    const Peek profile = container["securityContext"]["seccompProfile"];
    if (!profile) {
      if (!own || by_pod) unset.push_back(name);
    } else if (!good(profile)) {
      bad.push_back(name);
      values.emplace(profile["type"].text());
    }
  });
  if (by_pod || !bad.empty())
    return SecurityFinding{"seccompProfile",
                           fmt::format("{} must not set securityContext.seccompProfile.type to {}",
                                       setters(by_pod, bad), quoted(values))};
  if (!must_be_set || unset.empty()) return {};
  return SecurityFinding{"seccompProfile",
                         fmt::format("pod or {} must set securityContext.seccompProfile.type to "
                                     "\"RuntimeDefault\" or \"Localhost\"",
                                     containers(unset))};
}
Finding baseline_seccomp(const Pod& pod) {
  return pod.minor < 19 ? seccomp_annotations(pod) : seccomp(pod, false);
}

Finding sysctls(const Pod& pod) {
  Names bad;
  for (const json::Value& each : pod.context()["sysctls"].elements()) {
    const std::string_view name = Peek(each)["name"].text();
    const bool known =
        one_of(name,
               {"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
                "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"}) ||
        (pod.minor >= 27 && name == "net.ipv4.ip_local_reserved_ports") ||
        (pod.minor >= 29 &&
         one_of(name, {"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
                       "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"})) ||
        (pod.minor >= 32 && one_of(name, {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}));
    if (!known) bad.emplace_back(name);
  }
  if (bad.empty()) return {};
  return SecurityFinding{"forbidden sysctls", fmt::format("{}", fmt::join(bad, ", "))};
}

Finding host_process(const Pod& pod) {
  const bool by_pod = pod.context()["windowsOptions"]["hostProcess"].boolean();
  Names bad;
  pod.each([&](const std::string& name, Peek container) {
    if (container["securityContext"]["windowsOptions"]["hostProcess"].boolean())
      bad.push_back(name);
  });
  if (!by_pod && bad.empty()) return {};
  return SecurityFinding{
      "hostProcess",
      setters(by_pod, bad) + " must not set securityContext.windowsOptions.hostProcess=true"};
}

Finding escalation(const Pod& pod) {
  if (pod.minor < 8 || pod.windows()) return {};
  Names bad;
  pod.each([&](const std::string& name, Peek container) {
    const Peek allowed = container["securityContext"]["allowPrivilegeEscalation"];
    if (!allowed || allowed.boolean()) bad.push_back(name);
  });
  if (bad.empty()) return {};
  return SecurityFinding{
      "allowPrivilegeEscalation != false",
      containers(bad) + " must set securityContext.allowPrivilegeEscalation=false"};
}

Finding restricted_capabilities(const Pod& pod) {
  if (pod.windows()) return {};
  Names keeps, adds;
  Values added;
  pod.each([&](const std::string& name, Peek container) {
    const Peek capabilities = container["securityContext"]["capabilities"];
    bool dropped = false, forbidden = false;
    for (const json::Value& each : capabilities["drop"].elements())
      dropped = dropped || Peek(each).is("ALL");
    for (const json::Value& each : capabilities["add"].elements())
      if (!Peek(each).is("NET_BIND_SERVICE")) {
        forbidden = true;
        added.emplace(Peek(each).text());
      }
    if (!dropped) keeps.push_back(name);
    if (forbidden) adds.push_back(name);
  });
  Names what;
  if (!keeps.empty())
    what.push_back(containers(keeps) + R"( must set securityContext.capabilities.drop=["ALL"])");
  if (!adds.empty())
    what.push_back(fmt::format("{} must not include {} in securityContext.capabilities.add",
                               containers(adds), quoted(added)));
  if (what.empty()) return {};
  return SecurityFinding{"unrestricted capabilities", fmt::format("{}", fmt::join(what, "; "))};
}

Finding volume_types(const Pod& pod) {
  Names bad;
  Values types;
  for (const json::Value& each : pod.spec["volumes"].elements()) {
    std::string type = "unknown";
    for (const auto& member : Peek(each).members())
      if (sv(member.key()) != "name" && !member.value().is_null()) type = sv(member.key());
    if (one_of(type, {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image",
                      "persistentVolumeClaim", "projected", "secret"}))
      continue;
    bad.emplace_back(Peek(each)["name"].text());
    types.insert(type);
  }
  if (bad.empty()) return {};
  return SecurityFinding{
      "restricted volume types",
      fmt::format("{} {} {} {} {}", plural("volume", "volumes", bad.size()), quoted(bad),
                  plural("uses", "use", bad.size()),
                  plural("restricted volume type", "restricted volume types", types.size()),
                  quoted(types))};
}

Finding non_root(const Pod& pod) {
  if (pod.own_users()) return {};
  const Peek own = pod.context()["runAsNonRoot"];
  const bool by_pod = own && !own.boolean();
  Names bad, unset;
  pod.each([&](const std::string& name, Peek container) {
    const Peek says = container["securityContext"]["runAsNonRoot"];
    if (says && !says.boolean()) bad.push_back(name);
    if (!says && !own.boolean()) unset.push_back(name);
  });
  if (by_pod || !bad.empty())
    return SecurityFinding{
        "runAsNonRoot != true",
        setters(by_pod, bad) + " must not set securityContext.runAsNonRoot=false"};
  if (unset.empty()) return {};
  return SecurityFinding{
      "runAsNonRoot != true",
      fmt::format("pod or {} must set securityContext.runAsNonRoot=true", containers(unset))};
}

Finding root_user(const Pod& pod) {
  if (pod.minor < 23 || pod.own_users()) return {};
  const auto root = [](Peek context) { return context["runAsUser"].integer() == 0; };
  const bool by_pod = root(pod.context());
  Names bad;
  pod.each([&](const std::string& name, Peek container) {
    if (root(container["securityContext"])) bad.push_back(name);
  });
  if (!by_pod && bad.empty()) return {};
  return SecurityFinding{"runAsUser=0", setters(by_pod, bad) + " must not set runAsUser=0"};
}

Finding restricted_seccomp(const Pod& pod) {
  return pod.windows() ? Finding() : seccomp(pod, true);
}

}  // namespace

std::string SecurityLevel::text() const {
  constexpr std::string_view kNames[] = {"privileged", "baseline", "restricted"};
  const std::string_view name = kNames[static_cast<std::size_t>(level)];
  return minor == kLatest ? fmt::format("{}:latest", name) : fmt::format("{}:v1.{}", name, minor);
}

std::optional<SecurityLevel::Level> security_level_named(std::string_view name) {
  using Level = SecurityLevel::Level;
  if (name == "privileged") return Level::kPrivileged;
  if (name == "baseline") return Level::kBaseline;
  if (name == "restricted") return Level::kRestricted;
  return std::nullopt;
}

std::optional<int> security_version_named(std::string_view name) {
  if (name == "latest") return SecurityLevel::kLatest;
  if (!name.starts_with("v1.") || name.size() > 6) return std::nullopt;
  name.remove_prefix(3);
  int minor = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), minor);
  if (error != std::errc() || end != name.data() + name.size() || minor < 0 ||
      (name.size() > 1 && name[0] == '0'))
    return std::nullopt;
  return minor;
}

std::vector<SecurityFinding> security_findings(const SecurityLevel& at, Peek metadata, Peek spec) {
  std::vector<SecurityFinding> findings;
  if (at.level == SecurityLevel::Level::kPrivileged) return findings;
  const Pod pod{metadata, spec, at.minor};
  const auto look = [&](Finding finding) {
    if (finding) findings.push_back(std::move(*finding));
  };
  // Some checks of restricted stand in for those of baseline.
  const bool restricted = at.level == SecurityLevel::Level::kRestricted;
  look(app_armor(pod));
  if (!restricted || at.minor < 22) look(default_capabilities(pod));
  look(host_namespaces(pod));
  if (!restricted) look(host_paths(pod));
  look(host_ports(pod));
  look(probe_hosts(pod));
  look(privileged(pod));
  if (!restricted || at.minor < 35) look(baseline_proc_mount(pod));
  look(se_linux(pod));
  if (!restricted || at.minor < 19) look(baseline_seccomp(pod));
  look(sysctls(pod));
  look(host_process(pod));
  if (!restricted) return findings;
  look(escalation(pod));
  if (at.minor >= 22) look(restricted_capabilities(pod));
  if (at.minor >= 35) look(proc_mount(pod));
  look(volume_types(pod));
  look(non_root(pod));
  look(root_user(pod));
  if (at.minor >= 19) look(restricted_seccomp(pod));
  return findings;
}

std::string reasons_text(const std::vector<SecurityFinding>& findings) {
  std::string out;
  for (const SecurityFinding& each : findings) out += (out.empty() ? "" : ", ") + each.reason;
  return out;
}

std::string details_text(const std::vector<SecurityFinding>& findings) {
  std::string out;
  for (const SecurityFinding& each : findings) {
    out += (out.empty() ? "" : ", ") + each.reason;
    if (!each.detail.empty()) out += " (" + each.detail + ")";
  }
  return out;
}

}  // namespace berth::apiserver
