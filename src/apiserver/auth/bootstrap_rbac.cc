// SPDX-License-Identifier: Apache-2.0
#include "apiserver/auth/bootstrap_rbac.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "json/writer.h"

namespace berth::apiserver {

namespace {

using Words = std::vector<std::string>;
constexpr std::string_view kApi = "rbac.authorization.k8s.io";

Words split(std::string_view text, char at) {
  Words out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

struct Binding {
  std::string name;
  Words subjects;  // "User:system:kube-scheduler"
};
struct Role {
  std::string ns, name;
  std::map<std::string, std::string> labels = {};
  std::vector<std::pair<std::string, std::string>> aggregates = {};
  std::vector<std::string> rules = {};  // in JSON
  std::vector<Binding> bindings = {};
};

Words verbs(const std::string& word) {
  if (word == "read") return {"get", "list", "watch"};
  if (word == "write") return {"create", "delete", "deletecollection", "patch", "update"};
  if (word == "readwrite")
    return {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  return split(word, ',');
}

void write_list(json::Writer& w, std::string_view key, const Words& words) {
  w.member(key).array();
  for (const std::string& word : words) w.string(word == "core" ? "" : word);
  w.end();
}

std::string rule(const Words& words) {
  BERTH_CHECK(words.size() == 3 || words.size() == 4, "a rule is verbs, groups and resources");
  json::Writer w;
  w.object();
  write_list(w, "verbs", verbs(words[0]));
  if (words[1] == "url") {
    write_list(w, "nonResourceURLs", split(words[2], ','));
  } else {
    write_list(w, "apiGroups", split(words[1], ','));
    write_list(w, "resources", split(words[2], ','));
    if (words.size() == 4) write_list(w, "resourceNames", split(words[3], ','));
  }
  w.end();
  return w.take();
}

void take(Role& role, const std::string& line) {
  Words words = split(line, ' ');
  const auto pair = [&] {
    const std::size_t equals = words[1].find('=');
    return std::pair(words[1].substr(0, equals), words[1].substr(equals + 1));
  };
  if (words[0] == "label") {
    role.labels.insert(pair());
  } else if (words[0] == "aggregate") {
    role.aggregates.push_back(pair());
  } else if (words[0] == "to") {
    role.bindings.push_back({role.name, Words(words.begin() + 1, words.end())});
  } else if (words[0] == "bind") {
    role.bindings.push_back({words[1], Words(words.begin() + 2, words.end())});
  } else {
    role.rules.push_back(rule(words));
  }
}

std::vector<Role> read(std::string_view text) {
  std::vector<std::string> lines;
  for (std::string& line : split(text, '\n')) {
    if (!line.starts_with("    ")) {
      lines.push_back(std::move(line));
    } else {
      if (!lines.back().ends_with(',')) lines.back() += ' ';
      lines.back() += line.substr(4);
    }
  }
  std::vector<Role> roles;
  for (const std::string& line : lines) {
    if (!line.starts_with("role ")) {
      take(roles.back(), line.substr(2));
      continue;
    }
    const std::string name = line.substr(5);
    const std::size_t slash = name.find('/');
    roles.push_back(slash == std::string::npos
                        ? Role{.ns = "", .name = name}
                        : Role{.ns = name.substr(0, slash), .name = name.substr(slash + 1)});
  }
  return roles;
}

// As the aggregating controller does it: by the names of the roles, each rule once.
void gather(std::vector<Role>& roles) {
  bool changed = true;
  while (changed) {  // one aggregating role may be part of another
    changed = false;
    for (Role& role : roles)
      for (const auto& [key, value] : role.aggregates)
        for (const Role& other : roles) {
          const auto label = other.labels.find(key);
          if (&other == &role || label == other.labels.end() || label->second != value) continue;
          for (const std::string& each : other.rules)
            if (std::find(role.rules.begin(), role.rules.end(), each) == role.rules.end()) {
              role.rules.push_back(each);
              changed = true;
            }
        }
  }
}

void begin(json::Writer& w, std::string_view kind, const std::string& ns, const std::string& name,
           const std::map<std::string, std::string>& labels) {
  w.object().member("kind").string(kind).member("apiVersion").string(std::string(kApi) + "/v1");
  w.member("metadata").object().member("name").string(name);
  if (!ns.empty()) w.member("namespace").string(ns);
  w.member("labels").object().member("kubernetes.io/bootstrapping").string("rbac-defaults");
  for (const auto& [key, value] : labels) w.member(key).string(value);
  w.end();
  w.member("annotations").object();
  w.member("rbac.authorization.kubernetes.io/autoupdate").string("true").end().end();
}

std::string manifest(const Role& role) {
  json::Writer w;
  begin(w, role.ns.empty() ? "ClusterRole" : "Role", role.ns, role.name, role.labels);
  w.member("rules").array();
  for (const std::string& each : role.rules) w.raw(each);
  w.end();
  if (!role.aggregates.empty()) {
    w.member("aggregationRule").object().member("clusterRoleSelectors").array();
    for (const auto& [key, value] : role.aggregates)
      w.object().member("matchLabels").object().member(key).string(value).end().end();
    w.end().end();
  }
  w.end();
  return w.take();
}

std::string manifest(const Role& role, const Binding& binding) {
  json::Writer w;
  begin(w, role.ns.empty() ? "ClusterRoleBinding" : "RoleBinding", role.ns, binding.name, {});
  if (!binding.subjects.empty()) {
    w.member("subjects").array();
    for (const std::string& subject : binding.subjects) {
      const std::size_t colon = subject.find(':'), slash = subject.find('/');
      const std::string kind = subject.substr(0, colon);
      w.object().member("kind").string(kind);
      if (kind == "ServiceAccount") {
        w.member("name").string(subject.substr(slash + 1));
        w.member("namespace").string(subject.substr(colon + 1, slash - colon - 1));
      } else {
        w.member("apiGroup").string(kApi).member("name").string(subject.substr(colon + 1));
      }
      w.end();
    }
    w.end();
  }
  w.member("roleRef").object().member("apiGroup").string(kApi);
  w.member("kind").string(role.ns.empty() ? "ClusterRole" : "Role");
  w.member("name").string(role.name).end().end();
  return w.take();
}

}  // namespace

std::vector<std::string> bootstrap_rbac() {
  std::vector<Role> roles = read(kBootstrapRoles);
  for (Role& role : read(kBootstrapControllerRoles)) roles.push_back(std::move(role));
  gather(roles);
  std::vector<std::string> manifests;
  for (const Role& role : roles) manifests.push_back(manifest(role));
  for (const Role& role : roles)
    for (const Binding& binding : role.bindings) manifests.push_back(manifest(role, binding));
  return manifests;
}

}  // namespace berth::apiserver
