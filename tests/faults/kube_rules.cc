// SPDX-License-Identifier: Apache-2.0
#include "kube_rules.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "json/patch.h"
#include "json/slice.h"
#include "json/value.h"
#include "json/writer.h"
#include "kube/schema.h"
#include "kube/time.h"

namespace berth::faults {

using json::Slice;
using kube::Object;

namespace {

tl::unexpected<Error> refuse(Reason reason, std::string message) {
  return tl::unexpected(
      Error{.reason = reason, .message = std::move(message), .code = http_code_of(reason)});
}

bool same(Slice a, Slice b) {
  if (a.present() != b.present()) return false;
  if (!a.present()) return true;
  json::Arena arena;
  return json::equal(json::parse_good(a.raw(), arena), json::parse_good(b.raw(), arena));
}

// `from` with the member of that name as `other` has it, or without it.
std::string with_member(const std::string& from, std::string_view name, Slice other) {
  json::Writer w;
  w.object();
  for (auto at = Slice(from).members().begin(); at != nullptr; ++at)
    if ((*at).key != name) w.member((*at).key).raw((*at).value.raw());
  if (other.present()) w.member(name).raw(other.raw());
  w.end();
  return w.take();
}

std::string merged(const std::string& document, const std::string& patch) {
  auto result = json::merge_patch(document, patch);
  BERTH_CHECK(result.has_value(), patch);
  return *result;
}

bool has_status(kube::KindId kind) {
  static const kube::KindId with[] = {kube::kPod,
                                      kube::kNode,
                                      kube::kNamespace,
                                      kube::kReplicationController,
                                      kube::kJob,
                                      kube::kReplicaSet,
                                      kube::kDeployment,
                                      kube::kStatefulSet,
                                      kube::kDaemonSet,
                                      kube::kPodDisruptionBudget,
                                      kube::kPersistentVolume,
                                      kube::kPersistentVolumeClaim,
                                      kube::kResourceQuota};
  return std::find(std::begin(with), std::end(with), kind) != std::end(with);
}

// Would go if nothing kept it.
bool may_go(kube::KindId kind, Slice document) {
  const Slice metadata = document["metadata"];
  if (kind == kube::kNamespace && document["spec"]["finalizers"].size() > 0) return false;
  return metadata["deletionTimestamp"].present() && metadata["finalizers"].size() == 0 &&
         metadata["deletionGracePeriodSeconds"].integer().value_or(0) == 0;
}

}  // namespace

Result<std::string> as_created(const kube::ApiRequest& request, WallTime now) {
  std::string document =
      merged(*request.body.bytes,
             fmt::format(R"({{"metadata":{{"creationTimestamp":"{}"}}}})", kube::time_text(now)));
  if (Slice(document)["spec"].present())
    document = merged(document, R"({"metadata":{"generation":1}})");
  if (!has_status(request.kind)) return document;
  document = with_member(document, "status", {});
  if (request.kind == kube::kPod) document = merged(document, R"({"status":{"phase":"Pending"}})");
  if (request.kind == kube::kNamespace)
    document =
        merged(document, R"({"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}})");
  return document;
}

std::string with_selector_of(const std::string& job, std::string_view uid) {
  if (Slice(job)["spec"]["selector"].present()) return job;
  const std::string labels = fmt::format(
      R"({{"batch.kubernetes.io/controller-uid":"{0}","batch.kubernetes.io/job-name":"{1}","controller-uid":"{0}","job-name":"{1}"}})",
      uid, Slice(job)["metadata"]["name"].text());
  return merged(
      job,
      fmt::format(
          R"({{"spec":{{"selector":{{"matchLabels":{{"batch.kubernetes.io/controller-uid":"{}"}}}},"template":{{"metadata":{{"labels":{}}}}}}}}})",
          uid, labels));
}

Result<std::string> as_patched(const kube::ApiRequest& request, const Object& old) {
  const std::string& patch = *request.body.bytes;
  switch (request.options.patch_type) {
    case kube::PatchType::kJson:
      return json::json_patch(old.json(), patch);
    case kube::PatchType::kStrategic:
      return json::strategic_merge_patch(old.json(), patch, *kube::schema_of(old.kind()));
    default:
      return json::merge_patch(old.json(), patch);
  }
}

Result<Update> as_updated(const kube::ApiRequest& request, const Object& old, std::string next) {
  const Slice wanted = Slice(next)["metadata"];
  if (wanted["resourceVersion"].present() &&
      !wanted["resourceVersion"].equals(std::to_string(old.revision())))
    return refuse(Reason::kConflict,
                  "the object has been modified; please apply your changes to "
                  "the latest version and try again");
  if (wanted["uid"].present() && !wanted["uid"].equals(old.uid()))
    return refuse(Reason::kInvalid, "metadata.uid: Invalid value: field is immutable");
  const std::string before = old.json();
  const Slice was{std::string_view(before)};
  if (request.subresource == "status") {
    const std::string all = std::move(next);
    next = with_member(before, "status", Slice(all)["status"]);
    // k8s 1.36: a Deployment's annotations may come with its status; its controller writes the
    // revision so, without counting a generation.
    if (old.kind() == kube::kDeployment) {
      const std::string metadata = with_member(std::string(was["metadata"].raw()), "annotations",
                                               Slice(all)["metadata"]["annotations"]);
      next = with_member(next, "metadata", Slice(metadata));
    }
  } else if (has_status(old.kind())) {
    next = with_member(next, "status", was["status"]);
  }
  for (const char* fixed : {"creationTimestamp", "deletionTimestamp", "generation"}) {
    const Slice value = was["metadata"][fixed];
    next = merged(next, fmt::format(R"({{"metadata":{{"{}":{}}}}})", fixed,
                                    value.present() ? value.raw() : "null"));
  }
  if (same(was, Slice(next))) return Update{before};
  if (!same(was["spec"], Slice(next)["spec"]))
    next = merged(next, fmt::format(R"({{"metadata":{{"generation":{}}}}})", old.generation() + 1));
  const bool gone = may_go(old.kind(), Slice(next));
  return Update{std::move(next), true, gone};
}

