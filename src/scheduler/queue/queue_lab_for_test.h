// SPDX-License-Identifier: Apache-2.0
// What tests of the queue share: pods in few words, plugins that do as they are told, an observer
// that counts. Only tests include this.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/world.h"
#include "scheduler/queue/scheduling_queue.h"

namespace berth::scheduler::test {

class ManualClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  WallTime wall() const override { return World::kNewYear2026 + now_.since_start; }
  void advance(Duration by) { now_ = now_ + by; }

 private:
  Instant now_;
};

// Equal specs and labels are one object, as PodCompiler makes them.
struct SpecOf {
  std::int32_t priority = 0;
  std::string scheduler = "default-scheduler";
  int tolerations = 0;
  bool gated = false;
  auto operator<=>(const SpecOf&) const = default;
};
inline PodSpecPtr spec_of(const SpecOf& of) {
  static std::map<SpecOf, PodSpecPtr> all;
  PodSpecPtr& spec = all[of];
  if (!spec) {
    auto fresh = std::make_shared<PodSpec>();
    fresh->priority = of.priority;
    fresh->scheduler_name = of.scheduler;
    fresh->tolerations.resize(static_cast<std::size_t>(of.tolerations));
    if (of.gated) fresh->gates = {"wait"};
    spec = fresh;
  }
  return spec;
}
inline LabelsPtr labels_of(const std::string& app) {
  static std::map<std::string, LabelsPtr> all;
  LabelsPtr& labels = all[app];
  if (!labels) labels = std::make_shared<Labels>(std::vector<Labels::Pair>{{"app", app}});
  return labels;
}

// pod("a").priority(3).app("web") is a PodPtr where one is wanted.
class PodBuilder {
 public:
  explicit PodBuilder(std::string name) {
    pod_.ns = "default";
    pod_.uid = name + "-uid";
    pod_.name = std::move(name);
    pod_.labels = labels_of("");
  }
  PodBuilder& ns(std::string ns) { return set(pod_.ns, std::move(ns)); }
  PodBuilder& uid(std::string uid) { return set(pod_.uid, std::move(uid)); }
  PodBuilder& app(const std::string& app) { return set(pod_.labels, labels_of(app)); }
  PodBuilder& priority(std::int32_t priority) { return set(spec_.priority, priority); }
  PodBuilder& scheduler(std::string name) { return set(spec_.scheduler, std::move(name)); }
  PodBuilder& tolerations(int count) { return set(spec_.tolerations, count); }
  PodBuilder& gated() { return set(spec_.gated, true); }
  PodBuilder& nominated(std::string node) { return set(pod_.nominated_node_name, std::move(node)); }
  PodBuilder& on(std::string node) { return set(pod_.node_name, std::move(node)); }
  PodBuilder& revision(kube::Revision revision) { return set(pod_.revision, revision); }
  PodBuilder& volumes() { return set(pod_.volumes, std::make_shared<PodVolumes>()); }

  operator PodPtr() const {  // NOLINT(google-explicit-constructor)
    auto pod = std::make_shared<Pod>(pod_);
    pod->spec = spec_of(spec_);
    return pod;
  }

 private:
  template <class T, class U>
  PodBuilder& set(T& field, U&& value) {
    field = std::forward<U>(value);
    return *this;
  }
  Pod pod_;
  SpecOf spec_;
};
inline PodBuilder pod(std::string name) { return PodBuilder(std::move(name)); }

inline PluginContext context_of(unsigned number, std::string_view name) {
  static ReasonTable reasons;
  return {.id = static_cast<PluginId>(number), .name = name, .args = {}, .reasons = reasons};
}

// By priority, then by timestamp.
class ByPriority final : public QueueSort {
 public:
  ByPriority() : Plugin(context_of(60, "PrioritySort")) {}
  bool less(const QueueEntry& a, const QueueEntry& b) const override {
    if (a.pod.priority() != b.pod.priority()) return a.pod.priority() > b.pod.priority();
    return a.timestamp < b.timestamp;
  }
};

// Closes its gate on pods as the test says.
class Gate final : public PreEnqueue {
 public:
  Gate(unsigned number, std::function<bool(const Pod&)> closed)
      : Plugin(context_of(number, "Gate")), closed_(std::move(closed)) {}
  Status pre_enqueue(const Pod& pod) const override {
    ++calls;
    return closed_(pod) ? Status::unschedulable("closed") : Status{};
  }
  mutable int calls = 0;

 private:
  std::function<bool(const Pod&)> closed_;
};

// Everything that can be counted.
struct Counts {
  std::map<QueueName, int> pending;
  std::map<std::pair<QueueName, std::string>, int> incoming;
  std::map<std::pair<PluginId, std::string>, int> unschedulable;
  std::map<std::string, int> in_flight_events;
  friend bool operator==(const Counts&, const Counts&) = default;
};
class CountingObserver final : public QueueObserver {
 public:
  void moved(const QueuedPod& queued, Place from, Place to, std::string_view event) override {
    if (keep_story)
      story.push_back(queued.pod->name + ": " + std::string(name_of(from)) + " -> " +
                      std::string(name_of(to)) + " by " + std::string(event));
  }
  void pending(QueueName queue, int delta) override { counts.pending[queue] += delta; }
  void incoming(QueueName queue, std::string_view event) override {
    ++counts.incoming[{queue, std::string(event)}];
  }
  void unschedulable(PluginId plugin, std::string_view profile, int delta) override {
    counts.unschedulable[{plugin, std::string(profile)}] += delta;
  }
  void in_flight_events(std::string_view event, int delta) override {
    counts.in_flight_events[std::string(event)] += delta;
  }
  void hint_ran(PluginId plugin, std::string_view, std::string_view, HintResult result,
                Duration) override {
    ++hints[{plugin, result}];
  }

  Counts counts;
  std::map<std::pair<PluginId, HintResult>, int> hints;
  std::vector<std::string> story;
  bool keep_story = true;
};

// Hints in these tests never look at the cluster.
inline const ClusterState* no_cluster() {
  alignas(64) static const std::byte room[64]{};
  return reinterpret_cast<const ClusterState*>(&room);
}

}  // namespace berth::scheduler::test
