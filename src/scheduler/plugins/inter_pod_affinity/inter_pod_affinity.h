// SPDX-License-Identifier: Apache-2.0
// Keeps pods near or away from other pods, as their affinities ask. Everything is read from
// counters by topology domain: how many pods a term matches, and how many hold a term that matches
// the pod to place.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/framework/plugin.h"

namespace berth::scheduler::inter_pod_affinity {

// Does a term of a pod in `holder_ns` select `pod`? `ns_labels` are those of the pod's namespace.
bool selects(const AffinityTerm&, const std::string& holder_ns, const Pod& pod,
             const Labels& ns_labels);
// The same for the terms of the pod that is being placed.
bool selects_merged(const AffinityTerm&, const std::string& holder_ns, const Pod& pod,
                    const ClusterState&);
// Does the pod match all of them? None: no.
bool selects_all(const std::vector<AffinityTerm>&, const std::string& holder_ns, const Pod& pod,
                 const Labels& ns_labels);

// What a shape reads about its own terms.
struct Part final : ShapePart {
  std::vector<CounterPtr> required;  // pods that match all required terms, one a distinct key
  PodSetPtr required_set;
  bool matches_itself = false;  // all required terms
  struct Anti {
    PodSetPtr set;
    CounterPtr counter;
  };
  std::vector<Anti> anti;
  std::vector<std::pair<CounterPtr, std::int64_t>> preferred;  // with the weight, minus if anti
};

// Why a node is out, or might be; bits, because each of its domains adds some.
using Bits = std::uint8_t;
inline constexpr Bits kNoKey = 1;      // lacks the key of a required term
inline constexpr Bits kNobody = 2;     // a required term's domain has no matching pod
inline constexpr Bits kAvoided = 4;    // an own anti-affinity term matches a pod in its domain
inline constexpr Bits kUnwelcome = 8;  // a pod in its domain has such a term about this pod

enum class Fit : std::uint8_t { kYes, kAffinity, kAnti, kExisting };
// `first`: no pod matches the required terms, but this one does itself.
constexpr Fit fit_of(Bits bits, bool first) {
  if ((bits & kNoKey) != 0 || ((bits & kNobody) != 0 && !first)) return Fit::kAffinity;
  if ((bits & kAvoided) != 0) return Fit::kAnti;
  return (bits & kUnwelcome) != 0 ? Fit::kExisting : Fit::kYes;
}

// What has changed on the node of a scratch row.
struct Deltas {
  std::int32_t required = 0;
  std::span<const std::int32_t> anti = {};  // by place in Part::anti; empty: zeros
  std::int32_t unwelcome = 0;               // holders about this pod, under the key asked about
};

// All that is read under one topology key, by one pod.
struct KeyTerms {
  TopologyKeyId key;
  const DomainCounter* required = nullptr;
  std::vector<std::pair<const DomainCounter*, std::size_t>> anti =
      {};  // with its place in Part::anti
  std::vector<const DomainCounter*> unwelcome = {};
  std::vector<std::pair<const DomainCounter*, std::int64_t>> score = {};

  Bits bits(DomainId, const Deltas& = {}) const;
  std::int64_t points(DomainId) const;
};

inline Bits KeyTerms::bits(DomainId domain, const Deltas& deltas) const {
  if (domain == DomainId::kNone) return required != nullptr ? kNoKey : Bits{0};
  Bits bits = 0;
  if (required != nullptr && required->at(domain) + deltas.required <= 0) bits |= kNobody;
  for (const auto& [counter, place] : anti)
    if (counter->at(domain) + (deltas.anti.empty() ? 0 : deltas.anti[place]) > 0) bits |= kAvoided;
  std::int32_t holders = deltas.unwelcome;
  for (const DomainCounter* counter : unwelcome) holders += counter->at(domain);
  if (holders > 0) bits |= kUnwelcome;
  return bits;
}

inline std::int64_t KeyTerms::points(DomainId domain) const {
  if (domain == DomainId::kNone) return 0;
  std::int64_t sum = 0;
  for (const auto& [counter, weight] : score) sum += weight * counter->at(domain);
  return sum;
}

// Gathered for each attempt: terms of other pods come and go.
struct State final : CycleState {
  std::vector<KeyTerms> keys;
  bool unwelcome = false;  // somebody holds an anti-affinity term about this pod
  bool scores = false;     // some counter that scores is not zero
};

class InterPodAffinity final : public Filter, public Score, public ByDomain {
 public:
  explicit InterPodAffinity(const PluginContext&);

  std::unique_ptr<ShapePart> compile(const Pod&, ClusterState&) const override;
  void shape_key(const Pod&, const ClusterState&, std::string&) const override;
  std::optional<std::vector<EventInterest>> events() const override;

  PreFilterResult prepare(Cycle&) const override;
  Reach reach(const Shape&) const override { return Reach::kDomain; }
  Status filter(const Cycle&, const Rows&, RowSet& keep, Rejections* why) const override;
  bool sees_moves() const override { return true; }
  void moved(const Cycle&, const Rows&, std::uint32_t row, const Pod&, int sign,
             std::vector<std::int32_t>& deltas) const override;

  Status prepare_score(Cycle&, const FeasibleSummary&) const override;
  Reach score_reach(const Shape&) const override { return Reach::kDomain; }
  Status score(const Cycle&, const Rows&, const RowSet& of,
               std::span<std::int64_t> raw) const override;
  Normalize normalization() const override { return Normalize::kOwn; }
  void normalize(const Cycle&, std::span<std::int64_t> values) const override;

  void keys(const Cycle&, std::vector<TopologyKeyId>&) const override;
  void own_part(const Cycle&, const Rows&, std::span<std::uint64_t> own) const override;
  RowChanges own_part_changes(const Cycle&) const override;
  void judge(const Cycle&, const GroupRows&, std::span<std::uint8_t> pass) const override;
  bool raw(Cycle&, const GroupSummary&, std::span<std::int64_t>) const override;

 private:
  const Part& part(const Cycle& cycle) const { return cycle.part<Part>(slot()); }
  State gather(const Cycle&) const;
  const State& state_of(const Cycle&, State& made) const;  // `made` where none was kept
  bool first(const Cycle&, std::int32_t moved = 0) const;
  bool skips_score(const Cycle&, const State&) const;
  Bits bits_if(const Cycle&, const State&, const Rows&, std::uint32_t row,
               std::span<const std::int32_t> deltas) const;

  InterPodAffinityArgs args_;
  ReasonId reasons_[4] = {};  // by Fit
};

// hints.cc
Hint after_pod_change(const Pod&, const Change&, const ClusterState&);
Hint after_node_change(const Pod&, const Change&, const ClusterState&);

}  // namespace berth::scheduler::inter_pod_affinity
