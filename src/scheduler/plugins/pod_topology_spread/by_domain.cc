// SPDX-License-Identifier: Apache-2.0
// PodTopologySpread for groups of nodes. A node's own part: for each constraint that is about the
// node alone, two bits that tell its label and the count.
#include <algorithm>

#include "base/check.h"
#include "scheduler/plugins/pod_topology_spread/pod_topology_spread.h"

namespace berth::scheduler::pod_topology_spread {
namespace {

// More would leave too few bits for a count. 19 bits are more pods than a node ever has.
constexpr std::size_t kMostOwn = 3;

enum Label : std::uint64_t { kNoLabel = 0, kLabel = 1, kBlankLabel = 2 };

// A soft hostname constraint counts on the node itself, also where nodes share a hostname.
bool own_hard(const ClusterState& cluster, const Constraint& c) { return cluster.unique(c.key); }
bool own_soft(const ClusterState& cluster, const Constraint& c) {
  return c.hostname || cluster.unique(c.key);
}

struct Field {
  unsigned shift = 0, width = 64;
  std::uint64_t of(std::uint64_t own) const {
    return own >> shift & (width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1);
  }
  Label label(std::uint64_t own) const { return static_cast<Label>(of(own) & 3); }
  std::int64_t count(std::uint64_t own) const { return static_cast<std::int64_t>(of(own) >> 2); }
  std::uint64_t pack(Label label, std::int64_t count) const {
    const std::uint64_t value = static_cast<std::uint64_t>(count) << 2 | label;
    BERTH_CHECK(width == 64 || value >> width == 0, "too many pods on one node to pack");
    return value << shift;
  }
};

// Where each constraint's own part is: hard ones first, then soft ones, in order.
class Packing {
 public:
  Packing(const ClusterState& cluster, const Part& part) {
    for (const Constraint& c : part.hard) fields_ += own_hard(cluster, c) ? 1 : 0;
    for (const Constraint& c : part.soft) fields_ += own_soft(cluster, c) ? 1 : 0;
  }
  bool fits() const { return fields_ <= kMostOwn; }
  Field next() {
    const auto width = static_cast<unsigned>(64 / std::max<std::size_t>(fields_, 1));
    return {width * next_++, width};
  }

