// SPDX-License-Identifier: Apache-2.0
#include "controllers/pods.h"

#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/names.h"
#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

// k8s 1.36: apimachinery's rand.SafeEncodeString and rand.String.
constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t kSuffix = 5, kLongestPrefix = 63 - kSuffix;

json::Slice ready_condition(const Object& pod) {
  return kube::find_condition(pod.status(), "Ready");
}

void write_map(json::Writer& w, std::string_view name, json::Slice base,
               const std::vector<std::pair<std::string, std::string>>& more) {
  if (base.size() == 0 && more.empty()) return;
  w.member(name).object();
  for (auto at = base.members().begin(); at != nullptr; ++at) {
    bool replaced = false;
    for (const auto& [key, value] : more) replaced |= key == (*at).key;
    if (!replaced) w.member((*at).key).raw((*at).value.raw());
  }
  for (const auto& [key, value] : more) w.member(key).string(value);
  w.end();
}

}  // namespace

bool pod_ended(const Object& pod) {
  const json::Slice phase = pod.status()["phase"];
  return phase.equals("Succeeded") || phase.equals("Failed");
}
bool pod_active(const Object& pod) { return !pod.deleting() && !pod_ended(pod); }
bool pod_terminating(const Object& pod) { return pod.deleting() && !pod_ended(pod); }
bool pod_ready(const Object& pod) { return ready_condition(pod)["status"].equals("True"); }

std::optional<WallTime> ready_since(const Object& pod) {
  const json::Slice condition = ready_condition(pod);
  if (!condition["status"].equals("True")) return std::nullopt;
  return kube::parse_time(condition["lastTransitionTime"].text());
}

bool pod_available(const Object& pod, Duration min_ready, WallTime now) {
  if (!pod_ready(pod)) return false;
  if (min_ready == Duration{}) return true;
  const auto since = ready_since(pod);
  return since && *since + min_ready <= now;
}

std::optional<WallTime> available_at(const Object& pod, Duration min_ready, WallTime now) {
  if (min_ready <= Duration{}) return std::nullopt;
  const auto since = ready_since(pod);
  if (!since || *since + min_ready <= now) return std::nullopt;
  return *since + min_ready;
}

std::string controller_ref(const Object& owner) {
  const kube::Kind& kind = kube::kind_of(owner.kind());
  json::Writer w;
  w.object().member("apiVersion").string(kind.api_version()).member("kind").string(kind.kind);
  w.member("name").string(owner.name()).member("uid").string(owner.uid());
  w.member("controller").boolean(true).member("blockOwnerDeletion").boolean(true).end();
  return w.take();
}

std::string pod_json(const PodParts& parts) {
  const json::Slice metadata = parts.pod_template["metadata"];
  json::Writer w;
  w.object().member("apiVersion").string("v1").member("kind").string("Pod");
  w.member("metadata").object();
  w.member("name").string(parts.key.name);
  // Nobody generates a name here, but that is how pods tell what they were made as.
  w.member("generateName")
      .string(parts.prefix.empty() ? pod_prefix(json::Slice(parts.owner)["name"].text())
                                   : parts.prefix);
  w.member("namespace").string(parts.key.ns);
  write_map(w, "labels", metadata["labels"], parts.labels);
  write_map(w, "annotations", metadata["annotations"], parts.annotations);
  if (metadata["finalizers"].size() > 0 || !parts.finalizers.empty()) {
    w.member("finalizers").array();
    for (const json::Slice one : metadata["finalizers"].elements()) w.raw(one.raw());
    for (const std::string& one : parts.finalizers) w.string(one);
    w.end();
  }
  w.member("ownerReferences").array().raw(parts.owner).end();
  w.end();
  w.member("spec").raw(parts.spec.empty() ? parts.pod_template["spec"].raw()
                                          : std::string_view(parts.spec));
  w.end();
  return w.take();
}

std::string pod_prefix(std::string_view owner) {
  // The dash is left out where the name with it would be too long for a pod's.
  const std::string prefix = fmt::format("{}-", owner);
  const std::string tried = prefix + "x";
  return kube::check_dns_subdomain(tried).empty() ? prefix : std::string(owner);
}

std::string name_suffix(std::string_view seed) {
  std::uint32_t hash = fnv32a(seed);
  std::string suffix;
  for (std::size_t i = 0; i < kSuffix; ++i) {
    suffix += kAlphabet[hash % kAlphabet.size()];
    hash /= static_cast<std::uint32_t>(kAlphabet.size());
  }
  return suffix;
}

std::string safe_hash(std::uint32_t hash) {
  std::string text = std::to_string(hash);
  for (char& c : text) c = kAlphabet[static_cast<unsigned char>(c) % kAlphabet.size()];
  return text;
}

std::uint32_t fnv32a(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

std::vector<std::string> new_pod_names(const Object& owner, std::size_t count,
                                       const std::vector<const Object*>& existing) {
  std::unordered_set<std::string_view> taken;
  taken.reserve(existing.size());
  for (const Object* pod : existing) taken.insert(pod->name());
  const std::string prefix = pod_prefix(owner.name()).substr(0, kLongestPrefix);
  std::vector<std::string> names;
  std::set<std::string> chosen;
  for (std::uint64_t i = 0; names.size() < count; ++i) {
    std::string name =
        prefix + name_suffix(fmt::format("{}/{}/{}", owner.uid(), owner.revision(), i));
    if (taken.count(name) > 0 || !chosen.insert(name).second) continue;
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace berth::controllers
