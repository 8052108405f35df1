// SPDX-License-Identifier: Apache-2.0
// Nobody grants more than they hold, by a role or by a binding. In the real server this is part of
// the storage of these kinds and has no name as a plugin.
#include <fmt/format.h>

#include "apiserver/admission/refusal.h"
#include "apiserver/admission/steps.h"

namespace berth::apiserver {

namespace {

class RoleEscalation final : public AdmissionStep {
 public:
  explicit RoleEscalation(Rbac& rbac) : rbac_(rbac) {}
  std::string_view name() const override { return "RoleEscalation"; }

  // Before validation, as there; and after it again, for what webhooks have made of it.
  Result<Ok> mutate(AdmissionCall& call) override { return check(call); }
  Result<Ok> validate(AdmissionCall& call) override { return check(call); }

 private:
  Result<Ok> check(AdmissionCall& call) {
    const bool role = call.is(kube::kRole) || call.is(kube::kClusterRole);
    const bool binding = call.is(kube::kRoleBinding) || call.is(kube::kClusterRoleBinding);
    if ((!role && !binding) || call.edit == nullptr || is_master(call.request.user)) return Ok{};
    if (call.operation == Operation::kUpdate && only_for_removal(call)) return Ok{};
    return role ? check_role(call) : check_binding(call);
  }

  // What the garbage collector changes gives nobody anything.
  static bool only_for_removal(AdmissionCall& call) {
    if (!same(Peek(call.edit->body()), call.edit->was_body())) return false;
    const Peek was = call.edit->was_metadata();
    for (const auto& member : call.edit->metadata()) {
      const std::string_view key = sv(member.key());
      if (key == "ownerReferences" || key == "finalizers" || key == "managedFields" ||
          key == "resourceVersion")
        continue;
      if (!same(Peek(member.value()), was[key])) return false;
    }
    return true;
  }

  bool may(const AdmissionCall& call, std::string_view verb, std::string_view resource,
           std::string_view name) {
    return rbac_
        .authorize(call.request.user, {.verb = verb,
                                       .group = "rbac.authorization.k8s.io",
                                       .version = "*",
                                       .resource = resource,
                                       .ns = call.request.ns,
                                       .name = name})
        .allowed;
  }

  Result<Ok> check_role(AdmissionCall& call) {
    // k8s 1.36: a create is asked about without a name.
    const std::string_view name =
        call.operation == Operation::kCreate ? std::string_view() : std::string_view(call.name);
    if (may(call, "escalate", call.row.kind.plural, name)) return Ok{};
    std::vector<PolicyRule> wanted;
    for (const json::Value& rule : Peek(call.edit->body())["rules"].elements())
      wanted.push_back(rule_from(Peek(rule)));
    if (auto ok = holds(call, wanted); !ok) return ok;
    const bool aggregates =
        Peek(call.edit->body())["aggregationRule"]["clusterRoleSelectors"].size() > 0 ||
        (call.old.valid() && call.old.member("aggregationRule")["clusterRoleSelectors"].size() > 0);
    if (!aggregates) return Ok{};
    const std::vector<PolicyRule> everything = {
        {.verbs = {"*"}, .groups = {"*"}, .resources = {"*"}}, {.verbs = {"*"}, .urls = {"*"}}};
    if (!holds(call, everything))
      return tl::unexpected(
          refusal(call, "must have cluster-admin privileges to use the aggregationRule"));
    return Ok{};
  }

  Result<Ok> check_binding(AdmissionCall& call) {
    const Peek ref = Peek(call.edit->body())["roleRef"];
    const std::string kind(ref["kind"].text()), name(ref["name"].text());
    // Anything else fails validation.
    if (kind != "ClusterRole" && kind != "Role") return Ok{};
    if (may(call, "bind", kind == "Role" ? "roles" : "clusterroles", name)) return Ok{};
    const auto rules = rbac_.rules_of(kind, name, call.request.ns);
    if (!rules) return tl::unexpected(rules.error());
    return holds(call, *rules);
  }

  Result<Ok> holds(AdmissionCall& call, const std::vector<PolicyRule>& wanted) {
    const kube::User& user = call.request.user;
    const Rbac::Held held = rbac_.held(user, call.request.ns);
    const std::vector<PolicyRule> missing = missing_rights(held.rules, wanted);
    if (missing.empty()) return Ok{};
    std::string groups;
    for (const std::string& group : user.groups)
      groups += (groups.empty() ? "" : " ") + json::quoted(group);
    std::string text = fmt::format(
        "user {} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        json::quoted(user.name), groups, rights_text(missing));
    if (!held.problems.empty())
      text += fmt::format("; resolution errors: [{}]", aggregate_text(held.problems));
    return tl::unexpected(refusal(call, text));
  }

  Rbac& rbac_;
};

}  // namespace

Step role_escalation(Rbac& rbac) { return std::make_unique<RoleEscalation>(rbac); }

}  // namespace berth::apiserver