Result<Deletion> as_deleted(const kube::ApiRequest& request, const Object& old, WallTime now) {
  const kube::Options& options = request.options;
  if (!options.precondition_uid.empty() && options.precondition_uid != old.uid())
    return refuse(Reason::kConflict, "Precondition failed: UID in precondition differs");
  if (options.precondition_revision &&
      *options.precondition_revision != std::to_string(old.revision()))
    return refuse(Reason::kConflict,
                  "Precondition failed: ResourceVersion in precondition differs");
  std::string document = old.json();
  std::vector<std::string> finalizers = old.finalizers();
  const auto want = [&](const char* name, bool wanted) {
    const auto at = std::find(finalizers.begin(), finalizers.end(), name);
    if (wanted && at == finalizers.end()) finalizers.emplace_back(name);
    if (!wanted && at != finalizers.end()) finalizers.erase(at);
  };
  if (options.propagation != kube::Propagation::kUnset) {
    want("foregroundDeletion", options.propagation == kube::Propagation::kForeground);
    want("orphan", options.propagation == kube::Propagation::kOrphan);
  }
  std::int64_t grace = 0;
  if (old.kind() == kube::kPod && old.member("spec")["nodeName"].present() &&
      !old.status()["phase"].equals("Succeeded") && !old.status()["phase"].equals("Failed"))
    grace = options.grace_period_seconds.value_or(
        old.member("spec")["terminationGracePeriodSeconds"].integer().value_or(30));
  if (old.deleting())  // only ever shortened
    grace = std::min(
        grace, Slice(document)["metadata"]["deletionGracePeriodSeconds"].integer().value_or(0));
  const bool namespace_stays =
      old.kind() == kube::kNamespace && old.member("spec")["finalizers"].size() > 0;
  if (finalizers.empty() && grace == 0 && !namespace_stays) return Deletion{};
  json::Writer w;
  w.object().member("metadata").object();
  if (!old.deleting()) {
    w.member("deletionTimestamp").string(kube::time_text(now + std::chrono::seconds(grace)));
    w.member("generation").integer(old.generation() + 1);
  } else if (const auto at = old.deleted()) {  // k8s 1.36: as much earlier as its grace is shorter
    const auto had =
        Slice(document)["metadata"]["deletionGracePeriodSeconds"].integer().value_or(0);
    w.member("deletionTimestamp").string(kube::time_text(*at - std::chrono::seconds(had - grace)));
  }
  w.member("deletionGracePeriodSeconds").integer(grace);
  w.member("finalizers").array();
  for (const std::string& name : finalizers) w.string(name);
  w.end().end();
  if (namespace_stays) w.member("status").object().member("phase").string("Terminating").end();
  w.end();
  const std::string next = merged(document, w.take());
  return Deletion{next, !same(Slice(document), Slice(next))};
}

Object scale_of(const Object& object) {
  json::Writer w;
  w.object().member("apiVersion").string("autoscaling/v1").member("kind").string("Scale");
  w.member("metadata").object().member("name").string(object.name());
  w.member("namespace").string(object.ns()).member("uid").string(object.uid()).end();
  w.member("spec").object().member("replicas").raw(object.member("spec")["replicas"].raw()).end();
  auto scale = Object::parse(w.end().take());
  BERTH_CHECK(scale.has_value(), "an object that scales has spec.replicas");
  return *scale;
}

std::string discovery_json(bool core, const std::vector<kube::KindId>& kinds,
                           const std::vector<kube::KindId>& scaled) {
  // By group, then version, then plural: the document must not depend on how ids were given.
  std::map<std::string, std::map<std::string, std::map<std::string, kube::KindId>>> sorted;
  for (const kube::KindId id : kinds) {
    const kube::Kind& kind = kube::kind_of(id);
    if (kind.group.empty() == core) sorted[kind.group][kind.version][kind.plural] = id;
  }
  json::Writer w;
  w.object().member("kind").string("APIGroupDiscoveryList");
  w.member("apiVersion").string("apidiscovery.k8s.io/v2").member("items").array();
  for (const auto& [group, versions] : sorted) {
    w.object().member("metadata").object().member("name").string(group).end();
    w.member("versions").array();
    for (const auto& [version, resources] : versions) {
      w.object().member("version").string(version).member("resources").array();
      for (const auto& [plural, id] : resources) {
        const kube::Kind& kind = kube::kind_of(id);
        w.object().member("resource").string(plural).member("responseKind").object();
        w.member("group").string(group).member("version").string(version);
        w.member("kind").string(kind.kind).end();
        w.member("scope").string(kind.namespaced ? "Namespaced" : "Cluster");
        w.member("verbs").array();
        for (const char* verb :
             {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"})
          w.string(verb);
        w.end();
        if (std::find(scaled.begin(), scaled.end(), id) != scaled.end())
          w.member("subresources")
              .array()
              .raw(
                  R"({"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"verbs":["get"]})")
              .end();
        w.end();
      }
      w.end().member("freshness").string("Current").end();
    }
    w.end().end();
  }
  w.end().end();
  return w.take();
}

}  // namespace berth::faults
