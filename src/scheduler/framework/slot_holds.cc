// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/slot_holds.h"

#include <limits>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::scheduler {
namespace {

constexpr std::string_view kPrefix = "berth.dev/hold/";
// Holding too much for a moment does no harm; looking at ten thousand slots for each of them does.
constexpr Duration kPause = 50ms;

PodPtr hold(PodCompiler& compiler, const std::string& name, const std::string& node,
            const kube::ResourceList& size) {
  json::Writer w;
  w.object().member("metadata").object();
  w.member("name").string(name).member("uid").string(std::string(kPrefix) + name).end();
  w.member("spec").object().member("nodeName").string(node);
  // Nobody outranks it: it is no pod that could be evicted.
  w.member("priority").integer(std::numeric_limits<std::int32_t>::max());
  w.member("containers").array().object().member("name").string("hold");
  w.member("resources").object().member("requests").object();
  for (const auto& [resource, amount] : size) w.member(resource).string(amount.text());
  w.end().end().end().end().end().end();
  const auto object = kube::Object::parse(kube::kPod, w.take());
  if (!object) return nullptr;
  auto made = compiler.compile(*object);
  return made ? *made : nullptr;
}

}  // namespace

SlotHolds::SlotHolds(Scope& scope, ClusterState& cluster, slots::SlotBoard& board,
                     std::function<void(const PodPtr&)> freed)
    : scope_(scope), cluster_(cluster), board_(board), freed_(std::move(freed)) {
  listening_ = board_.on_change([this](const kube::Key& testbed) { look_soon(testbed); });
}

bool SlotHolds::is_hold(std::string_view uid) { return uid.starts_with(kPrefix); }

void SlotHolds::instead_of(const Pod& gone) {
  const auto label = gone.labels->find(kube::kTestbedLabel);
  if (!label || gone.node_name.empty() || by_pod_.count(gone.uid) > 0) return;
  // A Testbed of another namespace than the executor's is found by the pod.
  const auto place = board_.place_of(gone.uid, wall());
  const kube::Key testbed = place ? place->testbed : kube::Key{gone.ns, std::string(*label)};
  if (board_.table(testbed, wall()) == nullptr) return;
  auto instead = std::make_shared<Pod>(*PodCompiler::placed(gone, gone.node_name));
  instead->uid = std::string(kPrefix) + gone.uid;
  instead->labels = std::make_shared<Labels>();
  instead->volumes = nullptr;
  auto lasting = std::make_shared<PodSpec>(*gone.spec);
  lasting->priority = std::numeric_limits<std::int32_t>::max();
  lasting->affinity = {};
  lasting->host_ports.clear();
  instead->spec = std::move(lasting);
  by_pod_[gone.uid] = {testbed, instead};
  cluster_.add_pod(instead);
  look_soon(testbed);
}

PodPtr SlotHolds::find(const kube::Key& testbed, slots::SlotNumber slot) const {
  const auto found = by_slot_.find({testbed, slot});
  return found == by_slot_.end() ? nullptr : found->second;
}

void SlotHolds::take(const kube::Key& testbed, slots::SlotNumber slot) {
  const auto found = by_slot_.find({testbed, slot});
  if (found == by_slot_.end()) return;
  cluster_.remove_pod(found->second->uid);
  by_slot_.erase(found);
}

void SlotHolds::give_back(const kube::Key& testbed, slots::SlotNumber number) {
  const slots::SlotTable* table = board_.table(testbed, wall());
  const slots::Slot* slot = table == nullptr ? nullptr : table->find(number);
  if (slot != nullptr && slot->held && !slot->ghost_bound) add({testbed, number}, *slot);
  look_soon(testbed);
}

void SlotHolds::look_soon(const kube::Key& testbed) {
  due_.insert(testbed);
  if (std::exchange(armed_, true)) return;
  scope_.after(kPause, [this] {
    armed_ = false;
    for (const kube::Key& each : std::exchange(due_, {})) look(each);
  });
}

void SlotHolds::add(const Place& place, const slots::Slot& slot) {
  if (by_slot_.count(place) > 0 || slot.size == nullptr || !cluster_.row_of(slot.node)) return;
  PodPtr held = hold(compiler_, fmt::format("{}/{}", place.first.text(), place.second), slot.node,
                     *slot.size);
  if (!held) return;
  cluster_.add_pod(held);
  by_slot_[place] = std::move(held);
}

void SlotHolds::drop(const PodPtr& held) {
  cluster_.remove_pod(held->uid);
  freed_(held);
}

// Every slot that is to be held has a hold, a ghost on its node, or an executor.
void SlotHolds::look(const kube::Key& testbed) {
  const slots::SlotTable* table = board_.table(testbed, wall());
  std::set<Place> wanted;
  if (table != nullptr)
    for (const slots::Slot& slot : table->slots) {
      const Place place{testbed, slot.number};
      const bool there = slot.executor || (slot.ghost && slot.ghost_bound);
      if (there) covered_.insert(place);
      if (!slot.held) covered_.erase(place);
      if (there || !slot.held) continue;
      // Of a slot that never had anybody nobody knows whether there is room for it.
      if (slot.grant.empty() && covered_.count(place) == 0) continue;
      wanted.insert(place);
      add(place, slot);
    }
  std::vector<PodPtr> gone;
  for (auto at = by_slot_.lower_bound({testbed, std::numeric_limits<int>::min()});
       at != by_slot_.end() && at->first.first == testbed;) {
    if (wanted.count(at->first) > 0) {
      ++at;
      continue;
    }
    gone.push_back(at->second);
    at = by_slot_.erase(at);
  }
  for (auto at = by_pod_.begin(); at != by_pod_.end();) {
    // While the board has not seen it go, it takes the pod for its slot's.
    if (at->second.testbed != testbed || board_.knows(at->first)) {
      ++at;
      continue;
    }
    gone.push_back(at->second.hold);
    at = by_pod_.erase(at);
  }
  for (const PodPtr& held : gone) drop(held);
}

}  // namespace berth::scheduler
