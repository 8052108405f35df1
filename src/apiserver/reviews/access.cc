// SPDX-License-Identifier: Apache-2.0
// May somebody do something, and what may I do?
#include "apiserver/kinds/findings.h"
#include "apiserver/kinds/rules.h"
#include "apiserver/reviews/parts.h"

namespace berth::apiserver {

namespace {

// k8s 1.36: these errors name a group but no kind.
const kube::Kind kNameless{
    .group = "authorization.k8s.io", .version = "v1", .kind = "", .plural = ""};

Error invalid_review(const Findings& findings) {
  Error error = findings.error(kNameless, "");
  error.about = std::make_shared<const About>(About{.group = kNameless.group});
  return error;
}

void check_one_of_both(Peek spec, Findings& findings) {
  const Path at("spec");
  const Peek resource = spec["resourceAttributes"], path = spec["nonResourceAttributes"];
  if (resource && path)
    findings.invalid(at / "nonResourceAttributes",
                     Shown::raw("{\"Path\":" + Shown(path["path"].text()).text() +
                                ",\"Verb\":" + Shown(path["verb"].text()).text() + "}"),
                     "cannot be specified in combination with resourceAttributes");
  if (!resource && !path)
    findings.invalid(
        at / "resourceAttributes", Shown::raw("null"),
        "exactly one of nonResourceAttributes or resourceAttributes must be specified");
}

kube::User subject_of(Peek spec) {
  kube::User user{.name = std::string(spec["user"].text()), .uid = std::string(spec["uid"].text())};
  for (const json::Value& each : spec["groups"].elements())
    user.groups.emplace_back(Peek(each).text());
  for (const auto& member : spec["extra"].members()) {
    std::vector<std::string>& values = user.extra[std::string(sv(member.key()))];
    for (const json::Value& each : Peek(member.value()).elements())
      values.emplace_back(Peek(each).text());
  }
  return user;
}

Reply decide(const ReviewParts& parts, Question& question, kube::KindId kind,
             const kube::User& user) {
  const Peek spec = Peek(question.posted)["spec"];
  const Peek resource = spec["resourceAttributes"], path = spec["nonResourceAttributes"];
  const Attributes wants =
      resource ? Attributes{.verb = resource["verb"].text(),
                            .group = resource["group"].text(),
                            .version = resource["version"].text(),
                            .resource = resource["resource"].text(),
                            .subresource = resource["subresource"].text(),
                            .ns = resource["namespace"].text(),
                            .name = resource["name"].text()}
               : Attributes{.verb = path["verb"].text(), .path = path["path"].text()};
  const Decision decision = parts.authorizer.authorize(user, wants);
  json::Writer w;
  w.object().member("metadata").object();
  if (kind == kube::kLocalSubjectAccessReview) w.member("namespace").string(question.request.ns);
  w.end().member("spec").raw(raw(spec));
  w.member("status").object().member("allowed").boolean(decision.allowed);
  if (!decision.reason.empty()) w.member("reason").string(decision.reason);
  w.end().end();
  return reply_of(kind, w.take());
}

Findings check_subject(Peek spec) {
  Findings findings;
  check_one_of_both(spec, findings);
  if (spec["user"].text().empty() && spec["groups"].size() == 0)
    findings.invalid(Path("spec") / "user", "", "at least one of user or group must be specified");
  return findings;
}

}  // namespace

Reply answer_access_review(const ReviewParts& parts, Question& question) {
  const Peek spec = Peek(question.posted)["spec"];
  if (const Findings findings = check_subject(spec); !findings.empty())
    return tl::unexpected(invalid_review(findings));
  return decide(parts, question, kube::kSubjectAccessReview, subject_of(spec));
}

Reply answer_local_access_review(const ReviewParts& parts, Question& question) {
  const Peek spec = Peek(question.posted)["spec"];
  Findings findings = check_subject(spec);
  const Path at = Path("spec") / "resourceAttributes";
  const std::string_view ns = spec["resourceAttributes"]["namespace"].text();
  if (spec["nonResourceAttributes"])
    findings.invalid(
        Path("spec") / "nonResourceAttributes",
        Shown::raw("{\"Path\":" + Shown(spec["nonResourceAttributes"]["path"].text()).text() +
                   ",\"Verb\":" + Shown(spec["nonResourceAttributes"]["verb"].text()).text() + "}"),
        "disallowed on this kind of request");
  else if (spec["resourceAttributes"] && ns != question.request.ns)
    findings.invalid(at / "namespace", ns, "must match metadata.namespace");
  if (!findings.empty()) return tl::unexpected(invalid_review(findings));
  return decide(parts, question, kube::kLocalSubjectAccessReview, subject_of(spec));
}

Reply answer_self_access_review(const ReviewParts& parts, Question& question) {
  Findings findings;
  check_one_of_both(Peek(question.posted)["spec"], findings);
  if (!findings.empty()) return tl::unexpected(invalid_review(findings));
  return decide(parts, question, kube::kSelfSubjectAccessReview, question.request.user);
}

Reply answer_rules_review(const ReviewParts& parts, Question& question) {
  const std::string_view ns = Peek(question.posted)["spec"]["namespace"].text();
  if (ns.empty()) return fail(Reason::kBadRequest, "no namespace on request");
  const Rbac::Held held =
      parts.rbac == nullptr ? Rbac::Held() : parts.rbac->held(question.request.user, ns);
  json::Writer w;
  // k8s 1.36: what was asked is not repeated.
  w.object().member("metadata").object().end().member("spec").object().end();
  w.member("status").object().member("resourceRules").array();
  for (const PolicyRule& rule : held.rules) {
    if (rule.resources.empty()) continue;
    w.object();
    write_words(w, "verbs", rule.verbs);
    write_words(w, "apiGroups", rule.groups);
    write_words(w, "resources", rule.resources);
    write_words(w, "resourceNames", rule.names);
    w.end();
  }
  w.end().member("nonResourceRules").array();
  for (const PolicyRule& rule : held.rules) {
    if (rule.urls.empty()) continue;
    w.object();
    write_words(w, "verbs", rule.verbs);
    write_words(w, "nonResourceURLs", rule.urls);
    w.end();
  }
  w.end().member("incomplete").boolean(parts.rbac == nullptr);
  std::string problems;
  for (const std::string& each : held.problems) problems += (problems.empty() ? "" : ", ") + each;
  if (held.problems.size() > 1) problems = "[" + problems + "]";
  if (!problems.empty()) w.member("evaluationError").string(problems);
  w.end().end();
  return reply_of(kube::kSelfSubjectRulesReview, w.take());
}

}  // namespace berth::apiserver
