// SPDX-License-Identifier: Apache-2.0
// Everything about one attempt to place one pod.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scheduler/cache/pod.h"
#include "scheduler/cache/rows.h"
#include "scheduler/framework/plugin_set.h"

namespace berth::scheduler {

// What a plugin worked out once for all pods of a shape (Plugin::compile): counters it reads,
// compiled selectors.
struct ShapePart {
  virtual ~ShapePart() = default;
};

// Pods that no plugin can tell apart, except those with Reach::kCluster. Owned by the framework's
// ShapeTable; loop-confined.
struct Shape {
  PodSpecPtr spec;
  std::string ns;
  std::vector<std::unique_ptr<ShapePart>> parts;  // by slot; null where a plugin needs none
};

// What a plugin keeps during one attempt.
struct CycleState {
  virtual ~CycleState() = default;
};

class PluginProbe;  // plugin_probe.h

// Owned by the runner; loop-confined.
struct Cycle {
  const Pod& pod;
  const Shape& shape;
  const ClusterState& cluster;
  std::vector<std::unique_ptr<CycleState>> states;  // by slot
  PluginSet skipped;                                // PreFilter said Skip: no Filter, no what-ifs
  PluginSet skipped_score;                          // PreScore said Skip: absent from the scores
  PluginProbe* probe = nullptr;                     // times plugins; null: nobody asks
  // PreFilter may fill it: the nodes that these pods are on are judged as if they were gone.
  std::vector<PodPtr> without = {};

  // `slot` is Plugin::slot().
  template <class T>
  const T& part(std::size_t slot) const {
    return static_cast<const T&>(*shape.parts[slot]);
  }
  template <class T>
  T* state(std::size_t slot) const {
    return static_cast<T*>(states[slot].get());
  }
  template <class T>
  T& emplace_state(std::size_t slot) {
    states[slot] = std::make_unique<T>();
    return static_cast<T&>(*states[slot]);
  }
};

}  // namespace berth::scheduler
