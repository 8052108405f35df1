// SPDX-License-Identifier: Apache-2.0
// A queue with plugins that hint as they are told, for tests that tell a story. Only tests include
// this.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/queue/queue_lab_for_test.h"

namespace berth::scheduler::test {

inline constexpr auto kFit = static_cast<PluginId>(0);       // waits for nodes and for pods to go
inline constexpr auto kAffinity = static_cast<PluginId>(1);  // waits for pods to come
inline constexpr auto kVolumes = static_cast<PluginId>(2);   // waits for claims
inline constexpr auto kSilent = static_cast<PluginId>(3);    // waits for nothing
inline constexpr auto kTolerations = static_cast<PluginId>(4);  // waits for the pod's own
inline constexpr auto kGate = static_cast<PluginId>(10);  // the pods in `closed` are gated by it
inline constexpr auto kGate2 = static_cast<PluginId>(11);
inline constexpr auto kExtenders = static_cast<PluginId>(12);

inline Change node_added() { return {.event = {EventResource::kNode, action::kAdd}}; }
inline Change node_tainted() { return {.event = {EventResource::kNode, action::kUpdateNodeTaint}}; }
inline Change claim_added() {
  return {.event = {EventResource::kPersistentVolumeClaim, action::kAdd}};
}
inline Change slice_added() { return {.event = {EventResource::kResourceSlice, action::kAdd}}; }
inline Change pod_bound(PodPtr pod) {
  return {.event = {EventResource::kAssignedPod, action::kAdd}, .pod_after = std::move(pod)};
}
inline Change pod_gone(PodPtr pod) {
  return {.event = {EventResource::kAssignedPod, action::kDelete}, .pod_before = std::move(pod)};
}
inline Change everything(PodPtr only = nullptr) {
  return {.event = {EventResource::kWildcard, action::kAll, "Everything"},
          .pod_after = std::move(only)};
}

class QueueTest : public testing::Test {
 protected:
  QueueTest() { make(); }

  void make(QueueOptions options = {}, PluginId extender = PluginId::kNone) {
    const auto told = [this](Hint& answer) {
      return [this, &answer](const Pod& asked, const Change&, const ClusterState&) {
        asked_about.push_back(asked.name);
        return answer;
      };
    };
    QueueProfile profile;
    profile.scheduler_name = "default-scheduler";
    profile.pre_enqueue = {&gate, &gate2};
    profile.plugins = {
        {kFit,
         {{{{EventResource::kNode, action::kAdd}, told(fit)},
           {{EventResource::kPod, action::kDelete | action::kUpdatePodScaleDown}, told(fit)}}}},
        {kAffinity,
         {{{{EventResource::kPod, action::kAdd | action::kUpdatePodLabel}, told(affinity)}}}},
        {kVolumes, {{{{EventResource::kPersistentVolumeClaim, action::kAdd}, told(volumes)}}}},
        {kSilent, {{}}},
        {kTolerations, {{{{EventResource::kPod, action::kUpdatePodToleration}, nullptr}}}},
        {kGate, {{{{EventResource::kPod, action::kUpdatePodGatesEliminated}, nullptr}}}},
        {kGate2, {{{{EventResource::kPersistentVolumeClaim, action::kAdd}, nullptr}}}}};
    QueueSetup setup;
    setup.options = options;
    setup.sort = &sort;
    setup.profiles = {profile};
    setup.extender = extender;
    setup.cluster = no_cluster();
    setup.known_pod = [this](std::string_view, std::string_view name) -> PodPtr {
      const auto found = informer.find(std::string(name));
      return found == informer.end() ? nullptr : found->second;
    };
    setup.observer = &seen;
    setup.on_ready = [this] { ++ready; };
    queue.reset();
    seen = {};
    queue = std::make_unique<SchedulingQueue>(clock, std::move(setup));
  }

  void add(const PodPtr& pod) {
    informer[pod->name] = pod;
    queue->add(pod);
  }
  void update(const PodPtr& before, const PodPtr& after) {
    informer[after->name] = after;
    queue->update(before, after);
  }
  void fail(QueuedPodPtr popped, PluginSet unschedulable, PluginSet pending = {}) {
    ASSERT_TRUE(
        queue->add_unschedulable_if_not_present(std::move(popped), {unschedulable, pending}));
  }
  // Adds a pod and lets its first attempt fail.
  void refused(const PodPtr& pod, PluginSet unschedulable, PluginSet pending = {}) {
    add(pod);
    QueuedPodPtr popped = queue->pop_specific(*pod);
    ASSERT_TRUE(popped);
    fail(std::move(popped), unschedulable, pending);
  }
  std::string pop() {
    QueuedPodPtr popped = queue->pop();
    if (!popped) return "";
    const std::string name = popped->pod->name;
    queue->done(popped->pod->uid);
    return name;
  }
  Place where(const std::string& name) const {
    const QueuedPod* queued = queue->find("default", name);
    return queued == nullptr ? Place::kNowhere : queued->place;
  }
  const QueuedPod& info(const std::string& name) const { return *queue->find("default", name); }
  void pass(Duration by) {
    clock.advance(by);
    queue->flush_backoff_completed();
  }
  int pending(QueueName name) { return seen.counts.pending[name]; }
  int incoming(QueueName name, const std::string& event) {
    return seen.counts.incoming[{name, event}];
  }
  int unschedulable(PluginId plugin) {
    return seen.counts.unschedulable[{plugin, "default-scheduler"}];
  }

  ManualClock clock;
  ByPriority sort;
  std::set<std::string> closed, closed2;  // names of pods
  Gate gate{10, [this](const Pod& pod) { return closed.contains(pod.name); }};
  Gate gate2{11, [this](const Pod& pod) { return closed2.contains(pod.name); }};
  Hint fit = Hint::kQueue, affinity = Hint::kQueue, volumes = Hint::kQueue;
  std::vector<std::string> asked_about;
  std::map<std::string, PodPtr> informer;
  CountingObserver seen;
  int ready = 0;
  std::unique_ptr<SchedulingQueue> queue;
};

}  // namespace berth::scheduler::test
