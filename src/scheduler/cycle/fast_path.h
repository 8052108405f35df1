// SPDX-License-Identifier: Apache-2.0
// Decisions from cached shapes: which pods they serve, which caches there are, and how often
// either was of no use.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduler/cycle/decision.h"
#include "scheduler/cycle/shape_cache.h"
#include "scheduler/framework/nominated_pods.h"

namespace berth::scheduler {

struct FastPathStats {
  std::uint64_t hits = 0;          // decisions made from a cache that was there
  std::uint64_t builds = 0;        // caches made
  std::uint64_t first_sights = 0;  // shapes met for the first time: no cache yet
  std::uint64_t diagnoses = 0;     // refusals that were still true
  std::map<std::string_view, std::uint64_t> fallbacks = {};  // by reason
};

// Loop-confined.
class FastPath {
 public:
  struct Spec {
    bool at_first_sight = false;  // else a cache is made for the second pod of a shape
    // Of all caches. Absent: 32 MB, or what some 250 caches take where the cluster is so large.
    std::optional<std::size_t> bytes = std::nullopt;
    std::function<void(std::string_view)> on_fallback = nullptr;
    std::function<void()> on_build = nullptr;
  };
  FastPath(const Profile&, ClusterState&, const NominatedPods*, Spec);

  // The pod has been prepared. True: row, node, feasible count and total stand in the decision, or
  // the diagnosis and a status. False: the plain path has to look.
  bool decide(Decision&, std::uint32_t next_start, bool list_feasible);
  // The plain path refused this pod, which decide() had found to fit nowhere.
  void remember_refusal(const Decision&);
  // The pod is not served, for a reason that the caller knows. The text outlives us.
  void fall_back(std::string_view why) {
    ++stats_.fallbacks[why];
    if (spec_.on_fallback) spec_.on_fallback(why);
  }

  const FastPathStats& stats() const { return stats_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t caches() const;
  void clear();
  // For tests and the checker: the cache that served this decision against a fresh look.
  std::string check(const Decision&) const;

 private:
  struct Refusal {
    std::uint64_t journal = 0, keys = 0, namespaces = 0, layout = 0;
    Diagnosis diagnosis;
  };
  struct Entry {
    std::shared_ptr<const Shape> shape;  // keeps the key's address its own
    std::uint64_t layout = 0;            // in which it was seen
    std::unique_ptr<ShapeCache> cache;
    std::size_t bytes = 0;
    std::uint64_t retry = 0;  // it had too many groups: not before this use
    std::optional<Refusal> refusal;
  };
  using Entries = std::list<Entry>;  // the latest first

  Entry& entry_of(const std::shared_ptr<const Shape>&);
  bool make_current(Entry&, Cycle&);
  bool hide_promised(const Cycle&);
  bool build(Entry&, Cycle&);
  void weigh(Entry&);
  std::size_t limit() const;
  bool refused_before(const Entry&, Decision&);

  const Profile& profile_;
  ClusterState& cluster_;
  const NominatedPods* nominated_;
  Spec spec_;
  CacheScratch scratch_;
  Entries entries_;
  std::unordered_map<const Shape*, Entries::iterator> by_shape_;
  std::size_t bytes_ = 0;
  std::uint64_t uses_ = 0;
  std::vector<std::uint32_t> hidden_;
  FastPathStats stats_;
};

}  // namespace berth::scheduler
