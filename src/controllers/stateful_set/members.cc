// SPDX-License-Identifier: Apache-2.0
#include "controllers/stateful_set/members.h"

#include <algorithm>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "json/writer.h"
#include "kube/label_selector.h"

namespace berth::controllers {
namespace {

constexpr const char* kPodName = "statefulset.kubernetes.io/pod-name";
constexpr const char* kPodIndex = "apps.kubernetes.io/pod-index";

// The claims' volumes, then those of the template that do not have their names.
std::string volumes_json(const SetSpec& set, json::Slice others, std::int64_t ordinal) {
  json::Writer w;
  w.array();
  std::vector<std::string> names;
  for (const json::Slice one : set.claim_templates.elements()) {
    const std::string name = one["metadata"]["name"].text();
    w.object().member("name").string(name).member("persistentVolumeClaim").object();
    w.member("claimName").string(set.claim_name(name, ordinal)).end().end();
    names.push_back(name);
  }
  for (const json::Slice one : others.elements())
    if (std::find(names.begin(), names.end(), one["name"].text()) == names.end()) w.raw(one.raw());
  w.end();
  return w.take();
}

std::string member_spec(const SetSpec& set, json::Slice spec, std::int64_t ordinal) {
  json::Writer w;
  w.object();
  for (auto at = spec.members().begin(); at != nullptr; ++at)
    if ((*at).key != "volumes" && (*at).key != "hostname" && (*at).key != "subdomain")
      w.member((*at).key).raw((*at).value.raw());
  w.member("hostname").string(set.pod_name(ordinal));
  if (const std::string service = set.spec["serviceName"].text(); !service.empty())
    w.member("subdomain").string(service);
  if (set.claim_templates.size() + spec["volumes"].size() > 0)
    w.member("volumes").raw(volumes_json(set, spec["volumes"], ordinal));
  w.end();
  return w.take();
}

}  // namespace

std::pair<std::string_view, std::int64_t> parent_and_ordinal(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == name.npos || dash + 1 == name.size()) return {"", -1};
  const std::string_view digits = name.substr(dash + 1);
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return {"", -1};
  const auto number = kube::parse_decimal(digits);
  return {name.substr(0, dash), number && *number <= INT32_MAX ? *number : -1};
}

std::int64_t ordinal_of(const Object& pod) { return parent_and_ordinal(pod.name()).second; }

SetSpec::SetSpec(const Object& set) : name(set.name()), spec(set.member("spec")) {
  claim_templates = spec["volumeClaimTemplates"];
  replicas = spec["replicas"].integer().value_or(1);
  start = spec["ordinals"]["start"].integer().value_or(0);
  min_ready_seconds = spec["minReadySeconds"].integer().value_or(0);
  history_limit = spec["revisionHistoryLimit"].integer().value_or(10);
  parallel = spec["podManagementPolicy"].equals("Parallel");
  on_delete = spec["updateStrategy"]["type"].equals("OnDelete");
  const json::Slice rolling = spec["updateStrategy"]["rollingUpdate"];
  rolling_given = rolling.is_object();
  partition = rolling["partition"].integer().value_or(0);
  const json::Slice policy = spec["persistentVolumeClaimRetentionPolicy"];
  deletes_on_scale = policy["whenScaled"].equals("Delete");
  deletes_with_set = policy["whenDeleted"].equals("Delete");
}

std::string SetSpec::pod_name(std::int64_t ordinal) const {
  return fmt::format("{}-{}", name, ordinal);
}
std::string SetSpec::claim_name(std::string_view claim_template, std::int64_t ordinal) const {
  return fmt::format("{}-{}-{}", claim_template, name, ordinal);
}

std::string member_json(const Object& set, const SetSpec& spec, json::Slice pod_template,
                        std::string_view revision, std::int64_t ordinal) {
  PodParts parts{
      {std::string(set.ns()), spec.pod_name(ordinal)}, pod_template, controller_ref(set)};
  parts.labels = {{kPodName, parts.key.name},
                  {kPodIndex, std::to_string(ordinal)},
                  {std::string(kRevisionLabel), std::string(revision)}};
  parts.spec = member_spec(spec, pod_template["spec"], ordinal);
  return pod_json(parts);
}

std::string claim_json(const Object& set, const SetSpec& spec, json::Slice claim_template,
                       std::int64_t ordinal) {
  const json::Slice metadata = claim_template["metadata"];
  const json::Slice selected = spec.spec["selector"]["matchLabels"];
  json::Writer w;
  w.object().member("apiVersion").string("v1").member("kind").string("PersistentVolumeClaim");
  w.member("metadata").object();
  w.member("name").string(spec.claim_name(metadata["name"].text(), ordinal));
  w.member("namespace").string(set.ns());
  if (metadata["labels"].size() + selected.size() > 0) {
    w.member("labels").object();
    for (auto at = metadata["labels"].members().begin(); at != nullptr; ++at)
      if (!selected[(*at).key]) w.member((*at).key).raw((*at).value.raw());
    for (auto at = selected.members().begin(); at != nullptr; ++at)
      w.member((*at).key).raw((*at).value.raw());
    w.end();
  }
  for (const char* kept : {"annotations", "finalizers"})
    if (metadata[kept].size() > 0) w.member(kept).raw(metadata[kept].raw());
  w.end().member("spec").raw(claim_template["spec"].raw()).end();
  return w.take();
}

bool identity_matches(const SetSpec& set, const Object& pod) {
  const auto [parent, ordinal] = parent_and_ordinal(pod.name());
  return ordinal >= 0 && parent == set.name && pod.name() == set.pod_name(ordinal) &&
         pod.label(kPodName) == pod.name();
}

bool storage_matches(const SetSpec& set, const Object& pod) {
  const std::int64_t ordinal = ordinal_of(pod);
  if (ordinal < 0) return false;
  for (const json::Slice claim : set.claim_templates.elements()) {
    const std::string name = claim["metadata"]["name"].text();
    const std::string wanted = set.claim_name(name, ordinal);
    bool found = false;
    for (const json::Slice volume : pod.member("spec")["volumes"].elements())
      found |= volume["name"].equals(name) &&
               volume["persistentVolumeClaim"]["claimName"].equals(wanted);
    if (!found) return false;
  }
  return true;
}

std::string member_patch(const SetSpec& set, const Object& pod) {
  const std::int64_t ordinal = ordinal_of(pod);
  json::Writer w;
  w.object();
  if (!identity_matches(set, pod)) {
    w.member("metadata").object().member("labels").object();
    w.member(kPodName).string(pod.name());
    w.member(kPodIndex).string(std::to_string(ordinal)).end().end();
  }
  if (!storage_matches(set, pod))
    w.member("spec")
        .object()
        .member("volumes")
        .raw(volumes_json(set, pod.member("spec")["volumes"], ordinal))
        .end();
  w.end();
  return w.take();
}

}  // namespace berth::controllers
