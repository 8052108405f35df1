// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/webhooks.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/base64.h"
#include "json/writer.h"
#include "kube/ours/scavenger_policy_view.h"

namespace berth::admission {
namespace {

constexpr std::string_view kOrdinaryPath = "/ordinary-priority", kReservedPath = "/reserved",
                           kJobsPath = "/scavenger-jobs", kExecutorsPath = "/executors";

// A condition in CEL: the server asks only where it holds.
struct Condition {
  std::string_view name, expression;
};

struct Hook {
  std::string_view name, path;
  bool fail = false;  // while Berth is away, refuse
  std::vector<std::string_view> operations = {};
  struct Resource {
    std::string_view group, version, plural;
  };
  std::vector<Resource> resources = {};
  std::vector<Condition> conditions = {};
  bool mutating = false;
};

constexpr Condition kBelowOrdinary{"below-ordinary",
                                   "has(object.spec.priority) && object.spec.priority < 0"};
constexpr Condition kExecutor{
    "executor", "has(object.metadata.labels) && 'berth.dev/grant' in object.metadata.labels"};
constexpr Condition kNotDeleting{"not-deleting", "!has(object.metadata.deletionTimestamp)"};
constexpr Condition kSpecChanged{"spec-changed",
                                 "request.operation != 'UPDATE' || object.spec != oldObject.spec"};
constexpr std::string_view kCreate = "CREATE", kUpdate = "UPDATE";

// Pods of a class of ours, or with an annotation of ours.
std::string concerns_us() {
  std::string text =
      "(has(object.spec.priorityClassName) && "
      "(object.spec.priorityClassName.startsWith('scavenger') || "
      "object.spec.priorityClassName.startsWith('berth-')))";
  for (const std::string_view object : {"object", "oldObject"}) {
    const bool old = object == "oldObject";
    text += fmt::format(" || ({0}has({1}.metadata.annotations) && (",
                        old ? "request.operation == 'UPDATE' && " : "", object);
    const char* between = "";
    for (const ReservedAnnotation& one : reserved_annotations()) {
      text += fmt::format("{}'{}' in {}.metadata.annotations", between, one.key, object);
      between = " || ";
    }
    text += "))";
  }
  return text;
}

std::vector<Hook> conditional_hooks(bool polite) {
  static const std::string ours = concerns_us();
  std::vector<Condition> below;
  if (!polite) below.push_back(kBelowOrdinary);
  return {
      // Before the next: what is an executor is no ordinary pod.
      {.name = "executors.berth.dev",
       .path = kExecutorsPath,
       .operations = {kCreate},
       .resources = {{"", "v1", "pods"}},
       .conditions = {kExecutor},
       .mutating = true},
      {.name = "ordinary-priority.berth.dev",
       .path = kOrdinaryPath,
       .operations = {kCreate},
       .resources = {{"", "v1", "pods"}},
       .conditions = below,
       .mutating = true},
      {.name = "reserved-pods.berth.dev",
       .path = kReservedPath,
       .operations = {kCreate, kUpdate},
       .resources = {{"", "v1", "pods"}},
       .conditions = {{"concerns-berth", ours}}},
      {.name = "reserved.berth.dev",
       .path = kReservedPath,
       .operations = {kCreate, kUpdate},
       .resources = {{"batch", "v1", "jobs"},
                     {"kubeflow.org", "*", "mpijobs"},
                     {"berth.dev", "*", "scavengerjobs"},
                     {"core.cerit.cz", "*", "scavengerjobs"}},
       .conditions = {kNotDeleting}},
      {.name = "scavengerjobs.berth.dev",
       .path = kJobsPath,
       .fail = true,
       .operations = {kCreate, kUpdate},
       .resources = {{"berth.dev", "*", "scavengerjobs"}, {"core.cerit.cz", "*", "scavengerjobs"}},
       .conditions = {kNotDeleting, kSpecChanged}}};
}

std::vector<Hook> hooks(const WebhookPlace& place) {
  std::vector<Hook> all = conditional_hooks(place.polite);
  if (place.conditions) return all;
  // Without conditions everything is asked about, so less of it may depend on an answer.
  for (Hook& hook : all) {
    hook.conditions.clear();
    if (hook.fail || hook.name == "reserved-pods.berth.dev") hook.operations = {kCreate};
  }
  Hook updates = all.back();
  updates.name = "scavengerjobs-updates.berth.dev";
  updates.fail = false;
  updates.operations = {kUpdate};
  all.push_back(std::move(updates));
  return all;
}

void write_place(json::Writer& w, const WebhookPlace& place, std::string_view path) {
  w.member("clientConfig").object();
  if (!place.url.empty()) {
    w.member("url").string(place.url + std::string(path));
  } else {
    w.member("service").object().member("namespace").string(place.service_ns);
    w.member("name").string(place.service).member("path").string(path);
    w.member("port").integer(443).end();
  }
  if (!place.ca_bundle.empty()) w.member("caBundle").string(base64(place.ca_bundle));
  w.end();
}

void write(json::Writer& w, const Hook& hook, const WebhookPlace& place) {
  w.object().member("name").string(hook.name);
  w.member("admissionReviewVersions").array().string("v1").end();
  write_place(w, place, hook.path);
  w.member("rules").array();
  for (const Hook::Resource& resource : hook.resources) {
    w.object().member("operations").array();
    for (const std::string_view operation : hook.operations) w.string(operation);
    w.end().member("apiGroups").array().string(resource.group).end();
    w.member("apiVersions").array().string(resource.version).end();
    w.member("resources").array().string(resource.plural).end();
    w.member("scope").string("Namespaced").end();
  }
  w.end().member("failurePolicy").string(hook.fail ? "Fail" : "Ignore");
  w.member("matchPolicy").string("Equivalent").member("sideEffects").string("None");
  // Short: somebody waits, and where it is away, pods go on without it.
  w.member("timeoutSeconds").integer(hook.fail ? 5 : 2);
  if (hook.mutating) w.member("reinvocationPolicy").string("IfNeeded");
  w.member("namespaceSelector").object().member("matchExpressions").array().object();
  w.member("key").string("kubernetes.io/metadata.name").member("operator").string("NotIn");
  w.member("values").array();
  for (const std::string& ns : place.exempt) w.string(ns);
  w.end().end().end().end();
  w.member("matchConditions").array();
  for (const Condition& condition : hook.conditions)
    w.object()
        .member("name")
        .string(condition.name)
        .member("expression")
        .string(condition.expression)
        .end();
  w.end().end();
}

WebhookObject object_of(kube::KindId kind, std::string_view name, bool mutating,
                        const WebhookPlace& place) {
  json::Writer w;
  w.object().member("apiVersion").string(kube::kind_of(kind).api_version());
  w.member("kind").string(kube::kind_of(kind).kind);
  w.member("metadata").object().member("name").string(name);
  w.member("labels").object().member("app").string("berth-controllers").end().end();
  w.member("webhooks").array();
  for (const Hook& hook : hooks(place))
    if (hook.mutating == mutating) write(w, hook, place);
  w.end().end();
  return {kind, {"", std::string(name)}, w.take()};
}

// Everything that `wanted` says is said, whatever else is.
bool contains(json::Slice there, json::Slice wanted) {
  if (wanted.is_object()) {
    for (auto at = wanted.members().begin(); at != nullptr; ++at)
      if (!contains(there[(*at).key], (*at).value)) return false;
    return there.is_object();
  }
  if (wanted.is_array()) {
    if (wanted.size() == 0 && !there) return true;
    if (!there.is_array() || there.size() != wanted.size()) return false;
    auto other = there.elements().begin();
    for (const json::Slice each : wanted.elements()) {
      if (!contains(*other, each)) return false;
      ++other;
    }
    return true;
  }
  return wanted.is_string() ? there.is_string() && there.text() == wanted.text()
                            : there.raw() == wanted.raw();
}

std::string host_of(const std::string& url) {
  const std::size_t begin = url.find("://");
  if (begin == std::string::npos) return {};
  const std::string authority = url.substr(begin + 3, url.find('/', begin + 3) - begin - 3);
  return authority.substr(0, authority.rfind(':'));
}
bool is_address(const std::string& host) {
  return !host.empty() && host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

void take_in(const kube::Object* policy, bool operator_works, Surroundings& into) {
  const kube::ScavengerPolicy said = kube::read_scavenger_policy(policy);
  into.ordinary.polite = operator_works && said.reclaim;
  into.rules = {.default_duration = said.default_duration,
                .window_min = said.window_min,
                .window_max = said.window_max,
                .max_notice = said.max_notice,
                .min_run_max = said.min_run_max,
                .grace_max = said.grace_max};
}

void take_in(const std::vector<kube::Object>& priority_classes, Surroundings& into) {
  const kube::Object* lowest = nullptr;
  const auto value = [](const kube::Object& one) {
    return one.member("value").integer().value_or(0);
  };
  // k8s 1.36: of several, the lowest.
  for (const kube::Object& one : priority_classes)
    if (one.member("globalDefault").boolean() && (lowest == nullptr || value(one) < value(*lowest)))
      lowest = &one;
  into.ordinary.default_class = lowest == nullptr ? std::string() : std::string(lowest->name());
}

std::vector<std::string> webhook_paths() {
  return {std::string(kOrdinaryPath), std::string(kReservedPath), std::string(kJobsPath),
          std::string(kExecutorsPath)};
}

Result<std::string> answer(std::string_view path, std::string_view text,
                           const Surroundings& surroundings) {
  const std::vector<std::string> known = webhook_paths();
  if (std::find(known.begin(), known.end(), path) == known.end())
    return fail(Reason::kNotFound, fmt::format("nothing is asked at {}", path));
  const auto review = read_review(text);
  if (!review) return tl::unexpected(review.error());
  const Verdict verdict = path == kOrdinaryPath ? ordinary_priority(*review, surroundings.ordinary)
                          : path == kReservedPath  ? reserved_to_us(*review, surroundings.reserved)
                          : path == kExecutorsPath ? executor_class(*review, surroundings.reserved)
                                                   : scavenger_job(*review, surroundings.rules);
  return reply_json(*review, verdict);
}

std::vector<std::string> WebhookPlace::dns_names() const {
  if (url.empty())
    return {fmt::format("{}.{}.svc", service, service_ns),
            fmt::format("{}.{}", service, service_ns)};
  const std::string host = host_of(url);
  return is_address(host) ? std::vector<std::string>() : std::vector<std::string>{host};
}
std::vector<std::string> WebhookPlace::addresses() const {
  const std::string host = host_of(url);
  return is_address(host) ? std::vector<std::string>{host} : std::vector<std::string>();
}

std::vector<WebhookObject> webhook_objects(const WebhookPlace& place) {
  return {object_of(kube::kMutatingWebhookConfiguration, "berth-ordinary-priority", true, place),
          object_of(kube::kValidatingWebhookConfiguration, "berth-scavengers", false, place)};
}

bool says_the_same(const kube::Object& there, const WebhookObject& wanted) {
  const json::Slice document(wanted.json);
  return contains(there.member("webhooks"), document["webhooks"]) &&
         contains(there.labels(), document["metadata"]["labels"]);
}

}  // namespace berth::admission
