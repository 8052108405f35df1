// SPDX-License-Identifier: Apache-2.0
// The queue as kube-scheduler 1.36 describes it, for comparison: plain lists, no groups, no index,
// every pod asked about every event. Only the property test includes this.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "scheduler/queue/literal_heap_for_test.h"
#include "scheduler/queue/queue_lab_for_test.h"

namespace berth::scheduler::test {

struct ModelPod {
  PodPtr pod;
  Instant timestamp;
  int attempts = 0, refused = 0, errors = 0;
  bool flushed = false;
  std::optional<Instant> flush_time, first_attempt;
  std::set<unsigned> unschedulable, pending;
  std::optional<unsigned> gate;
  std::optional<std::int64_t> expiry;  // a second of the wall clock, or nanoseconds unaligned

  std::set<unsigned> rejectors() const {
    std::set<unsigned> both = unschedulable;
    both.insert(pending.begin(), pending.end());
    return both;
  }
};
using ModelPodPtr = std::shared_ptr<ModelPod>;

class QueueModel {
 public:
  QueueModel(const Clock& clock, QueueOptions options, std::vector<QueueProfile> profiles,
             Nominator::Find known);

  void add(const PodPtr&);
  void update(const PodPtr& before, const PodPtr& after);
  void remove(const Pod&);
  ModelPodPtr pop();
  ModelPodPtr pop_specific(const Pod&);
  bool fail(const ModelPodPtr&, std::set<unsigned> unschedulable, std::set<unsigned> pending);
  void done(const std::string& uid);
  void activate(const std::vector<PodPtr>&);
  void move_all(const Change&, const std::function<bool(const Pod&)>& pre_check);
  void flush_backoff();
  void flush_leftover();

  void nominate(const Pod&, const std::optional<std::string>& node);
  void denominate(const Pod&);
  // "uid" of a pod that is queued, "uid?" of one of which only the name is known.
  std::vector<std::string> nominated(const std::string& node) const;
  const std::map<std::string, std::string>& node_of() const { return node_of_; }  // by uid

  struct PoolEntry {
    std::string key;
    ModelPodPtr queued;
  };
  struct FlightEntry {
    PodPtr pod;  // null: an event
    Change change;
  };
  using Heap = LiteralHeap<ModelPodPtr>;
  Heap active, backoff, errors;
  std::vector<PoolEntry> pool;
  std::vector<FlightEntry> flight;
  Counts counts;  // except pending: that is what the queues hold

 private:
  enum class Plan { kSkip, kAfterBackoff, kImmediately };
  static std::string key(const Pod& pod) { return pod.ns + "/" + pod.name; }
  bool flying(const std::string& uid) const;
  ModelPod* pooled(const std::string& key) const;
  void unpool(const std::string& key);
  void pool_in(const ModelPodPtr&, const std::string& event);
  ModelPodPtr queued(const std::string& key) const;

  std::int64_t align(std::int64_t wall) const;
  std::int64_t expiry(ModelPod&) const;  // INT64_MIN: none
  bool backing_off(ModelPod&) const;
  bool gate_passes(const PreEnqueue&, ModelPod&);
  void pre_enqueue(ModelPod&);
  bool to_active(const ModelPodPtr&, const std::string& event, bool from_backoff);
  bool to_backoff(const ModelPodPtr&, const std::string& event);
  enum class Where { kPool, kBackoff, kActive };
  Where requeue(const ModelPodPtr&, Plan, const std::string& event);
  bool of_interest(const ClusterEvent&) const;
  Plan worth(const ModelPod&, const Change&) const;
  void move(const std::vector<ModelPodPtr>&, const Change&);
  bool activate_one(const Pod&);
  bool fly(ModelPod&);
  const QueueProfile* profile(const Pod&) const;
  void renominate(const Pod& before, const Pod& after);

  const Clock& clock_;
  QueueOptions options_;
  std::vector<QueueProfile> profiles_;
  Nominator::Find known_;
  std::map<std::string, std::vector<PodPtr>> nominated_;
  std::map<std::string, std::string> node_of_;
};

}  // namespace berth::scheduler::test
