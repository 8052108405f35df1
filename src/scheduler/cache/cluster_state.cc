// SPDX-License-Identifier: Apache-2.0
// Pods on nodes, and the state as a whole. Nodes and rows are in cluster_nodes.cc, what is looked
// up in cluster_lookups.cc, what is counted in cluster_sets.cc.
#include "scheduler/cache/cluster_state.h"

#include <algorithm>

#include "base/check.h"
#include "scheduler/cache/attached_volumes.h"
#include "scheduler/cache/budget_state.h"
#include "scheduler/cache/owner_state.h"
#include "scheduler/cache/planted_fault.h"
#include "scheduler/cache/storage_state.h"

namespace berth::scheduler {

ClusterState::ClusterState()
    : alive_(std::make_shared<ClusterState*>(this)),
      storage_(std::make_unique<StorageState>()),
      owners_(std::make_unique<OwnerState>()),
      budgets_(std::make_unique<BudgetState>()),
      attached_(std::make_unique<AttachedVolumes>()) {
  keys_.emplace_back();  // kItself
  table_.add_key();
  journal_.add_key();
  taint_sets_.emplace_back();  // no taints
  taint_sets_[0].nodes = 1;    // never given back
}

ClusterState::~ClusterState() { *alive_ = nullptr; }

std::unique_ptr<ClusterState> ClusterState::clone() const {
  auto copy = std::make_unique<ClusterState>();
  for (const auto& [name, labels] : namespaces_) copy->namespaces_[name] = labels;
  *copy->storage_ = *storage_;
  *copy->owners_ = *owners_;
  *copy->budgets_ = *budgets_;
  for (const auto& [zone, nodes] : zones_)
    for (NodeId id : nodes) copy->put_node(slots_[index(id)].node);
  for (const NodeSlot& from : slots_)
    for (const PodPtr& pod : from.pods)
      copy->place(pod, copy->slot_named(from.name), records_.find(pod->uid)->second.assumed);
  return copy;
}

NodeId ClusterState::node_id(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? NodeId::kNone : found->second;
}

NodeId ClusterState::slot_named(std::string_view name) {
  if (const NodeId known = node_id(name); known != NodeId::kNone) return known;
  NodeId id;
  if (!free_slots_.empty()) {
    id = free_slots_.back();
    free_slots_.pop_back();
  } else {
    id = static_cast<NodeId>(slots_.size());
    slots_.emplace_back();
  }
  slot(id).name = name;
  by_name_.emplace(name, id);
  return id;
}

void ClusterState::release_slot(NodeId id) {
  NodeSlot& gone = slot(id);
  if (gone.node || !gone.pods.empty()) return;
  by_name_.erase(gone.name);
  gone = NodeSlot{};
  free_slots_.push_back(id);
}

ClusterState::Added ClusterState::add_pod(PodPtr pod) {
  const auto known = records_.find(pod->uid);
  Added added = Added::kNew;
  if (known != records_.end()) {
    if (!known->second.assumed) return Added::kKnown;
    added = slot(known->second.node).name == pod->node_name ? Added::kConfirmed : Added::kMoved;
    take(pod->uid);
  }
  const NodeId id = slot_named(pod->node_name);
  place(std::move(pod), id, false);
  return added;
}

void ClusterState::update_pod(PodPtr pod) {
  const auto known = records_.find(pod->uid);
  if (known == records_.end()) {
    add_pod(std::move(pod));
    return;
  }
  const bool was_assumed = known->second.assumed;
  const PodRecord before = take(pod->uid);
  if (planted(CacheFault::kForgetOnRelabel) && *before.pod->labels != *pod->labels &&
      slot(before.node).node)
    count_pod(*before.pod, before.node, +1);
  const NodeId id = slot_named(pod->node_name);
  place(std::move(pod), id, was_assumed);
}

bool ClusterState::remove_pod(std::string_view uid) {
  if (records_.find(uid) == records_.end()) return false;
  take(uid);
  return true;
}

void ClusterState::assume_pod(PodPtr placed) {
  BERTH_CHECK(records_.find(placed->uid) == records_.end(), "a pod is assumed once");
  const NodeId id = slot_named(placed->node_name);
  place(std::move(placed), id, true);
}

bool ClusterState::forget_pod(std::string_view uid) {
  const auto known = records_.find(uid);
  if (known == records_.end() || !known->second.assumed) return false;
  take(uid);
  return true;
}

bool ClusterState::assumed(std::string_view uid) const {
  const auto known = records_.find(uid);
  return known != records_.end() && known->second.assumed;
}

PodPtr ClusterState::pod(std::string_view uid) const {
  const auto known = records_.find(uid);
  return known == records_.end() ? nullptr : known->second.pod;
}

void ClusterState::place(PodPtr pod, NodeId id, bool assume) {
  NodeSlot& on = slot(id);
  const auto place = static_cast<std::uint32_t>(on.pods.size());
  const Pod& placed = *pod;
  records_[placed.uid] = {pod, id, place, assume};
  assumed_ += assume ? 1 : 0;
  on.pods.push_back(std::move(pod));
  touch(id, account(placed, id, +1));
}

ClusterState::PodRecord ClusterState::take(std::string_view uid) {
  const auto known = records_.find(uid);
  PodRecord gone = std::move(known->second);
  records_.erase(known);
  assumed_ -= gone.assumed ? 1 : 0;
  // k8s 1.36: the last pod of the list takes the place of the one that goes.
  std::vector<PodPtr>& pods = slot(gone.node).pods;
  if (gone.place + 1 < pods.size()) {
    pods[gone.place] = std::move(pods.back());
    records_.find(pods[gone.place]->uid)->second.place = gone.place;
  }
  pods.pop_back();
  touch(gone.node, account(*gone.pod, gone.node, -1));
  release_slot(gone.node);
  return gone;
}

void ClusterState::put_back(PodRecord record) {
  const NodeId id = slot_named(record.pod->node_name);
  std::vector<PodPtr>& pods = slot(id).pods;
  pods.push_back(record.pod);
  const auto last = static_cast<std::uint32_t>(pods.size() - 1);
  if (record.place < last) {
    std::swap(pods[record.place], pods[last]);
    records_.find(pods[last]->uid)->second.place = last;
  }
  record.node = id;
  assumed_ += record.assumed ? 1 : 0;
  const PodPtr pod = record.pod;
  records_[pod->uid] = std::move(record);
  touch(id, account(*pod, id, +1));
}

RowChanges ClusterState::account(const Pod& pod, NodeId id, int sign) {
  NodeSlot& on = slot(id);
  const Resources& used = pod.used();
  on.sums.millicores += sign * used.millicores;
  on.sums.memory += sign * used.memory;
  on.sums.disk += sign * used.disk;
  on.sums.nonzero_millicores += sign * pod.used_nonzero_millicores();
  on.sums.nonzero_memory += sign * pod.used_nonzero_memory();
  for (const auto& [name, amount] : used.scalars) {
    const ResourceId resource_id = resource(name);
    auto at = std::find_if(on.scalars.begin(), on.scalars.end(),
                           [&](const auto& entry) { return entry.first == resource_id; });
    if (at == on.scalars.end()) at = on.scalars.insert(at, {resource_id, 0});
    at->second += sign * amount;
  }
  for (const HostPort& port : pod.spec->host_ports) {
    const std::string name = port.protocol + '/' + std::to_string(port.port);
    std::vector<PortUse>& users = ports_[name];
    auto at = std::find_if(users.begin(), users.end(),
                           [&](const PortUse& use) { return use.node == id && use.ip == port.ip; });
    if (at == users.end()) at = users.insert(at, {id, port.ip, 0});
    at->pods = static_cast<std::uint32_t>(static_cast<int>(at->pods) + sign);
    if (at->pods == 0) users.erase(at);
    if (users.empty()) ports_.erase(name);
    on.ports = static_cast<std::uint32_t>(static_cast<int>(on.ports) + sign);
  }
  if (pod.volumes) on.volumes_epoch = ++volumes_epoch_;
  if (on.node) account_claims(pod, sign);
  return count_pod(pod, id, sign);
}

void ClusterState::account_claims(const Pod& pod, int sign) {
  if (!pod.volumes) return;
  for (const PodVolume& volume : pod.volumes->list) {
    if (volume.kind != PodVolume::Kind::kClaim) continue;
    const std::string key = pod.ns + '/' + volume.claim;
    std::uint32_t& users = claims_[key];
    users = static_cast<std::uint32_t>(static_cast<int>(users) + sign);
    if (users == 0) claims_.erase(key);
  }
}

const std::vector<PortUse>* ClusterState::port_users(std::string_view protocol,
                                                     std::int32_t port) const {
  std::string name(protocol);
  name += '/';
  name += std::to_string(port);
  const auto found = ports_.find(name);
  return found == ports_.end() ? nullptr : &found->second;
}

std::uint32_t ClusterState::claim_users(std::string_view key) const {
  const auto found = claims_.find(key);
  return found == claims_.end() ? 0 : found->second;
}

const NodeAttached& ClusterState::attached_on(NodeId id) const { return attached_->on(*this, id); }

void ClusterState::put_namespace(std::string name, LabelsPtr labels) {
  LabelsPtr& known = namespaces_[std::move(name)];
  const bool same = known && *known == *labels;
  known = std::move(labels);
  if (!same) namespaces_changed();
}

void ClusterState::remove_namespace(std::string_view name) {
  const auto found = namespaces_.find(name);
  if (found == namespaces_.end()) return;
  namespaces_.erase(found);
  namespaces_changed();
}

const Labels& ClusterState::namespace_labels(std::string_view name) const {
  static const Labels kNone;
  const auto found = namespaces_.find(name);
  return found == namespaces_.end() ? kNone : *found->second;
}

bool ClusterState::knows_namespace(std::string_view name) const {
  return namespaces_.find(name) != namespaces_.end();
}

}  // namespace berth::scheduler
