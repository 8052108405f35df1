// SPDX-License-Identifier: Apache-2.0
// Shapes: pods that a profile's plugins cannot tell apart are compiled once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/framework/profile.h"

namespace berth::scheduler {

// The shapes of one profile. A shape is told by the pod's spec, its namespace, the sets it is in
// and what the plugins add (Plugin::shape_key); what a plugin compiles may depend on nothing else.
// Loop-confined.
class ShapeTable {
 public:
  struct Limits {
    std::size_t shapes = 2048;     // a shape keeps counters alive that every pod event updates
    std::uint64_t idle = 1 << 16;  // a shape goes that was not among so many questions
  };
  ShapeTable(const Profile& profile, ClusterState& cluster) : ShapeTable(profile, cluster, {}) {}
  ShapeTable(const Profile& profile, ClusterState& cluster, Limits limits);
  ~ShapeTable();
  ShapeTable(const ShapeTable&) = delete;
  ShapeTable& operator=(const ShapeTable&) = delete;

  // May make sets and counters in the cluster. A shape that is dropped lives on with who holds it.
  std::shared_ptr<Shape> of(const Pod&);
  std::size_t size() const { return shapes_.size(); }
  void clear();

 private:
  struct Entry {
    std::shared_ptr<Shape> shape;
    std::uint64_t used = 0;
  };
  // All that the key of an ordinary pod is made from, while no epoch moves.
  struct SightRef {
    const PodSpec* spec;
    const Labels* labels;
    std::string_view ns, controller;
    bool deleting;
    friend bool operator==(const SightRef&, const SightRef&) = default;
  };
  struct Sight {
    PodSpecPtr spec;  // keep the addresses theirs
    LabelsPtr labels;
    std::string ns, controller;
    bool deleting;
    operator SightRef() const { return {spec.get(), labels.get(), ns, controller, deleting}; }
  };
  struct SightHash {
    using is_transparent = void;
    std::size_t operator()(const SightRef&) const;
  };
  struct SightEqual {
    using is_transparent = void;
    bool operator()(const SightRef& a, const SightRef& b) const { return a == b; }
  };

  Entry& find_or_compile(const Pod&);
  std::string key_of(const Pod&);
  std::uint64_t number_of(const PodSet&);
  void sweep();

  const Profile& profile_;
  ClusterState& cluster_;
  Limits limits_;
  std::unordered_map<std::string, std::unique_ptr<Entry>> shapes_;
  std::unordered_map<Sight, Entry*, SightHash, SightEqual> seen_;
  std::unordered_map<const PodSet*, std::uint64_t> set_numbers_;  // addresses of one epoch
  std::unordered_map<std::string, std::uint64_t> set_texts_;
  std::uint64_t last_number_ = 0, numbered_at_ = 0;
  std::array<std::uint64_t, 2> epochs_{};
  std::uint64_t use_ = 0;
};

}  // namespace berth::scheduler
