// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue/unschedulable_pool.h"

#include <algorithm>

#include "scheduler/queue/planted_fault.h"

namespace berth::scheduler {
namespace {

Instant waiting_since(const QueuedPod& queued) {
  return std::max(queued.timestamp, queued.flush_timestamp.value_or(queued.timestamp));
}

void sort_by_arrival(std::vector<QueuedPod*>& pods) {
  std::sort(pods.begin(), pods.end(),
            [](const QueuedPod* a, const QueuedPod* b) { return a->pool_number < b->pool_number; });
}

QueueName gauge_of(bool gated) { return gated ? QueueName::kGated : QueueName::kUnschedulable; }

WaitGroup::Key group_key(const Pod& pod) {
  const bool alone =
      pod.volumes != nullptr || pod.spec->has_resource_claims || !pod.claim_statuses.empty();
  return {pod.spec.get(), pod.labels.get(), pod.ns, alone ? pod.uid : std::string()};
}

}  // namespace

std::size_t WaitGroup::KeyHash::operator()(const Key& key) const {
  std::size_t hash = std::hash<const void*>{}(key.spec);
  for (const std::size_t more :
       {std::hash<const void*>{}(key.labels), std::hash<std::string>{}(key.ns),
        std::hash<std::string>{}(key.alone)})
    hash ^= more + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  return hash;
}

void UnschedulablePool::add(QueuedPod& queued) {
  queued.place = Place::kUnschedulable;
  queued.pool_number = next_number_++;
  queued.counted_gated = queued.gated();
  oldest_ = std::min(oldest_, waiting_since(queued));
  ++size_;
  join(queued);
  observer_.pending(gauge_of(queued.counted_gated), 1);
}

void UnschedulablePool::remove(QueuedPod& queued) {
  leave(queued);
  queued.last_place = Place::kUnschedulable;
  queued.place = Place::kNowhere;
  --size_;
  observer_.pending(gauge_of(queued.counted_gated), -1);
}

void UnschedulablePool::refresh(QueuedPod& queued) {
  if (!planted(Fault::kKeepGroup)) {
    leave(queued);
    join(queued);
  }
  if (queued.counted_gated == queued.gated()) return;
  observer_.pending(gauge_of(queued.counted_gated), -1);
  queued.counted_gated = queued.gated();
  observer_.pending(gauge_of(queued.counted_gated), 1);
}

void UnschedulablePool::join(QueuedPod& queued) {
  const int profile = table_.profile_of(*queued.pod);
  const WaitClass::Key key{profile, queued.unschedulable_plugins.bits(),
                           queued.pending_plugins.bits(), queued.gating_plugin};
  const auto [found, fresh] = classes_.try_emplace(key);
  WaitClass& of = found->second;
  if (fresh) {
    of.key = key;
    of.profile = profile;
    of.rejectors = queued.rejectors();
    of.gating = queued.gating_plugin;
  }
  WaitGroup::Key in_class = group_key(*queued.pod);
  auto& group = of.groups[in_class];
  if (!group) {
    group = std::make_unique<WaitGroup>();
    group->of = &of;
    group->key = std::move(in_class);
  }
  queued.group = group.get();
  queued.group_index = group->members.size();
  group->members.push_back(&queued);
}

void UnschedulablePool::leave(QueuedPod& queued) {
  WaitGroup& group = *queued.group;
  group.members.back()->group_index = queued.group_index;
  group.members[queued.group_index] = group.members.back();
  group.members.pop_back();
  queued.group = nullptr;
  if (!group.members.empty()) return;
  WaitClass& of = *group.of;
  of.groups.erase(of.groups.find(group.key));
  if (of.groups.empty()) classes_.erase(classes_.find(of.key));
}

void UnschedulablePool::wake_group(const WaitGroup& group, const QueuedPod* subject,
                                   const PreCheck& pre_check, const Ask& ask,
                                   std::vector<Woken>& woken) const {
  if (subject != nullptr && (subject->group != &group || planted(Fault::kGroupSubject)))
    subject = nullptr;
  Strategy strategy = Strategy::kSkip;
  bool asked = false;
  std::size_t left = group.members.size();
  for (QueuedPod* queued : group.members) {
    if (planted(Fault::kGroupMember) && --left == 0 && group.members.size() > 1) break;
    if (queued != subject && asked && strategy == Strategy::kSkip) {
      if (subject == nullptr) break;
      continue;
    }
    if (pre_check && !pre_check(*queued->pod)) continue;
    if (queued == subject) {
      const Strategy own = ask(*queued);
      if (own != Strategy::kSkip) woken.push_back({queued, own});
      continue;
    }
    if (!asked) {
      asked = true;
      strategy = ask(*queued);
    }
    if (strategy != Strategy::kSkip) woken.push_back({queued, strategy});
  }
}

std::vector<UnschedulablePool::Woken> UnschedulablePool::woken_by(const RequeueTable::Kind& kind,
                                                                  const QueuedPod* subject,
                                                                  const PreCheck& pre_check,
                                                                  const Ask& ask) const {
  std::vector<Woken> woken;
  for (const auto& [key, of] : classes_) {
    // A gated pod cannot leave before its gating plugin lets it.
    if (of.gating != PluginId::kNone && !kind.wildcard && !kind.registered.has(of.gating) &&
        !planted(Fault::kGatingEvents))
      continue;
    if (!RequeueTable::may_wake(kind, of.profile, of.rejectors)) continue;
    for (const auto& [in_class, group] : of.groups)
      wake_group(*group, subject, pre_check, ask, woken);
  }
  if (!planted(Fault::kMoveOrder))
    std::sort(woken.begin(), woken.end(), [](const Woken& a, const Woken& b) {
      return a.queued->pool_number < b.queued->pool_number;
    });
  return woken;
}

std::vector<QueuedPod*> UnschedulablePool::overdue(Instant now, Duration limit) {
  std::vector<QueuedPod*> overdue;
  if (size_ == 0 || now - oldest_ <= limit) return overdue;
  oldest_ = kNever;
  for (const auto& [key, of] : classes_)
    for (const auto& [in_class, group] : of.groups)
      for (QueuedPod* queued : group->members) {
        const Instant since = waiting_since(*queued);
        if (now - since > limit)
          overdue.push_back(queued);
        else
          oldest_ = std::min(oldest_, since);
      }
  sort_by_arrival(overdue);
  return overdue;
}

std::vector<QueuedPod*> UnschedulablePool::all() const {
  std::vector<QueuedPod*> all;
  all.reserve(size_);
  for (const auto& [key, of] : classes_)
    for (const auto& [in_class, group] : of.groups)
      all.insert(all.end(), group->members.begin(), group->members.end());
  sort_by_arrival(all);
  return all;
}

std::size_t UnschedulablePool::groups() const {
  std::size_t groups = 0;
  for (const auto& [key, of] : classes_) groups += of.groups.size();
  return groups;
}

}  // namespace berth::scheduler
