// SPDX-License-Identifier: Apache-2.0
#include "controllers/testbed/ghosts.h"

#include <algorithm>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "json/writer.h"
#include "kube/ours/reasons.h"
#include "kube/pod_requests.h"

namespace berth::controllers {
namespace {

using kube::Object;
using slots::Slot;
using slots::SlotState;

constexpr std::string_view kImage = "registry.k8s.io/pause:3.10";
constexpr std::size_t kMostName = 63;

bool same_size(const Object& pod, const kube::ResourceList& size) {
  const auto requests = kube::pod_requests(pod, {.use_status = false});
  if (!requests || requests->size() != size.size()) return false;
  return std::equal(
      requests->begin(), requests->end(), size.begin(),
      [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; });
}

const Slot* slot_of(const slots::SlotTable& table, const Object& ghost) {
  const std::string text = ghost.annotation(kube::kSlotAnnotation);
  for (const Slot& slot : table.slots)
    if (std::to_string(slot.number) == text) return &slot;
  return nullptr;
}

std::string label_text(std::string_view value) {  // what is too long is cut, for people to read
  return std::string(value.substr(0, kMostName));
}

}  // namespace

std::string ghost_name(std::string_view testbed, std::string_view node, int on_node) {
  std::string name = fmt::format("ghostpod-{}-on-{}-{}", testbed, node, on_node);
  if (name.size() <= kMostName) return name;
  const std::string tail = fmt::format("-{}", safe_hash(fnv32a(name)));
  return fmt::format("{}{}", std::string_view(name).substr(0, kMostName - tail.size()), tail);
}

std::string ghost_json(const Object& testbed, const Slot& slot) {
  json::Writer w;
  w.object().member("apiVersion").string("v1").member("kind").string("Pod");
  w.member("metadata").object();
  w.member("name").string(ghost_name(testbed.name(), slot.node, slot.on_node));
  w.member("namespace").string(testbed.ns());
  w.member("labels").object();
  w.member(kube::kTestbedLabel).string(label_text(testbed.name()));
  w.member(kube::kGhostLabel).string("true");
  w.member(kube::kSlotIdLabel).string(std::to_string(slot.on_node));
  w.member(kube::kTargetNodeLabel).string(label_text(slot.node)).end();
  w.member("annotations").object();
  w.member(kube::kSlotAnnotation).string(std::to_string(slot.number));
  w.member(slots::kTestbedAnnotation).string(testbed.key().text());
  w.member(kube::kGenerationAnnotation).string(std::to_string(testbed.generation())).end();
  w.member("ownerReferences").array().raw(controller_ref(testbed)).end().end();
  w.member("spec").object();
  w.member("priorityClassName").string(kube::kGhostClass);
  w.member("terminationGracePeriodSeconds").integer(0);
  w.member("enableServiceLinks").boolean(false);
  w.member("automountServiceAccountToken").boolean(false);
  w.member("tolerations").raw(R"([{"operator":"Exists"}])");
  w.member("affinity")
      .raw(fmt::format(
          R"({{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{{"matchFields":[{{"key":"metadata.name","operator":"In","values":["{}"]}}]}}]}}}}}})",
          slot.node));
  w.member("containers").array().object().member("name").string("hold");
  w.member("image").string(kImage).member("resources").object().member("requests").object();
  for (const auto& [name, amount] : *slot.size) w.member(name).string(amount.text());
  w.end().member("limits").object();
  // What is not cpu or memory is asked for by limits.
  for (const auto& [name, amount] : *slot.size)
    if (name.find('/') != name.npos) w.member(name).string(amount.text());
  w.end().end().end().end();
  w.end().end();
  return w.take();
}

GhostPlan plan_ghosts(const runtime::View& view, const SlotSight& sight,
                      const slots::SlotTable& table, const NodeProblems& problems,
                      const Missing& before, WallTime now) {
  GhostPlan plan;
  const auto again = [&](WallTime at) {
    plan.look_again = plan.look_again ? std::min(*plan.look_again, at) : at;
  };
  std::set<std::string_view> keep;  // uids
  for (const Slot& slot : table.slots) {
    const auto problem = problems.find(slot.node);
    const auto node = sight.nodes.find(slot.node);
    const bool wanted = slot.held && !slot.executor && slot.size != nullptr &&
                        node != sight.nodes.end() && !node->second.going &&
                        (problem == problems.end() ||
                         (problem->second.reason == kube::reason::kNoRoom && slot.ghost));
    if (!wanted) continue;
    if (slot.ghost) {
      const Object* pod = view.get(kube::kPod, slot.ghost->key);
      const bool right =
          pod != nullptr && same_size(*pod, *slot.size) &&
          pod->name() == ghost_name(sight.testbed.object().name(), slot.node, slot.on_node);
      if (right) {
        keep.insert(slot.ghost->uid);
        if (!slot.ghost_bound && slot.state == SlotState::kHolding && pod->created())
          again(*pod->created() + slots::kGhostPatience);
        continue;
      }
    }
    const auto since = before.find(slot.number);
    const WallTime missing = since == before.end() ? now : since->second;
    plan.missing[slot.number] = missing;
    const Duration patience = slot.promised        ? kPromisePatience
                              : slot.grant.empty() ? Duration{}
                                                   : kHandOver;
    if (now - missing < patience) {
      again(missing + patience);
      continue;
    }
    // One of the wrong size has the name that the right one needs.
    if (!slot.ghost) plan.create.push_back(&slot);
  }
  for (const slots::PodFact& pod : sight.pods) {
    if (!pod.ghost || pod.deleting || keep.count(pod.uid) > 0) continue;
    if (const Object* object = view.get(kube::kPod, pod.key))
      plan.remove.emplace_back(object, "no slot wants it");
  }
  for (const Object* ended : sight.ended_ghosts) {
    if (ended->deleting()) continue;
    plan.remove.emplace_back(ended, "it has ended");
    // A kubelet that refuses it will do so again: not before a while.
    if (const Slot* slot = slot_of(table, *ended); slot != nullptr) {
      plan.missing[slot->number] = now + kEndedPatience;
      again(now + kEndedPatience);
    }
  }
  std::set<std::string_view> names;  // that are still in use
  for (const Object* pod :
       view.by_index(kube::kPod, kByTestbed, sight.testbed.object().key().text()))
    names.insert(pod->name());
  std::erase_if(plan.create, [&](const Slot* slot) {
    return names.count(ghost_name(sight.testbed.object().name(), slot->node, slot->on_node)) > 0;
  });
  return plan;
}

}  // namespace berth::controllers
