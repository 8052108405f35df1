// SPDX-License-Identifier: Apache-2.0
#include "apiserver/auth/rbac.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/label_selector.h"

namespace berth::apiserver {

namespace {

constexpr kube::KindId const* kKinds[] = {&kube::kClusterRole, &kube::kClusterRoleBinding,
                                          &kube::kRole, &kube::kRoleBinding};
using Rules = std::shared_ptr<const std::vector<PolicyRule>>;

std::vector<kube::Object> all(const Store& store, kube::KindId kind) {
  auto page = store.list({.kind = kind});
  return page ? std::move(page->items) : std::vector<kube::Object>();
}

std::string subject_text(json::Slice subject, std::string_view ns) {
  const std::string kind = subject["kind"].text(), name = subject["name"].text();
  if (kind != "ServiceAccount") return fmt::format("{} {}", kind, json::quoted(name));
  const std::string own = subject["namespace"].text();
  return fmt::format("{} {}", kind,
                     json::quoted(fmt::format("{}/{}", name, own.empty() ? ns : own)));
}

std::string joined(const std::vector<std::string>& problems) {
  std::string out;
  std::set<std::string> seen;  // as Go's aggregates, which tell everything once
  std::size_t told = 0;
  for (const std::string& each : problems) {
    if (!seen.insert(each).second) continue;
    if (told++ > 0) out += ", ";
    out += each;
  }
  return told > 1 ? "[" + out + "]" : out;
}

}  // namespace

bool is_master(const kube::User& user) {
  return std::find(user.groups.begin(), user.groups.end(), "system:masters") != user.groups.end();
}

// What all subjects hold, and what has been decided from it.
struct Rbac::Compiled {
  struct Grant {
    std::size_t binding = 0;  // in the order of visits: the cluster's first, then by key
    std::string ns;           // "": everywhere
    std::string reason = {};  // "ClusterRoleBinding "x" of ClusterRole "y" to User "z""
    Rules rules;              // null: there is no such role, which `reason` says
  };
  struct Remembered {
    bool decided = false;  // whatever the name
    bool allowed = false;
    std::string reason;
    // Else by the object's name: these rules have names.
    std::vector<std::pair<const PolicyRule*, const Grant*>> by_name;
  };

  std::map<std::string, Rules, std::less<>> cluster_roles;
  std::map<std::string, Rules, std::less<>> roles;  // by "namespace/name"
  std::map<std::string, std::vector<Grant>, std::less<>> of_users, of_groups;
  ByText<Remembered> remembered;
  std::string key;  // scratch

  explicit Compiled(const Store& store) {
    compile_roles(store);
    std::size_t binding = 0;
    for (const kube::Object& each : all(store, kube::kClusterRoleBinding))
      bind(each, "", binding++);
    for (const kube::Object& each : all(store, kube::kRoleBinding))
      bind(each, each.ns(), binding++);
  }

  void compile_roles(const Store& store) {
    for (const kube::Object& each : all(store, kube::kRole))
      roles[each.key().text()] = own_rules(each);
    std::map<std::string, kube::Object, std::less<>> objects;
    for (kube::Object& each : all(store, kube::kClusterRole))
      objects.emplace(std::string(each.name()), std::move(each));
    for (const auto& [name, object] : objects) {
      std::set<std::string, std::less<>> seen;
      auto rules = std::make_shared<std::vector<PolicyRule>>();
      gather(objects, object, seen, *rules);
      cluster_roles[name] = std::move(rules);
    }
  }
  static Rules own_rules(const kube::Object& role) {
    auto rules = std::make_shared<std::vector<PolicyRule>>();
    for (const json::Slice rule : role.member("rules").elements())
      rules->push_back(rule_from(rule));
    return rules;
  }
  // A role's own rules and those of the roles that it aggregates. The real server has a controller
  // that copies the latter; here they count at once, whether or not somebody copies them.
  static void gather(const std::map<std::string, kube::Object, std::less<>>& objects,
                     const kube::Object& role, std::set<std::string, std::less<>>& seen,
                     std::vector<PolicyRule>& rules) {
    if (!seen.emplace(role.name()).second) return;
    const Rules own = own_rules(role);
    for (const PolicyRule& rule : *own)
      if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
    for (const json::Slice each :
         role.member("aggregationRule")["clusterRoleSelectors"].elements()) {
      const auto selector = kube::LabelSelector::from_json(each);
      if (!selector) continue;
      for (const auto& [name, other] : objects)
        if (selector->matches(other.labels())) gather(objects, other, seen, rules);
    }
  }

  void bind(const kube::Object& binding, std::string_view ns, std::size_t number) {
    const json::Slice ref = binding.member("roleRef");
    const std::string kind = ref["kind"].text(), name = ref["name"].text();
    const Rules rules = find(kind, name, ns);
    const std::string what =
        fmt::format("{} {} of {} {} to ", ns.empty() ? "ClusterRoleBinding" : "RoleBinding",
                    json::quoted(ns.empty() ? std::string(binding.name())
                                            : fmt::format("{}/{}", binding.name(), ns)),
                    kind, json::quoted(name));
    for (const json::Slice subject : binding.member("subjects").elements()) {
      Grant grant{.binding = number, .ns = std::string(ns), .rules = rules};
      grant.reason = rules == nullptr
                         ? fmt::format("{}.rbac.authorization.k8s.io {} not found",
                                       kind == "Role" ? "role" : "clusterrole", json::quoted(name))
                         : what + subject_text(subject, ns);
      const json::Slice of = subject["kind"];
      if (of.equals("User")) {
        of_users[subject["name"].text()].push_back(std::move(grant));
      } else if (of.equals("Group")) {
        of_groups[subject["name"].text()].push_back(std::move(grant));
      } else if (of.equals("ServiceAccount")) {
        const std::string own = subject["namespace"].text();
        const std::string_view account_ns = own.empty() ? ns : std::string_view(own);
        if (account_ns.empty()) continue;
        of_users[fmt::format("system:serviceaccount:{}:{}", account_ns, subject["name"].text())]
            .push_back(std::move(grant));
      }
    }
  }
  Rules find(std::string_view kind, std::string_view name, std::string_view ns) const {
    if (kind == "ClusterRole") {
      const auto found = cluster_roles.find(name);
      return found == cluster_roles.end() ? nullptr : found->second;
    }
    const auto found = roles.find(KeyRef(ns, name).text());
    return found == roles.end() ? nullptr : found->second;
  }

