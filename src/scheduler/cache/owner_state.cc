// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/owner_state.h"

#include <algorithm>

#include "kube/kind.h"

namespace berth::scheduler {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// "ReplicaSet/ns/name" of what controls the pod; "" where nothing does that counts.
std::string owner_key(const Pod& pod) {
  if (!pod.controller) return {};
  const kube::OwnerRef& owner = *pod.controller;
  std::string_view api = owner.api_version;
  if (api.starts_with('/')) api.remove_prefix(1);  // Go reads "/v1" as version v1 of the core group
  const bool counts = (api == "v1" && owner.kind == "ReplicationController") ||
                      (api == "apps/v1" && owner.api_version == api &&
                       (owner.kind == "ReplicaSet" || owner.kind == "StatefulSet"));
  return counts ? owner.kind + '/' + pod.ns + '/' + owner.name : std::string();
}

std::string key_of(const kube::Object& object) {
  return kube::kind_of(object.kind()).kind + '/' + object.key().text();
}

Pairs pairs_of(json::Slice labels) { return Labels::from_json(labels).pairs(); }

void merge(kube::LabelMap& into, const Pairs& pairs) {
  for (const auto& [key, value] : pairs) into[key] = value;
}

kube::LabelSelector selector_of(const kube::LabelMap& labels) {
  std::vector<kube::Requirement> all;
  for (const auto& [key, value] : labels) all.push_back(kube::Requirement::exactly(key, value));
  return kube::LabelSelector().with(std::move(all));
}

}  // namespace

void OwnerState::changed() {
  ++epoch_;
  answers_.clear();
  answer_count_ = 0;
}

void OwnerState::put(const kube::Object& object) {
  const json::Slice selector = object.member("spec")["selector"];
  if (object.kind() == kube::kService) {
    // k8s 1.36: a Service without a selector selects nothing, one with {} every pod.
    if (selector.is_object())
      services_[std::string(object.ns())][std::string(object.name())] = pairs_of(selector);
    else
      return remove(object);
  } else if (object.kind() == kube::kReplicationController) {
    owners_[key_of(object)] = {pairs_of(selector)};
  } else if (object.kind() == kube::kReplicaSet || object.kind() == kube::kStatefulSet) {
    // Null adds nothing, and neither does what cannot be read.
    const Result<kube::LabelSelector> read = kube::LabelSelector::from_json(selector);
    owners_[key_of(object)] = {{}, read ? read->requirements() : std::vector<kube::Requirement>()};
  } else {
    return;
  }
  changed();
}

void OwnerState::remove(const kube::Object& object) {
  if (object.kind() == kube::kService) {
    const auto ns = services_.find(std::string(object.ns()));
    if (ns == services_.end()) return;
    ns->second.erase(std::string(object.name()));
    if (ns->second.empty()) services_.erase(ns);
  } else {
    owners_.erase(key_of(object));
  }
  changed();
}

const OwnerState::Default& OwnerState::default_selector(const Pod& pod) const {
  constexpr std::size_t kRemembered = 16384;
  std::string owner = owner_key(pod);
  std::vector<Answer>& known = answers_[pod.labels.get()];
  for (const Answer& answer : known)
    if (answer.ns == pod.ns && answer.owner == owner) return answer.value;
  Answer made{pod.labels, pod.ns, owner, make_default(pod, owner)};
  if (++answer_count_ > kRemembered) {
    answers_.clear();
    answer_count_ = 1;
  }
  std::vector<Answer>& list = answers_[pod.labels.get()];
  list.push_back(std::move(made));
  return list.back().value;
}

OwnerState::Default OwnerState::make_default(const Pod& pod, const std::string& owner) const {
  kube::LabelMap labels;
  if (const auto ns = services_.find(pod.ns); ns != services_.end())
    for (const auto& [name, pairs] : ns->second)
      if (std::all_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
            return pod.labels->find(pair.first) == pair.second;
          }))
        merge(labels, pairs);
  std::vector<kube::Requirement> also;
  if (const auto found = owners_.find(owner); found != owners_.end()) {
    // k8s 1.36: a ReplicationController's value replaces a Service's; the others' selectors are
    // added, also where both cannot hold or the pod does not match.
    merge(labels, found->second.merged);
    also = found->second.also;
  }
  Default made{selector_of(labels).with(std::move(also)), {}};
  made.text = made.selector.text();
  return made;
}

}  // namespace berth::scheduler