 private:
  std::size_t fields_ = 0;
  unsigned next_ = 0;
};

const DomainId* column(const GroupRows& groups, TopologyKeyId key) {
  const DomainId* domains = groups.domain(key);
  BERTH_CHECK(domains != nullptr, "groups were made without a key in use");
  return domains;
}

}  // namespace

Reach PodTopologySpread::reach(const Shape& shape) const {
  const Part& of = static_cast<const Part&>(*shape.parts[slot()]);
  return Packing(*of.cluster, of).fits() ? Reach::kDomain : Reach::kCluster;
}

void PodTopologySpread::keys(const Cycle& cycle, std::vector<TopologyKeyId>& out) const {
  for (const Constraint& c : part(cycle).hard)
    if (!own_hard(cycle.cluster, c)) out.push_back(c.key);
  for (const Constraint& c : part(cycle).soft)
    if (!own_soft(cycle.cluster, c)) out.push_back(c.key);
}

void PodTopologySpread::own_part(const Cycle& cycle, const Rows& rows,
                                 std::span<std::uint64_t> own) const {
  const Part& of = part(cycle);
  Packing packing(cycle.cluster, of);
  std::fill(own.begin(), own.end(), 0);
  const auto add = [&](const Constraint& c, bool on_node) {
    const Field field = packing.next();
    const DomainId* domains = rows.domain(c.key);
    const DomainId blank = cycle.cluster.domain_named(c.key, "");
    constexpr std::uint32_t kAhead = 16;
    for (std::uint32_t row = 0; row < rows.size; ++row) {
      if (on_node && row + kAhead < rows.size) c.set->pods().prefetch(rows.node[row + kAhead]);
      const DomainId domain = domains[row];
      if (domain == DomainId::kNone) continue;
      own[row] |= field.pack(domain == blank ? kBlankLabel : kLabel,
                             on_node ? c.set->pods().on(rows.node[row]) : c.counter->at(domain));
    }
  };
  for (const Constraint& c : of.hard)
    if (own_hard(cycle.cluster, c)) add(c, false);
  for (const Constraint& c : of.soft)
    if (own_soft(cycle.cluster, c)) add(c, c.hostname);
}

RowChanges PodTopologySpread::own_part_changes(const Cycle& cycle) const {
  RowChanges changes = row_change::kObject;
  for (const Constraint& c : part(cycle).hard)
    if (own_hard(cycle.cluster, c)) changes |= c.set->pods().change;
  for (const Constraint& c : part(cycle).soft)
    if (own_soft(cycle.cluster, c)) changes |= c.set->pods().change;
  return changes;
}

void PodTopologySpread::judge(const Cycle& cycle, const GroupRows& groups,
                              std::span<std::uint8_t> pass) const {
  const Part& of = part(cycle);
  Packing packing(cycle.cluster, of);
  for (const Constraint& c : of.hard) {
    const std::int32_t least = least_match(c);
    if (own_hard(cycle.cluster, c)) {
      const Field field = packing.next();
      for (std::uint32_t g = 0; g < groups.size; ++g)
        if (field.label(groups.own[g]) == kNoLabel ||
            !skew_allows(field.count(groups.own[g]), c.self, least, c.max_skew))
          pass[g] = 0;
      continue;
    }
    const DomainId* domains = column(groups, c.key);
    for (std::uint32_t g = 0; g < groups.size; ++g)
      if (domains[g] == DomainId::kNone ||
          !skew_allows(c.counter->at(domains[g]), c.self, least, c.max_skew))
        pass[g] = 0;
  }
}

bool PodTopologySpread::raw(Cycle& cycle, const GroupSummary& summary,
                            std::span<std::int64_t> raw) const {
  const Part& of = part(cycle);
  if (of.soft.empty() || cycle.cluster.size() == 0) return false;
  const GroupRows& groups = summary.groups;
  Packing packing(cycle.cluster, of);
  for (const Constraint& c : of.hard)
    if (own_hard(cycle.cluster, c)) packing.next();

  struct Source {
    const DomainId* domains = nullptr;  // null: the own part's field
    Field field;
  };
  std::vector<Source> sources;
  for (const Constraint& c : of.soft)
    sources.push_back(own_soft(cycle.cluster, c) ? Source{nullptr, packing.next()}
                                                 : Source{column(groups, c.key), {}});
  const auto lacks = [&](const Source& source, std::uint32_t g) {
    return source.domains != nullptr ? source.domains[g] == DomainId::kNone
                                     : source.field.label(groups.own[g]) == kNoLabel;
  };
  const auto ignored = [&](std::uint32_t g) {
    return of.require_all && std::any_of(sources.begin(), sources.end(),
                                         [&](const Source& source) { return lacks(source, g); });
  };

  std::vector<ValueCount> values = value_counts(cycle.cluster, of);
  std::uint32_t scored = 0;
  for (std::uint32_t g = 0; g < groups.size; ++g) {
    if (summary.counts[g] == 0 || ignored(g)) continue;
    scored += summary.counts[g];
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (of.soft[i].hostname) continue;
      if (sources[i].domains != nullptr)
        values[i].add(sources[i].domains[g]);
      else if (sources[i].field.label(groups.own[g]) == kLabel)
        values[i].add_distinct(summary.counts[g]);  // a value each
      else
        values[i].add_blank();
    }
  }
  std::vector<Scale> scales;
  for (std::size_t i = 0; i < sources.size(); ++i)
    scales.push_back(
        scale_of(cycle.cluster, of, of.soft[i], of.soft[i].hostname ? scored : values[i].count()));

  for (std::uint32_t g = 0; g < groups.size; ++g) {
    if (summary.counts[g] == 0) continue;
    if (ignored(g)) {
      raw[g] = kIgnored;
      continue;
    }
    double score = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Source& source = sources[i];
      if (lacks(source, g)) continue;
      const Constraint& c = of.soft[i];
      std::int64_t count = 0;
      if (source.domains != nullptr) {
        count = pods_in(c, scales[i], source.domains[g]);
      } else {
        count = source.field.count(groups.own[g]);
        if (source.field.label(groups.own[g]) == kBlankLabel) count += scales[i].blank_pods;
      }
      score = with_count(score, count, scales[i].weight, c.max_skew);
    }
    raw[g] = rounded(score);
  }
  return true;
}

}  // namespace berth::scheduler::pod_topology_spread