  // In the order in which the real server looks at bindings; of each the first subject counts.
  std::vector<const Grant*> grants(const kube::User& user, std::string_view ns) const {
    std::vector<const Grant*> found;
    const auto add = [&](const auto& index, std::string_view subject) {
      const auto at = index.find(subject);
      if (at == index.end()) return;
      for (const Grant& grant : at->second)
        if (grant.ns.empty() || (!ns.empty() && grant.ns == ns)) found.push_back(&grant);
    };
    add(of_users, user.name);
    for (const std::string& group : user.groups) add(of_groups, group);
    std::stable_sort(found.begin(), found.end(),
                     [](const Grant* a, const Grant* b) { return a->binding < b->binding; });
    return found;
  }

  const Remembered& decide(const kube::User& user, const Attributes& wants, std::size_t most) {
    key.assign(user.name);
    for (const std::string& group : user.groups) (key += '\1') += group;
    for (const std::string_view word :
         {wants.verb, wants.group, wants.resource, wants.subresource, wants.ns, wants.path})
      (key += '\0') += word;
    if (const auto found = remembered.find(std::string_view(key)); found != remembered.end())
      return found->second;
    if (remembered.size() >= most) remembered.clear();
    Remembered& fresh = remembered[key];
    std::vector<std::string> problems;
    for (const Grant* grant : grants(user, wants.ns)) {
      if (grant->rules == nullptr) {
        problems.push_back(grant->reason);
        continue;
      }
      for (const PolicyRule& rule : *grant->rules) {
        if (!allows_but_for_name(rule, wants)) continue;
        if (wants.path.empty() && !rule.names.empty()) {
          fresh.by_name.emplace_back(&rule, grant);
          continue;
        }
        fresh.decided = fresh.by_name.empty();
        fresh.allowed = true;
        fresh.reason = "RBAC: allowed by " + grant->reason;
        return fresh;
      }
    }
    fresh.decided = fresh.by_name.empty();
    if (!problems.empty()) fresh.reason = "RBAC: " + joined(problems);
    return fresh;
  }
};

Rbac::Rbac(Store& store, std::size_t most_remembered)
    : store_(store), most_remembered_(most_remembered), watches_(std::size(kKinds)) {
  for (std::size_t i = 0; i < watches_.size(); ++i) follow(i);
}

Rbac::~Rbac() {
  for (const WatchId id : watches_) store_.unwatch(id);
}

void Rbac::follow(std::size_t kind) {
  watches_[kind] = store_.watch({.kind = *kKinds[kind], .after = store_.published()}, *this);
  store_.read(watches_[kind], 1);
}

void Rbac::ready(WatchId id) {
  compiled_.reset();
  for (;;) {
    const WatchBatch batch = store_.read(id, 1'000);
    if (batch.end) break;
    if (!batch.more) return;
  }
  // Its history went away under it.
  store_.unwatch(id);
  for (std::size_t i = 0; i < watches_.size(); ++i)
    if (watches_[i] == id) return follow(i);
}

const Rbac::Compiled& Rbac::compiled() {
  if (compiled_ == nullptr) compiled_ = std::make_unique<Compiled>(store_);
  return *compiled_;
}

std::size_t Rbac::remembered() const {
  return compiled_ == nullptr ? 0 : compiled_->remembered.size();
}

Decision Rbac::authorize(const kube::User& user, const Attributes& wants) {
  if (is_master(user)) return {.allowed = true};
  compiled();
  const Compiled::Remembered& found = compiled_->decide(user, wants, most_remembered_);
  if (!found.decided)
    for (const auto& [rule, grant] : found.by_name)
      if (allows_name(*rule, wants.name))
        return {.allowed = true, .reason = "RBAC: allowed by " + grant->reason};
  return {.allowed = found.allowed, .reason = found.reason};
}

Rbac::Held Rbac::held(const kube::User& user, std::string_view ns) {
  Held out;
  std::set<std::size_t> bindings;  // a binding gives its rules once
  for (const Compiled::Grant* grant : compiled().grants(user, ns)) {
    if (!bindings.insert(grant->binding).second) continue;
    if (grant->rules == nullptr)
      out.problems.push_back(grant->reason);
    else
      out.rules.insert(out.rules.end(), grant->rules->begin(), grant->rules->end());
  }
  return out;
}

Result<std::vector<PolicyRule>> Rbac::rules_of(std::string_view role_kind, std::string_view name,
                                               std::string_view ns) {
  if (const Rules found = compiled().find(role_kind, name, ns)) return *found;
  // k8s 1.36: it speaks of the binding's resource, by the role's name.
  const std::string plural = ns.empty() ? "clusterrolebindings" : "rolebindings";
  return tl::unexpected(Error{
      .reason = Reason::kNotFound,
      .message =
          fmt::format("{}.rbac.authorization.k8s.io {} not found", plural, json::quoted(name)),
      .about = std::make_shared<const About>(
          About{.name = std::string(name), .group = "rbac.authorization.k8s.io", .kind = plural})});
}

}  // namespace berth::apiserver
