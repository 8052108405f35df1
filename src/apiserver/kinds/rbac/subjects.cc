// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/rbac/subjects.h"

#include <fmt/format.h>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/object_meta.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {

namespace {

Cell subjects(std::string_view kind) {
  return shown([kind = std::string(kind)](const kube::Object& object) {
    std::string out;
    for (const json::Slice subject : object.member("subjects").elements()) {
      if (!subject["kind"].equals(kind)) continue;
      if (!out.empty()) out += ", ";
      if (kind == "ServiceAccount") out += subject["namespace"].text() + "/";
      out += subject["name"].text();
    }
    return out;
  });
}

std::string role(const kube::Object& object) {
  const json::Slice ref = object.member("roleRef");
  return ref["kind"].text() + "/" + ref["name"].text();
}

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

void fill_groups(Edit& edit) {
  each_dict(edit.body(), "subjects", [](json::Dict& subject) {
    const Peek kind = Peek(subject)["kind"];
    if (kind.is("User") || kind.is("Group")) set_default(subject, "apiGroup", bj(kGroup));
  });
  if (json::Dict* ref = dict_in(edit.body(), "roleRef")) set_default(*ref, "apiGroup", bj(kGroup));
}

void check_subject(Peek subject, bool namespaced, const Path& at, Findings& findings) {
  const std::string_view kind = subject["kind"].text(), name = subject["name"].text(),
                         group = subject["apiGroup"].text();
  if (name.empty()) findings.required(at / "name");
  if (kind == "ServiceAccount") {
    if (!name.empty()) must_be(&kube::check_dns_subdomain, name, at / "name", findings);
    if (!group.empty()) findings.not_supported(at / "apiGroup", group, {""});
    if (!namespaced && subject["namespace"].text().empty()) findings.required(at / "namespace");
  } else if (kind == "User" || kind == "Group") {
    if (group != kGroup) findings.not_supported(at / "apiGroup", group, {kGroup});
  } else {
    findings.not_supported(at / "kind", kind, {"ServiceAccount", "User", "Group"});
  }
}

void check_binding(Edit& edit, bool namespaced, Findings& findings) {
  const Peek ref = Peek(edit.body())["roleRef"];
  const Path at("roleRef");
  if (!ref["apiGroup"].is(kGroup))
    findings.not_supported(at / "apiGroup", ref["apiGroup"].text(), {kGroup});
  const std::string_view kind = ref["kind"].text();
  if (kind != "ClusterRole" && !(namespaced && kind == "Role")) {
    if (namespaced)
      findings.not_supported(at / "kind", kind, {"Role", "ClusterRole"});
    else
      findings.not_supported(at / "kind", kind, {"ClusterRole"});
  }
  if (ref["name"].text().empty())
    findings.required(at / "name");
  else
    must_be(&check_path_segment, ref["name"].text(), at / "name", findings);
  const Peek subjects = Peek(edit.body())["subjects"];
  for (std::size_t i = 0; i < subjects.size(); ++i)
    check_subject(subjects[i], namespaced, Path("subjects")[i], findings);
}

void check_same_role(Edit& edit, Findings& findings) {
  const Peek now = Peek(edit.body())["roleRef"];
  if (!same(now, edit.was_body()["roleRef"]))
    // k8s 1.36: shown by the names that its own types have.
    findings.invalid(
        Path("roleRef"),
        Shown::raw(fmt::format(R"({{"APIGroup":{},"Kind":{},"Name":{}}})",
                               Shown(now["apiGroup"].text()).text(),
                               Shown(now["kind"].text()).text(), Shown(now["name"].text()).text())),
        "cannot change roleRef");
}

}  // namespace

void check_rules(Edit& edit, bool namespaced, Findings& findings) {
  const Peek rules = Peek(edit.body())["rules"];
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Path at = Path("rules")[i];
    const Peek rule = rules[i], urls = rule["nonResourceURLs"];
    if (rule["verbs"].size() == 0)
      findings.required(at / "verbs", "verbs must contain at least one value");
    if (urls.size() > 0) {
      if (namespaced)
        findings.invalid(at / "nonResourceURLs", as_shown(urls),
                         "namespaced rules cannot apply to non-resource URLs");
      if (rule["apiGroups"].size() + rule["resources"].size() + rule["resourceNames"].size() > 0)
        findings.invalid(at / "nonResourceURLs", as_shown(urls),
                         "rules cannot apply to both regular resources and non-resource URLs");
      continue;
    }
    if (rule["apiGroups"].size() == 0)
      findings.required(at / "apiGroups", "resource rules must supply at least one api group");
    if (rule["resources"].size() == 0)
      findings.required(at / "resources", "resource rules must supply at least one resource");
  }
}

Kind& binds_subjects(Kind& kind, bool namespaced) {
  return kind.column("Role", shown(&role))
      .age_column()
      .wide("Users", subjects("User"))
      .wide("Groups", subjects("Group"))
      .wide("ServiceAccounts", subjects("ServiceAccount"))
      .fill(&fill_groups)
      .check([namespaced](Edit& edit, Findings& findings) {
        check_binding(edit, namespaced, findings);
      })
      .check_update(&check_same_role);
}

}  // namespace berth::apiserver
