// SPDX-License-Identifier: Apache-2.0
// What leaves the scheduler's loop: copies, never references into it. Values.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "scheduler/cache/labels.h"
#include "scheduler/cache/pod.h"

namespace berth::gateway {

struct DecisionRecord {
  std::uint64_t id = 0;  // rises by one
  WallTime time{};
  std::string ns, name, uid;
  enum class Outcome : std::uint8_t { kPlaced, kUnschedulable, kError } outcome = Outcome::kError;
  std::string node;
  Duration took{};
  int attempt = 0;
  std::uint32_t nodes = 0, fit = 0;
  std::vector<std::pair<std::string, std::uint32_t>> rejected;  // plugin, nodes
  std::string message;
  std::vector<std::pair<std::string, Duration>> stages;
};

// Where a pod waits. `place` kGone: it waits no longer.
enum class Waiting : std::uint8_t { kActive, kBackoff, kUnschedulable, kGated, kGone };
inline constexpr std::size_t kWaitings = 4;

struct QueueChange {
  scheduler::PodPtr pod;
  Waiting place = Waiting::kGone;
  int attempts = 0;
  WallTime since{};  // when it came into the queue first
  std::optional<WallTime> next = {};
  Duration pause{};    // of its backoff
  std::string event;   // what brought it here
  std::string cause;   // of the last failure, or the gates
  std::string plugin;  // who refused
  bool woken = false;  // from among the unschedulable
};

struct QueueMove {
  WallTime time{};
  std::string event;
  std::uint32_t woken = 0, waiting = 0;
  std::string pod;  // "ns/name" of one of them
};

// A node, as the map shows it.
struct MapRow {
  std::uint32_t row = 0;
  std::int64_t cpu = 0, cpu_asked = 0, memory = 0, memory_asked = 0;  // millicores, MiB
  std::int32_t pods = 0, pods_there = 0;
  std::int64_t gpu = 0, gpu_asked = 0;
  std::uint8_t state = 0;  // 1 not ready, 2 pressure, 4 cordoned
  friend bool operator==(const MapRow&, const MapRow&) = default;
};

struct MapChange {
  std::uint64_t layout = 0;
  // Where the rows were laid out anew: everything, with names and labels; else what changed.
  bool whole = false;
  std::vector<std::string> names;
  std::vector<scheduler::LabelsPtr> labels;
  std::vector<MapRow> rows;
};

// How many waited, and how many were placed, one value a step; the last is the newest.
struct QueueHistory {
  static constexpr Duration kStep = std::chrono::seconds(30);
  static constexpr std::size_t kSteps = 120;
  std::array<std::vector<std::uint32_t>, kWaitings> waiting;
  std::vector<std::uint32_t> placed;
};

// What happened since the last one.
struct Batch {
  WallTime time{};
  std::vector<DecisionRecord> decisions;
  bool queue_whole = false;  // `queue` is all of it
  std::vector<QueueChange> queue;
  std::vector<QueueMove> moves;
  std::array<std::uint32_t, kWaitings> counts{};
  std::optional<QueueHistory> history = {};
  std::optional<MapChange> map = {};
};
using BatchPtr = std::shared_ptr<const Batch>;

}  // namespace berth::gateway
