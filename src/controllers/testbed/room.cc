// SPDX-License-Identifier: Apache-2.0
#include "controllers/testbed/room.h"

#include <set>
#include <tuple>

#include <fmt/format.h>

#include "controllers/nodes.h"
#include "kube/node_view.h"
#include "kube/ours/reasons.h"
#include "kube/pod_requests.h"
#include "kube/pod_view.h"
#include "policy/admission/ordinary_priority.h"

namespace berth::controllers {
namespace {

using kube::Key;
using kube::Object;
using kube::ResourceList;
using runtime::View;

constexpr std::string_view kPods = "pods";

auto age(const Object& testbed) {
  return std::tuple(testbed.created().value_or(WallTime{}), testbed.uid());
}

// What the slots of a Testbed take on a node.
ResourceList taken_on(const kube::TestbedView& testbed, const Object& node) {
  ResourceList sum;
  if (!node.labels()[testbed.node_label()]) return sum;
  for (const kube::SlotClass& each : testbed.classes()) {
    if (!each.node_label.empty() && !node.labels()[each.node_label]) continue;
    for (int i = 0; i < each.per_node; ++i) {
      kube::add(sum, each.size);
      kube::add(sum, {{std::string(kPods), kube::Quantity::of(1)}});
    }
  }
  return sum;
}

// Whom a ghost that fits nowhere sends away.
bool is_scavenger(const Object& pod) {
  return kube::PodView(pod).priority() < 0 &&
         admission::is_scavenger_class(pod.member("spec")["priorityClassName"].text());
}

// The resource of which there is not enough, or "".
std::string lacking(const ResourceList& there, const ResourceList& used, const ResourceList& need) {
  for (const auto& [name, amount] : need) {
    const auto has = there.find(name);
    const auto spent = used.find(name);
    kube::Quantity left = has == there.end() ? kube::Quantity() : has->second;
    if (spent != used.end()) left -= spent->second;
    if (amount > left)
      return fmt::format("{}: {} needed, {} left", name, amount.text(), left.text());
  }
  return {};
}

}  // namespace

bool older(const Object& one, const Object& other) { return age(one) < age(other); }

NodeProblems nodes_without_room(const View& view, const kube::SlotKinds& kinds,
                                const SlotSight& sight, const slots::SlotTable& table) {
  const Object& own = sight.testbed.object();
  std::set<std::string_view> holding;  // nodes on which something of it is bound already
  for (const slots::Slot& slot : table.slots)
    if (slot.ghost_bound || slot.executor) holding.insert(slot.node);
  std::set<std::string> names;
  for (const slots::WantedClass& each : sight.wanted)
    names.insert(each.nodes.begin(), each.nodes.end());
  std::vector<kube::TestbedView> elders;
  std::set<Key> younger;
  for (const Object* other : view.list(kinds.testbed)) {
    if (other->uid() == own.uid() || other->deleting()) continue;
    if (older(*other, own))
      elders.emplace_back(*other);
    else
      younger.insert(other->key());
  }

  NodeProblems problems;
  for (const std::string& name : names) {
    const Object* node = view.get(kube::kNode, {"", name});
    if (node == nullptr) continue;
    const ResourceList there = kube::NodeView(*node).allocatable().value_or(ResourceList{});
    ResourceList foreign, elder;
    std::string names_of_elders;
    std::set<Key> counted;
    for (const kube::TestbedView& other : elders) {
      const ResourceList takes = taken_on(other, *node);
      if (takes.empty()) continue;
      kube::add(elder, takes);
      names_of_elders += (names_of_elders.empty() ? "" : ", ") + other.object().key().text();
      counted.insert(other.object().key());
    }
    for (const Object* pod : view.by_index(kube::kPod, kByNode, name)) {
      const auto fact = slots::pod_fact(*pod);
      if (!fact) continue;
      const Key of = slots::testbed_of(*pod);
      if (of == own.key() || counted.count(of) > 0 || is_scavenger(*pod)) continue;
      if (younger.count(of) > 0 && fact->ghost) continue;  // it gives way
      kube::add(foreign, kube::pod_requests(*pod).value_or(ResourceList{}));
      kube::add(foreign, {{std::string(kPods), kube::Quantity::of(1)}});
    }
    const ResourceList need = taken_on(sight.testbed, *node);
    ResourceList all = foreign;
    kube::add(all, elder);
    const std::string alone = lacking(there, foreign, need);
    const std::string beside = lacking(there, all, need);
    if (alone.empty() && !beside.empty())
      problems[name] = {kube::reason::kNodeConflict,
                        fmt::format("{}; Testbed {} is older", beside, names_of_elders)};
    else if (!alone.empty() && holding.count(name) == 0)
      problems[name] = {kube::reason::kNoRoom, alone};
  }
  return problems;
}

}  // namespace berth::controllers
