// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/webhook.h"

#include <algorithm>

#include <fmt/format.h>

#include "apiserver/admission/refusal.h"
#include "apiserver/auth/user_info.h"
#include "apiserver/kinds/rules.h"
#include "base/base64.h"
#include "json/writer.h"
#include "kube/status.h"

namespace berth::apiserver {

namespace {

std::vector<std::string> words(json::Slice list) {
  std::vector<std::string> out;
  for (const json::Slice each : list.elements()) out.push_back(each.text());
  return out;
}

WebhookTarget target_of(json::Slice config) {
  WebhookTarget target{.url = config["url"].text(),
                       .ca_bundle = from_base64(config["caBundle"].text()).value_or("")};
  const json::Slice service = config["service"];
  if (!service.is_object()) return target;
  target.service_ns = service["namespace"].text();
  target.service_name = service["name"].text();
  std::string path = service["path"].text();
  if (!path.empty() && !path.starts_with('/')) path.insert(0, "/");
  target.url = fmt::format("https://{}.{}.svc:{}{}", target.service_name, target.service_ns,
                           service["port"].integer().value_or(443), path);
  return target;
}

Webhook read(json::Slice hook, std::string id) {
  Webhook out{.id = std::move(id),
              .name = hook["name"].text(),
              .target = target_of(hook["clientConfig"]),
              .rules = {},
              .namespaces = {},
              .objects = {},
              .conditions = {},
              .problem = {},
              .review_version = {}};
  for (const json::Slice rule : hook["rules"].elements()) {
    const std::string scope = rule["scope"].text();
    out.rules.push_back({words(rule["operations"]), words(rule["apiGroups"]),
                         words(rule["apiVersions"]), words(rule["resources"]),
                         scope.empty() ? "*" : scope});
  }
  const auto selector = [&](json::Slice given, kube::LabelSelector& into) {
    if (!given.is_object()) return;
    auto parsed = kube::LabelSelector::from_json(given);
    if (parsed)
      into = std::move(*parsed);
    else
      out.problem = parsed.error().message;
  };
  selector(hook["namespaceSelector"], out.namespaces);
  selector(hook["objectSelector"], out.objects);
  for (const std::string& version : words(hook["admissionReviewVersions"]))
    if (out.review_version.empty() && (version == "v1" || version == "v1beta1"))
      out.review_version = version;
  if (out.review_version.empty())
    out.problem =
        "could not create admission objects: webhook does not accept known AdmissionReview "
        "versions (v1, v1beta1)";
  for (const json::Slice each : hook["matchConditions"].elements()) {
    std::string expression = each["expression"].text();
    auto program = compile_condition(expression);
    if (program)
      out.conditions.push_back({std::move(expression), std::move(*program)});
    else
      out.problem = program.error().message;
  }
  out.ignore_failure = hook["failurePolicy"].equals("Ignore");
  out.equivalent = !hook["matchPolicy"].equals("Exact");
  out.reinvoke = hook["reinvocationPolicy"].equals("IfNeeded");
  out.dry_runs = hook["sideEffects"].equals("None") || hook["sideEffects"].equals("NoneOnDryRun");
  out.timeout = std::chrono::seconds(hook["timeoutSeconds"].integer().value_or(10));
  return out;
}

bool has_or_star(const std::vector<std::string>& list, std::string_view one) {
  for (const std::string& each : list)
    if (each == "*" || each == one) return true;
  return false;
}

std::string_view operation_text(Operation operation) {
  switch (operation) {
    case Operation::kCreate:
      return "CREATE";
    case Operation::kUpdate:
      return "UPDATE";
    case Operation::kDelete:
      return "DELETE";
    case Operation::kConnect:
      return "CONNECT";
  }
  return "";
}

// k8s 1.36: a namespace is taken to be in itself.
std::string_view namespace_of(const AdmissionCall& call) {
  return call.row.id == kube::kNamespace ? std::string_view(call.name) : call.request.ns;
}

bool rule_names(const WebhookRule& rule, Operation operation, const kube::Kind& kind,
                std::string_view subresource) {
  if (!has_or_star(rule.operations, operation_text(operation)) ||
      !has_or_star(rule.groups, kind.group) || !has_or_star(rule.versions, kind.version))
    return false;
  for (const std::string_view each : rule.resources) {
    const std::size_t slash = each.find('/');
    const std::string_view resource = each.substr(0, slash);
    const std::string_view sub =
        slash == std::string_view::npos ? std::string_view() : each.substr(slash + 1);
    if ((resource == "*" || resource == kind.plural) && (sub == "*" || sub == subresource))
      return true;
  }
  return false;
}

bool rule_matches(const WebhookRule& rule, const AdmissionCall& call, const kube::Kind& as) {
  const bool in_cluster = call.row.id == kube::kNamespace || call.request.ns.empty();
  if (rule.scope != "*" && (rule.scope == "Cluster") != in_cluster) return false;
  return rule_names(rule, call.operation, as, call.request.subresource);
}

Peek new_labels(const AdmissionCall& call) {
  if (call.edit != nullptr) return Peek(call.edit->metadata())["labels"];
  return call.posted == nullptr ? Peek() : Peek(*call.posted)["metadata"]["labels"];
}

bool matches(const kube::LabelSelector& selector, Peek labels) {
  return selector.matches([&](std::string_view key) -> std::optional<std::string_view> {
    const Peek found = labels[key];
    return found.is_text() ? std::optional(found.text()) : std::nullopt;
  });
}

// The same objects under another version's name; nothing but the name may differ.
bool equivalent(const KindRow& a, const KindRow& b) {
  return &a != &b && a.stored_as.value_or(a.id) == b.stored_as.value_or(b.id) && !a.to_stored &&
         !b.to_stored && !a.from_stored && !b.from_stored;
}

void write_kind(json::Writer& w, std::string_view key, const kube::Kind& kind) {
  w.member(key).object().member("group").string(kind.group);
  w.member("version").string(kind.version).member("kind").string(kind.kind).end();
}
void write_resource(json::Writer& w, std::string_view key, const kube::Kind& kind) {
  w.member(key).object().member("group").string(kind.group);
  w.member("version").string(kind.version).member("resource").string(kind.plural).end();
}

// What a request's document is: a subresource may have a kind of its own.
kube::Kind document_kind(const AdmissionCall& call, const kube::Kind& of) {
  kube::Kind out = of;
  if (const Subresource* sub = call.row.subresource(call.request.subresource)) {
    if (!sub->kind.empty()) out.kind = sub->kind;
    if (!sub->version.empty()) {
      out.group = sub->group;
      out.version = sub->version;
    }
  }
  return out;
}

void write_options(json::Writer& w, const AdmissionCall& call) {
  const kube::Options& options = call.request.options;
  const char* kind = call.operation == Operation::kCreate   ? "CreateOptions"
                     : call.operation == Operation::kUpdate ? "UpdateOptions"
                                                            : "DeleteOptions";
  if (call.operation == Operation::kConnect) {
    w.member("options").null();
    return;
  }
  w.member("options").object().member("kind").string(kind);
  w.member("apiVersion").string("meta.k8s.io/v1");
  if (call.operation == Operation::kDelete) {
    if (options.grace_period_seconds)
      w.member("gracePeriodSeconds").integer(*options.grace_period_seconds);
    constexpr const char* kPolicies[] = {"", "Background", "Foreground", "Orphan"};
    if (options.propagation != kube::Propagation::kUnset)
      w.member("propagationPolicy")
          .string(kPolicies[static_cast<std::size_t>(options.propagation)]);
  } else {
    if (!options.field_manager.empty()) w.member("fieldManager").string(options.field_manager);
    constexpr const char* kChecks[] = {"", "Ignore", "Warn", "Strict"};
    if (options.field_validation != kube::FieldValidation::kUnset)
      w.member("fieldValidation")
          .string(kChecks[static_cast<std::size_t>(options.field_validation)]);
  }
  if (options.dry_run) w.member("dryRun").array().string("All").end();
  w.end();
}

// The document under the name of that kind.
std::string renamed(std::string text, const kube::Kind& from, const kube::Kind& as) {
  if (from.api_version() == as.api_version() && from.kind == as.kind) return text;
  json::Arena arena;
  json::Value document = json::parse_good(text, arena);
  document.get_object()["apiVersion"] = bj(as.api_version());
  document.get_object()["kind"] = bj(as.kind);
  return json::print(document);
}

}  // namespace

std::vector<Webhook> webhooks_of(const kube::Object& configuration) {
  std::vector<Webhook> out;
  const std::string prefix =
      fmt::format("{}/{}/", kube::kind_of(configuration.kind()).kind, configuration.name());
  for (const json::Slice hook : configuration.member("webhooks").elements())
    out.push_back(read(hook, fmt::format("{}{}", prefix, out.size())));
  return out;
}

bool may_ask(const Webhook& hook, Operation operation, const kube::Kind& kind,
             std::string_view subresource) {
  return std::any_of(hook.rules.begin(), hook.rules.end(), [&](const WebhookRule& rule) {
    return rule_names(rule, operation, kind, subresource);
  });
}

namespace {

// By everything but its conditions.
Result<std::optional<WebhookInvocation>> selected(const Webhook& hook, const AdmissionCall& call,
                                                  const Store& store, const Kinds& kinds) {
  const std::optional<WebhookInvocation> none;
  // Its own configurations could otherwise never be repaired.
  if (call.row.kind.group == "admissionregistration.k8s.io") return none;
  if (!hook.objects.everything() && !matches(hook.objects, new_labels(call)) &&
      !(call.old.valid() && hook.objects.matches(call.old.labels())))
    return none;

  std::optional<WebhookInvocation> found;
  for (const WebhookRule& rule : hook.rules)
    if (!found && rule_matches(rule, call, call.row.kind)) found = {&hook, &call.row};
  if (!found && hook.equivalent)
    for (const WebhookRule& rule : hook.rules)
      for (const KindRow* other : kinds.rows())
        if (!found && equivalent(call.row, *other) && rule_matches(rule, call, other->kind))
          found = {&hook, other};
  if (!found || hook.namespaces.everything()) return found;

  const std::string_view ns = namespace_of(call);
  if (ns.empty()) return found;  // k8s 1.36: what is in no namespace is never exempt
  if (call.row.id == kube::kNamespace && call.edit != nullptr)
    return matches(hook.namespaces, new_labels(call)) ? found : none;
  const kube::Object* in = store.get(kube::kNamespace, {"", ns}, View::kTip);
  if (in == nullptr)
    return tl::unexpected(Error{.reason = Reason::kNotFound,
                                .message = fmt::format("namespaces {} not found", json::quoted(ns)),
                                .about = std::make_shared<const About>(
                                    About{.name = std::string(ns), .kind = "namespaces"})});
  return hook.namespaces.matches(in->labels()) ? found : none;
}

}  // namespace

Result<std::optional<WebhookInvocation>> invocation_of(const Webhook& hook,
                                                       const AdmissionCall& call,
                                                       const Store& store, const Kinds& kinds) {
  auto found = selected(hook, call, store, kinds);
  if (!found || !*found || hook.conditions.empty()) return found;
  std::string why;
  const std::optional<bool> match = all_match(hook.conditions, review_of(**found, call, ""), why);
  if (match) return *match ? found : std::optional<WebhookInvocation>();
  if (hook.ignore_failure) return std::optional<WebhookInvocation>();
  return tl::unexpected(refusal(call, why));
}

std::string review_of(const WebhookInvocation& invocation, const AdmissionCall& call,
                      std::string_view uid) {
  const kube::Kind own = document_kind(call, call.row.kind);
  const kube::Kind as = document_kind(call, invocation.as->kind);
  json::Writer w;
  w.object().member("kind").string("AdmissionReview");
  w.member("apiVersion").string("admission.k8s.io/" + invocation.hook->review_version);
  w.member("request").object().member("uid").string(uid);
  write_kind(w, "kind", as);
  write_resource(w, "resource", invocation.as->kind);
  if (!call.request.subresource.empty()) w.member("subResource").string(call.request.subresource);
  write_kind(w, "requestKind", own);
  write_resource(w, "requestResource", call.row.kind);
  if (!call.request.subresource.empty())
    w.member("requestSubResource").string(call.request.subresource);
  if (!call.name.empty()) w.member("name").string(call.name);
  if (const std::string_view ns = namespace_of(call); !ns.empty()) w.member("namespace").string(ns);
  w.member("operation").string(operation_text(call.operation));
  w.member("userInfo");
  write_user_info(w, call.request.user);
  w.member("object");
  if (call.edit != nullptr)
    w.raw(renamed(call.edit->text(), own, as));
  else if (call.posted != nullptr)
    w.raw(json::print(*call.posted));
  else
    w.null();
  w.member("oldObject");
  if (call.old.valid())
    w.raw(renamed(call.old.json(), call.row.kind, invocation.as->kind));
  else
    w.null();
  w.member("dryRun").boolean(call.request.options.dry_run);
  write_options(w, call);
  w.end().end();
  return w.take();
}

Result<WebhookVerdict> verdict_of(const Webhook& hook, std::string_view reply, std::string_view uid,
                                  bool mutating) {
  const auto bad = [](std::string text) {
    return fail(Reason::kUnknown, "received invalid webhook response: " + text);
  };
  json::Arena arena;
  if (reply.size() > WebhookCaller::kMostReplyBytes)
    return bad(
        fmt::format("it has {} bytes, more than {}", reply.size(), WebhookCaller::kMostReplyBytes));
  if (auto parsed = json::parse(reply, arena); !parsed)
    return fail(Reason::kUnknown, "failed to call webhook: " + parsed.error().message);
  const json::Slice review(reply), response = review["response"];
  if (!response.is_object()) return bad("webhook response was absent");
  if (hook.review_version == "v1") {
    if (!response["uid"].equals(uid))
      return bad(fmt::format("expected response.uid={}, got {}", json::quoted(uid),
                             json::quoted(response["uid"].text())));
    const std::string api = review["apiVersion"].text(), kind = review["kind"].text();
    const std::size_t slash = api.find('/');
    if (api != "admission.k8s.io/v1" || kind != "AdmissionReview")
      return bad(fmt::format(
          "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {}/{}, "
          "Kind={}",
          slash == std::string::npos ? "" : api.substr(0, slash),
          slash == std::string::npos ? api : api.substr(slash + 1), kind));
  }
  const std::string patch = response["patch"].text();
  const bool typed = response["patchType"].present() && !response["patchType"].is_null();
  if (mutating && hook.review_version == "v1") {
    if (!patch.empty() && !typed)
      return bad("webhook returned response.patch but not response.patchType");
    if (patch.empty() && typed)
      return bad("webhook returned response.patchType but not response.patch");
    if (typed && !response["patchType"].equals("JSONPatch"))
      return fail(Reason::kUnknown, fmt::format("unsupported patch type {}",
                                                json::quoted(response["patchType"].text())));
  } else if (!mutating && hook.review_version == "v1") {
    if (!patch.empty()) return bad("validating webhook may not return response.patch");
    if (typed) return bad("validating webhook may not return response.patchType");
  }
  WebhookVerdict verdict{.allowed = response["allowed"].boolean()};
  for (const json::Slice warning : response["warnings"].elements())
    verdict.warnings.push_back(warning.text());
  if (verdict.allowed && mutating && !patch.empty()) {
    std::optional<std::string> text = from_base64(patch);
    if (!text || !json::parse(*text, arena))
      return fail(Reason::kUnknown, "received undecodable patch in webhook response");
    verdict.patch = std::move(*text);
  }
  if (!verdict.allowed) {
    const json::Slice status = response["status"];
    verdict.denial = status.is_object() ? kube::error_from_status(status) : Error{.message = {}};
    const std::string by =
        fmt::format("admission webhook {} denied the request", json::quoted(hook.name));
    const std::string said = status["message"].text(), reason = status["reason"].text();
    verdict.denial.reason = reason_named(reason);
    verdict.denial.message = !said.empty()     ? by + ": " + said
                             : !reason.empty() ? by + ": " + reason
                                               : by + " without explanation";
    verdict.denial.code = std::max(400, static_cast<int>(status["code"].integer().value_or(400)));
    const json::Slice details = status["details"];
    verdict.denial.about = std::make_shared<const About>(About{.name = details["name"].text(),
                                                               .group = details["group"].text(),
                                                               .kind = details["kind"].text(),
                                                               .uid = details["uid"].text(),
                                                               .reason = reason});
  }
  return verdict;
}

Error failed_calling(const Webhook& hook, std::string_view why) {
  const std::string text =
      fmt::format("failed calling webhook {}: {}", json::quoted(hook.name), why);
  return {.reason = Reason::kInternalError,
          .message = "Internal error occurred: " + text,
          .causes = {{.reason = "", .message = text, .field = ""}},
          .about = std::make_shared<const About>()};
}

}  // namespace berth::apiserver
