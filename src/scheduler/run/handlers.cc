// SPDX-License-Identifier: Apache-2.0
// What the cluster tells: first the state is brought up to date, then the queue learns whom it may
// help. The order of the two is kube-scheduler's.
#include "scheduler/run/scheduler_state.h"

namespace berth::scheduler {
namespace {

using enum EventResource;

EventResource resource_of(kube::KindId kind) {
  if (kind == kube::kPersistentVolume) return kPersistentVolume;
  if (kind == kube::kPersistentVolumeClaim) return kPersistentVolumeClaim;
  if (kind == kube::kStorageClass) return kStorageClass;
  if (kind == kube::kCsiNode) return kCsiNode;
  if (kind == kube::kCsiDriver) return kCsiDriver;
  if (kind == kube::kCsiStorageCapacity) return kCsiStorageCapacity;
  if (kind == kube::kVolumeAttachment) return kVolumeAttachment;
  return kWildcard;  // no pod waits for it
}

// Only pods that such a pod could have kept from its node.
SchedulingQueue::PreCheck of_priority_at_most(std::int32_t priority) {
  return [priority](const Pod& pod) { return pod.priority() <= priority; };
}

// For the metrics: how long an event took until state and queue were up to date.
class Handling {
 public:
  Handling(SchedulerMetrics& metrics, const Clock& clock, const ClusterEvent& event)
      : metrics_(metrics), clock_(clock), event_(event), start_(clock.now()) {}
  ~Handling() { metrics_.event(event_.label()).handled(clock_.now() - start_); }
  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;

 private:
  SchedulerMetrics& metrics_;
  const Clock& clock_;
  const ClusterEvent event_;
  const Instant start_;
};

}  // namespace

bool Scheduler::responsible(const Pod& pod) const {
  for (const auto& profile : profiles_)
    if (profile->profile.name() == pod.spec->scheduler_name) return true;
  return false;
}

void Scheduler::pod_added(const PodPtr& pod) {
  cache_changed();
  const Handling handling(parts_.metrics, clock_,
                          {pod->assigned() ? kAssignedPod : kUnscheduledPod, action::kAdd});
  if (pod->assigned()) {
    cluster_.add_pod(pod);
    queue_->move_all({.event = {kAssignedPod, action::kAdd}, .pod_after = pod});
    return;
  }
  pending_[pod->text()] = pod;
  if (responsible(*pod)) queue_->add(pod);
}

void Scheduler::pod_updated(const PodPtr& before, const PodPtr& after) {
  cache_changed();
  if (before->assigned()) {
    const Handling handling(parts_.metrics, clock_, {kAssignedPod, action::kUpdate});
    cluster_.update_pod(after);
    for (const ClusterEvent& event : events_of_update(*before, *after))
      queue_->move_all({.event = event, .pod_before = before, .pod_after = after});
    return;
  }
  if (after->assigned()) {
    const Handling handling(parts_.metrics, clock_, {kAssignedPod, action::kAdd});
    pending_.erase(after->text());
    if (cluster_.add_pod(after) == ClusterState::Added::kMoved)
      parts_.log.warn("a pod was bound to another node than we chose",
                      {{"pod", after->text()}, {"node", after->node_name}});
    queue_->move_all({.event = {kAssignedPod, action::kAdd}, .pod_after = after});
    if (responsible(*before)) queue_->remove(*before);
    return;
  }
  pending_[after->text()] = after;
  if (!responsible(*before) || before->revision == after->revision) return;
  const Handling handling(parts_.metrics, clock_, {kUnscheduledPod, action::kUpdate});
  if (cluster_.assumed(after->uid)) {
    if (after->deleting && !before->deleting) assumed_pod_deleted(*after);
    return;
  }
  queue_->update(before, after);
  if (!before->nominated_node_name.empty() &&
      before->nominated_node_name != after->nominated_node_name)
    queue_->move_all({.event = {kAssignedPod, action::kDelete}, .pod_before = before},
                     of_priority_at_most(before->priority()));
}

void Scheduler::pod_deleted(const PodPtr& last) {
  cache_changed();
  const Handling handling(parts_.metrics, clock_,
                          {last->assigned() ? kAssignedPod : kUnscheduledPod, action::kDelete});
  if (last->assigned()) {
    // The news that it was bound may have come and gone between two lists.
    if (const PodPtr waits = pending_pod(last->ns, last->name); waits && waits->uid == last->uid) {
      pending_.erase(last->text());
      if (responsible(*last)) queue_->remove(*last);
    }
    if (holds_) holds_->instead_of(*last);
    cluster_.remove_pod(last->uid);
    queue_->move_all({.event = {kAssignedPod, action::kDelete}, .pod_before = last});
    return;
  }
  pending_.erase(last->text());
  // The state that was deleted may be older than the bind that we know of.
  if (cluster_.pod(last->uid) && !cluster_.assumed(last->uid)) {
    cluster_.remove_pod(last->uid);
    queue_->move_all({.event = {kAssignedPod, action::kDelete}, .pod_before = last});
  }
  if (!responsible(*last)) return;
  queue_->remove(*last);
  if (cluster_.assumed(last->uid))
    assumed_pod_deleted(*last);
  else if (!last->nominated_node_name.empty())
    queue_->move_all({.event = {kAssignedPod, action::kDelete}, .pod_before = last},
                     of_priority_at_most(last->priority()));
}

// What it holds is free at once; its bind goes on and will be refused.
void Scheduler::assumed_pod_deleted(const Pod& pod) {
  const PodPtr held = cluster_.pod(pod.uid);
  if (WaitingPod* waits = waiting_->find(pod.uid))
    waits->reject(PluginId::kNone, "removed");
  else
    cluster_.forget_pod(pod.uid);
  queue_->move_all({.event = {kAssignedPod, action::kDelete}, .pod_before = held});
}

void Scheduler::node_added(const NodePtr& node) {
  cache_changed();
  const Handling handling(parts_.metrics, clock_, {kNode, action::kAdd});
  cluster_.put_node(node);
  queue_->move_all({.event = {kNode, action::kAdd}, .node_after = node});
}

void Scheduler::node_updated(const NodePtr& before, const NodePtr& after) {
  const Instant start = now();
  cluster_.put_node(after);
  const Duration updating = now() - start;
  for (const ClusterEvent& event : events_of_update(*before, *after)) {
    const Instant moving = now();
    queue_->move_all({.event = event, .node_before = before, .node_after = after});
    parts_.metrics.event(event.label()).handled(updating + (now() - moving));
  }
}

void Scheduler::node_deleted(const NodePtr& last) {
  cache_changed();
  const Handling handling(parts_.metrics, clock_, {kNode, action::kDelete});
  queue_->move_all({.event = {kNode, action::kDelete}, .node_before = last});
  cluster_.remove_node(last->name);
}

void Scheduler::object_changed(const kube::Object& before, const kube::Object& after) {
  apply_object(cluster_, before, after);
  const EventResource resource = resource_of((after.valid() ? after : before).kind());
  if (resource == kWildcard) return;
  const EventAction what = !before.valid()  ? action::kAdd
                           : !after.valid() ? action::kDelete
                                            : action::kUpdate;
  const Handling handling(parts_.metrics, clock_, {resource, what});
  queue_->move_all({.event = {resource, what}, .before = before, .after = after});
}

}  // namespace berth::scheduler
