// SPDX-License-Identifier: Apache-2.0
// A pod on its way through the queue, with what is remembered between attempts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/time.h"
#include "scheduler/cache/pod.h"
#include "scheduler/framework/event.h"
#include "scheduler/framework/plugin_set.h"

namespace berth::scheduler {

struct WaitGroup;  // unschedulable_pool.h

// Where a pod is; a pod (by namespace and name) is in one place at a time.
enum class Place : std::uint8_t {
  kNowhere,
  kActive,
  kBackoff,
  kErrorBackoff,   // failed by an error rather than a plugin: never popped before its time
  kUnschedulable,  // gated pods too
  kInFlight,
};
std::string_view name_of(Place);  // "Active", "Backoff", …

// Who refused a pod. Both empty: the attempt failed by an error.
struct Rejectors {
  PluginSet unschedulable = {};
  PluginSet pending = {};
};

// Loop-confined. Owned by the queue, or by whoever popped it.
struct QueuedPod {
  PodPtr pod;
  Instant timestamp;  // when it came, or came back after an attempt; moves leave it
  int attempts = 0;
  int unschedulable_count = 0;       // attempts that plugins refused
  int consecutive_errors_count = 0;  // attempts since, that failed by an error
  bool was_flushed = false;          // left the pool by the timeout, and no attempt since
  std::optional<Instant> flush_timestamp = std::nullopt;
  std::optional<Instant> initial_attempt_timestamp = std::nullopt;  // first time in activeQ
  PluginSet unschedulable_plugins = {};
  PluginSet pending_plugins = {};
  PluginId gating_plugin = PluginId::kNone;
  std::span<const ClusterEvent> gating_events = {};  // what that plugin registered, all profiles

  bool gated() const { return gating_plugin != PluginId::kNone; }
  PluginSet rejectors() const { return unschedulable_plugins | pending_plugins; }

  // The rest is the queue's own.
  Place place = Place::kNowhere;
  Place last_place = Place::kNowhere;  // where it came from, while it is nowhere
  std::optional<Instant> backoff_expiration = std::nullopt;  // worked out when first asked for
  std::size_t heap_index = 0;
  WaitGroup* group = nullptr;
  std::size_t group_index = 0;
  std::uint64_t pool_number = 0;  // order of entry into the pool
  bool counted_gated = false;     // which of the two gauges counts it
};
using QueuedPodPtr = std::unique_ptr<QueuedPod>;

}  // namespace berth::scheduler
