// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <fmt/format.h>

#include "checker_parts.h"
#include "kube/node_selector.h"
#include "kube/quantity.h"

namespace berth::e2e::checker {
namespace {

struct Volumes {
  std::map<std::string, const kube::Object*> by_name, claims;  // claims by "namespace/name"
};

bool has_mode(json::Slice modes, const char* mode) {
  for (json::Slice each : modes.elements())
    if (each.equals(mode)) return true;
  return false;
}

// The names of the claims a pod uses, generic ephemeral volumes included.
std::vector<std::string> claims_of(const PodFacts& pod) {
  std::vector<std::string> out;
  for (json::Slice volume : pod.spec["volumes"].elements()) {
    if (volume["persistentVolumeClaim"].is_object())
      out.push_back(volume["persistentVolumeClaim"]["claimName"].text());
    if (volume["ephemeral"].is_object())
      out.push_back(fmt::format("{}-{}", pod.object.name(), volume["name"].text()));
  }
  return out;
}

// A volume with a zone label may be used where the node has the same label with one of its values.
void check_zone(const Facts& facts, const PodFacts& pod, const kube::Object& volume) {
  for (const char* key :
       {"topology.kubernetes.io/zone", "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"}) {
    std::string rest = volume.label(key);
    if (rest.empty()) continue;
    const auto label = pod.node->labels.find(key);
    const std::string own = label == pod.node->labels.end() ? "" : label->second;
    bool found = false;
    for (std::size_t end = 0; !rest.empty();) {
      end = rest.find("__");
      found = found || rest.substr(0, end) == own;
      rest = end == std::string::npos ? "" : rest.substr(end + 2);
    }
    if (!found)
      facts.violated("volume zone", pod,
                     fmt::format("{} has {}={}", volume.name(), key, volume.label(key)));
  }
}

void check_claim(const Facts& facts, const Volumes& volumes, const PodFacts& pod,
                 const std::string& name) {
  const auto claim = volumes.claims.find(pod.ns + "/" + name);
  if (claim == volumes.claims.end())
    return facts.violated("claim", pod, fmt::format("claim {} is not there", name));
  const json::Slice spec = claim->second->member("spec");
  const std::string volume_name = spec["volumeName"].text();
  const auto found = volumes.by_name.find(volume_name);
  if (found == volumes.by_name.end())
    return facts.violated(
        "claim", pod, fmt::format("claim {} is bound to no volume (\"{}\")", name, volume_name));
  const kube::Object& volume = *found->second;
  const json::Slice holder = volume.member("spec")["claimRef"];
  if (holder["namespace"].text() != pod.ns || holder["name"].text() != name ||
      (holder["uid"].present() && holder["uid"].text() != claim->second->uid()))
    facts.violated("claim", pod,
                   fmt::format("volume {} belongs to {}/{}", volume_name,
                               holder["namespace"].text(), holder["name"].text()));
  const auto size = kube::Quantity::from_json(volume.member("spec")["capacity"]["storage"]);
  const auto wanted = kube::Quantity::from_json(spec["resources"]["requests"]["storage"]);
  if (size && wanted && *size < *wanted)
    facts.violated("claim", pod,
                   fmt::format("volume {} of {} is smaller than {}", volume_name, size->text(),
                               wanted->text()));
  const json::Slice required = volume.member("spec")["nodeAffinity"]["required"];
  if (required.is_object()) {
    const auto matches =
        kube::NodeSelector::from_json(required).matches(pod.node->object.labels(), pod.node->name);
    if (!matches || !*matches)
      facts.violated("volume affinity", pod, fmt::format("{} is not for this node", volume_name));
  }
  check_zone(facts, pod, volume);
}

void check_single_users(const Facts& facts, const Volumes& volumes) {
  std::map<std::string, const PodFacts*> users;
  for (const PodFacts& pod : facts.pods) {
    if (pod.node == nullptr) continue;
    for (const std::string& name : claims_of(pod)) {
      const std::string key = pod.ns + "/" + name;
      const auto claim = volumes.claims.find(key);
      if (claim == volumes.claims.end() ||
          !has_mode(claim->second->member("spec")["accessModes"], "ReadWriteOncePod"))
        continue;
      const auto [first, is_first] = users.emplace(key, &pod);
      if (!is_first)
        facts.violated("single user", pod,
                       fmt::format("{} is already used by {}", key, first->second->key));
    }
  }
}

// How many volumes of a driver a node attaches, against what its CSINode allows.
void check_limits(const Facts& facts, const Volumes& volumes) {
  std::map<std::string, std::map<std::string, std::set<std::string>>> attached;
  std::map<std::string, const PodFacts*> last;
  for (const PodFacts& pod : facts.pods) {
    if (pod.node == nullptr) continue;
    for (const std::string& name : claims_of(pod)) {
      const auto claim = volumes.claims.find(pod.ns + "/" + name);
      if (claim == volumes.claims.end()) continue;
      const auto volume = volumes.by_name.find(claim->second->member("spec")["volumeName"].text());
      if (volume == volumes.by_name.end()) continue;
      const json::Slice csi = volume->second->member("spec")["csi"];
      if (!csi.is_object()) continue;
      attached[pod.node->name][csi["driver"].text()].insert(csi["volumeHandle"].text());
      last[pod.node->name] = &pod;
    }
  }
  for (const kube::Object& csi_node : facts.state->csi_nodes)
    for (json::Slice driver : csi_node.member("spec")["drivers"].elements()) {
      const auto most = driver["allocatable"]["count"].integer();
      const std::string node(csi_node.name());
      const std::size_t used = attached[node][driver["name"].text()].size();
      if (most && static_cast<std::int64_t>(used) > *most)
        facts.violated(
            "volume limit", *last[node],
            fmt::format("{} volumes of {}, {} allowed", used, driver["name"].text(), *most));
    }
}

}  // namespace

void check_volumes(const Facts& facts) {
  Volumes volumes;
  for (const kube::Object& volume : facts.state->volumes)
    volumes.by_name[std::string(volume.name())] = &volume;
  for (const kube::Object& claim : facts.state->claims) volumes.claims[claim.key().text()] = &claim;
  for (const PodFacts& pod : facts.pods) {
    if (pod.node == nullptr) continue;
    for (const std::string& name : claims_of(pod)) check_claim(facts, volumes, pod, name);
  }
  check_single_users(facts, volumes);
  check_limits(facts, volumes);
}

}  // namespace berth::e2e::checker
