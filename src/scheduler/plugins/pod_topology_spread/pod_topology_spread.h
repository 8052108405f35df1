// SPDX-License-Identifier: Apache-2.0
// Spreads pods evenly over topology domains: hard constraints filter, soft ones score. Counts come
// from counters over eligible nodes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/framework/plugin.h"

namespace berth::scheduler::pod_topology_spread {

// A constraint of a shape.
struct Constraint {
  TopologyKeyId key = TopologyKeyId::kItself;
  bool hostname = false;         // kubernetes.io/hostname, whatever its domains are
  kube::LabelSelector selector;  // with the values of matchLabelKeys
  std::int32_t max_skew = 1, min_domains = 1;
  bool self = false;   // the pod matches its own selector
  PodSetPtr set;       // what is counted: live pods of the namespace; none for {}
  CounterPtr counter;  // by domain, over eligible nodes
};

struct Part final : ShapePart {
  std::vector<Constraint> hard, soft;
  bool require_all = true;  // nodes without all soft keys are ignored
  const ClusterState* cluster = nullptr;
};

// ---- The formulas; filter() and judge(), score() and raw() share them.

inline std::int32_t least_match(const Constraint& c) {
  // At least one domain is always wanted, so without any the least is 0.
  return static_cast<std::int64_t>(c.counter->present()) < c.min_domains ? 0 : c.counter->least();
}
inline std::int32_t least_match_if(const Constraint& c, DomainId domain, std::int32_t count) {
  return static_cast<std::int64_t>(c.counter->present()) < c.min_domains
             ? 0
             : c.counter->least_if(domain, count);
}
constexpr bool skew_allows(std::int64_t count, bool self, std::int64_t least,
                           std::int64_t max_skew) {
  return count + (self ? 1 : 0) - least <= max_skew;
}
constexpr double with_count(double score, std::int64_t count, double weight,
                            std::int32_t max_skew) {
  return score + (static_cast<double>(count) * weight + static_cast<double>(max_skew - 1));
}
// Half away from zero, for what is not negative; without branches.
constexpr std::int64_t rounded(double score) {
  const auto whole = static_cast<std::int64_t>(score);
  return whole + static_cast<std::int64_t>(score - static_cast<double>(whole) >= 0.5);
}
// The raw score of a node that lacks a key; real ones are never negative. k8s 1.36 keeps a list of
// such nodes instead.
inline constexpr std::int64_t kIgnored = -1;

// How many values of a key feasible nodes have; "" and no label are the same value here.
class ValueCount {
 public:
  explicit ValueCount(DomainId blank_domain) : blank_domain_(blank_domain) {}
  void add(DomainId domain) {
    if (domain == DomainId::kNone || domain == blank_domain_) return add_blank();
    if (index(domain) >= seen_.size()) seen_.resize(index(domain) + 1);
    count_ += 1 - seen_[index(domain)];
    seen_[index(domain)] = 1;
  }
  void add_blank() { blank_ = 1; }
  void add_distinct(std::uint32_t values) { count_ += values; }
  std::uint32_t count() const { return count_ + blank_; }

 private:
  DomainId blank_domain_;
  std::vector<std::uint8_t> seen_;
  std::uint32_t count_ = 0, blank_ = 0;
};

// What scores need besides counters; by soft constraint.
struct Scale {
  double weight = 0;
  DomainId blank_domain = DomainId::kNone;
  std::int64_t blank_pods = 0;  // on eligible nodes without the label: they count for value "" too
};
struct State final : CycleState {
  std::vector<Scale> scales;
};
Scale scale_of(const ClusterState&, const Part&, const Constraint&, std::uint32_t values);
std::vector<ValueCount> value_counts(const ClusterState&, const Part&);  // by soft constraint
inline std::int64_t pods_in(const Constraint& c, const Scale& scale, DomainId domain) {
  return c.counter->at(domain) + (domain == scale.blank_domain ? scale.blank_pods : 0);
}

class PodTopologySpread final : public Filter, public Score, public ByDomain {
 public:
  explicit PodTopologySpread(const PluginContext&);

  std::unique_ptr<ShapePart> compile(const Pod&, ClusterState&) const override;
  void shape_key(const Pod&, const ClusterState&, std::string&) const override;
  std::optional<std::vector<EventInterest>> events() const override;

  PreFilterResult prepare(Cycle&) const override;
  Reach reach(const Shape&) const override;
  Status filter(const Cycle&, const Rows&, RowSet& keep, Rejections* why) const override;
  bool sees_moves() const override { return true; }
  void moved(const Cycle&, const Rows&, std::uint32_t row, const Pod&, int sign,
             std::vector<std::int32_t>& deltas) const override;

  Status prepare_score(Cycle&, const FeasibleSummary&) const override;
  Reach score_reach(const Shape& shape) const override { return reach(shape); }
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
  // A constraint as the pod states it or defaults give it, with its selector made whole.
  struct Resolved {
    const SpreadConstraint* stated;
    kube::LabelSelector selector;
  };
  std::vector<Resolved> resolve(const Pod&, const ClusterState&) const;
  std::vector<Resolved> resolve_hard(const Pod&, const ClusterState&) const;
  Hint after_pod_change(const Pod&, const Change&, const ClusterState&) const;
  Hint after_node_change(const Pod&, const Change&, const ClusterState&) const;
  const Part& part(const Cycle& cycle) const { return cycle.part<Part>(slot()); }

  bool system_defaulting_ = true;
  std::vector<SpreadConstraint> defaults_;
  ReasonId skewed_ = {}, unlabelled_ = {};
};

}  // namespace berth::scheduler::pod_topology_spread
