// SPDX-License-Identifier: Apache-2.0
// The ear at the scheduler: notes attempts and moves as they happen, and hands what it has noted to
// another loop four times a second at most. Attempts are noted always, the rest while somebody
// watches. What it costs the deciding thread is a copy of what changed.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/executor.h"
#include "gateway/observe/records.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/run/observer.h"

namespace berth::gateway {

// The scheduler's state as it was, for who computes at leisure.
struct Snapshot {
  std::unique_ptr<scheduler::ClusterState> cluster;
  std::vector<scheduler::PodPtr> nominated;
  WallTime time{};
};

// In a column's width: "Insufficient cpu on 200 nodes", "Insufficient cpu on 131, 3 other causes".
std::string cause_of(const scheduler::AttemptReport&);

// Made and destroyed on any thread; outlives the scheduler. Its own methods are called on the
// scheduler's loop, or before that begins.
class Tap final : public scheduler::SchedulerObserver {
 public:
  using Sink = std::function<void(BatchPtr)>;

  static constexpr Duration kTick = std::chrono::milliseconds(250);

  // `sink` is called on the scheduler's loop; it posts.
  void listen(Sink sink) { sink_ = std::move(sink); }
  // True: map and queue are sent from now on, whole at first.
  void watch(bool);
  // Null while there is no scheduler.
  std::shared_ptr<const Snapshot> snapshot() const;

  void began(const scheduler::Scheduler&, Scope&) override;
  void attempted(const scheduler::AttemptReport&) override;
  void moved(const scheduler::QueuedPod&, scheduler::Place from, scheduler::Place to,
             std::string_view event) override;
  void pending(scheduler::QueueName, int delta) override;

 private:
  struct Cause {
    std::string text, plugin;
  };
  void arm();
  void flush();
  void sample();
  void seed();
  QueueChange change_of(const scheduler::QueuedPod&, Waiting place, std::string_view event) const;
  // A node as it was last seen: what is worked out from its object is kept with it.
  struct Known {
    std::string name = {};
    kube::Revision revision = 0;
    scheduler::LabelsPtr labels = {};
    scheduler::NodeId id = scheduler::NodeId::kNone;
    std::uint8_t state = 0;
    std::vector<std::pair<scheduler::ResourceId, std::int64_t>> gpus = {};
    MapRow last = {};
  };
  static MapRow row_of(const scheduler::Node&, const Known&, const scheduler::ClusterState&);
  void copy_map(Batch&);
  WallTime wall_of(Instant) const;

  Sink sink_;
  const scheduler::Scheduler* scheduler_ = nullptr;
  Scope* scope_ = nullptr;
  bool watched_ = false, armed_ = false, whole_queue_ = false, whole_map_ = false;
  Batch fresh_;
  std::unordered_map<std::string, Cause> causes_;  // by uid, of pods that failed last
  std::array<std::uint32_t, kWaitings> counts_{};
  QueueHistory history_;
  std::uint32_t placed_ = 0;  // since the last sample
  bool history_new_ = false;
  std::uint64_t next_id_ = 1;
  std::vector<Known> known_;
  std::uint64_t map_layout_ = 0;
};

}  // namespace berth::gateway
