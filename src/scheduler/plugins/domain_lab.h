// SPDX-License-Identifier: Apache-2.0
// One plugin and a small cluster, for tests of plugins that read topology domains: each question is
// asked row by row and by groups of rows, and both answers must be the same. Only tests include
// this.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/owner_state.h"
#include "scheduler/cache/test_builders.h"
#include "scheduler/cache/what_if.h"
#include "scheduler/framework/registry.h"

namespace berth::scheduler::test {

using Verdicts = std::map<std::string, std::string>;  // node -> why not; "" fits
using Scores = std::map<std::string, std::int64_t>;

class DomainLab {
 public:
  explicit DomainLab(PluginFactory make, PluginArgs args = {})
      : plugin_(make({.id = PluginId{0},
                      .name = "Plugin",
                      .slot = 0,
                      .args = std::move(args),
                      .reasons = reasons_})),
        filter_(dynamic_cast<Filter&>(*plugin_)),
        score_(dynamic_cast<Score&>(*plugin_)),
        by_domain_(dynamic_cast<ByDomain&>(*plugin_)) {}

  ClusterState cluster;

  DomainLab& add(const NodeBuilder& node) {
    cluster.put_node(node.compile());
    return *this;
  }
  DomainLab& add(const PodBuilder& pod) {
    cluster.add_pod(pod.compile());
    return *this;
  }
  Plugin& plugin() { return *plugin_; }

  // An attempt to place the pod.
  struct Attempt {
    PodPtr pod;
    Shape shape;
    std::unique_ptr<Cycle> cycle;
    Status prepared;
  };
  std::unique_ptr<Attempt> attempt(const PodPtr& pod) {
    cluster.begin_cycle();
    auto made = std::make_unique<Attempt>();
    made->pod = pod;
    made->shape.spec = pod->spec;
    made->shape.ns = pod->ns;
    made->shape.parts.push_back(plugin_->compile(*pod, cluster));
    made->cycle.reset(new Cycle{*made->pod, made->shape, cluster, {}, {}, {}});
    made->cycle->states.resize(1);
    made->prepared = filter_.prepare(*made->cycle).status;
    return made;
  }
  std::string shape_key(const PodPtr& pod) const {
    std::string key;
    plugin_->shape_key(*pod, cluster, key);
    return key;
  }

  Verdicts filter(Attempt& attempt) {
    const Rows rows = cluster.rows();
    RowSet keep(rows.size, true);
    Rejections why(reasons_, rows.size);
    EXPECT_TRUE(filter_.filter(*attempt.cycle, rows, keep, &why).ok());
    Verdicts verdicts;
    for (std::uint32_t row = 0; row < rows.size; ++row)
      verdicts[cluster.node(rows.node[row]).name] = text(keep.has(row), why.status(row));
    // Small blocks take another way through a plugin; so do groups.
    for (std::uint32_t row = 0; row < rows.size; ++row) {
      const Rows one = cluster.table().rows(cluster, row, 1);
      RowSet alone(1, true);
      EXPECT_TRUE(filter_.filter(*attempt.cycle, one, alone, nullptr).ok());
      EXPECT_EQ(alone.has(0), keep.has(row));
    }
    if (filter_.reach(attempt.shape) == Reach::kDomain) {
      Groups groups(*this, attempt);
      std::vector<std::uint8_t> pass(groups.rows.size, 1);
      by_domain_.judge(*attempt.cycle, groups.rows, pass);
      for (std::uint32_t row = 0; row < rows.size; ++row)
        EXPECT_EQ(pass[groups.of_row[row]] != 0, keep.has(row)) << "judge() and filter() differ";
    }
    return verdicts;
  }
  Verdicts filter(const PodPtr& pod) { return filter(*attempt(pod)); }

  // Scores of the nodes, or of those given; nullopt: Skip.
  struct Scored {
    Scores raw, normalized;
  };
  std::optional<Scored> score(Attempt& attempt, const std::vector<std::string>* nodes = nullptr) {
    const Rows rows = cluster.rows();
    RowSet feasible(rows.size, nodes == nullptr);
    if (nodes != nullptr)
      for (const std::string& node : *nodes) feasible.insert(*cluster.row_of(node));
    const Status status = score_.prepare_score(*attempt.cycle, {rows, feasible, feasible.count()});
    std::vector<std::int64_t> raw(rows.size);
    if (!status.skipped()) {
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_TRUE(score_.score(*attempt.cycle, rows, feasible, raw).ok());
    }
    check_groups(attempt, feasible, status.skipped() ? nullptr : &raw);
    if (status.skipped()) return std::nullopt;
    std::vector<std::int64_t> values;
    feasible.for_each([&](std::uint32_t row) { values.push_back(raw[row]); });
    score_.normalize(*attempt.cycle, values);
    Scored scored;
    std::size_t next = 0;
    feasible.for_each([&](std::uint32_t row) {
      const std::string& name = cluster.node(rows.node[row]).name;
      scored.raw[name] = raw[row];
      scored.normalized[name] = values[next++];
    });
    return scored;
  }
  std::optional<Scores> score(const PodPtr& pod) {
    const auto scored = score(*attempt(pod));
    return scored ? std::optional(scored->normalized) : std::nullopt;
  }
  std::optional<Scores> score(const PodPtr& pod, const std::vector<std::string>& nodes) {
    const auto scored = score(*attempt(pod), &nodes);
    return scored ? std::optional(scored->normalized) : std::nullopt;
  }

  // The verdict about one node after pods were put there (+1) or taken away (-1), in this order.
  struct Move {
    PodPtr pod;
    int sign;
  };
  std::string filter_if(Attempt& attempt, const std::string& node, const std::vector<Move>& moves) {
    WhatIf what_if(cluster, [&](WhatIf& of, std::uint32_t row, const Pod& pod, int sign) {
      filter_.moved(*attempt.cycle, of.rows(), row, pod, sign, of.deltas(row, 0));
    });
    what_if.open(cluster.rows().node[0]);  // so that rows of a view are not rows of the block
    const std::uint32_t row = what_if.open(cluster.node_id(node));
    for (const Move& move : moves)
      move.sign > 0 ? what_if.add(row, move.pod) : what_if.remove(row, move.pod);
    RowSet keep(1, true);
    Rejections why(reasons_, 1);
    EXPECT_TRUE(filter_.filter(*attempt.cycle, what_if.row(row), keep, &why).ok());
    return text(keep.has(0), why.status(0));
  }

  Hint hint(const PodPtr& pod, const Change& change) const {
    const auto interests = plugin_->events();
    for (const EventInterest& interest : *interests)
      if (matches(interest.event, change.event)) return interest.hint(*pod, change, cluster);
    ADD_FAILURE() << "not registered: " << change.event.label();
    return Hint::kSkip;
  }

 private:
  // Rows of the table as groups of equal domains and own parts.
  struct Groups {
    Groups(DomainLab& lab, Attempt& attempt) {
      const Rows all = lab.cluster.rows();
      lab.by_domain_.keys(*attempt.cycle, keys);
      for (const TopologyKeyId key : keys) EXPECT_FALSE(lab.cluster.unique(key));
      std::vector<std::uint64_t> row_own(all.size, 12345);
      lab.by_domain_.own_part(*attempt.cycle, all, row_own);
      std::map<std::pair<std::vector<DomainId>, std::uint64_t>, std::uint32_t> ids;
      for (std::uint32_t row = 0; row < all.size; ++row) {
        std::vector<DomainId> domains;
        for (const TopologyKeyId key : keys) domains.push_back(all.domain(key)[row]);
        const auto [at, fresh] =
            ids.try_emplace({domains, row_own[row]}, static_cast<std::uint32_t>(ids.size()));
        of_row.push_back(at->second);
        if (!fresh) continue;
        own.push_back(row_own[row]);
        columns.resize(keys.size());
        for (std::size_t k = 0; k < keys.size(); ++k) columns[k].push_back(domains[k]);
      }
      columns.resize(keys.size());
      for (const auto& column : columns) pointers.push_back(column.data());
      rows = {static_cast<std::uint32_t>(own.size()), keys, pointers, own.data()};
    }
    std::vector<TopologyKeyId> keys;
    std::vector<std::vector<DomainId>> columns;
    std::vector<const DomainId*> pointers;
    std::vector<std::uint64_t> own;
    std::vector<std::uint32_t> of_row;
    GroupRows rows;
  };

  void check_groups(Attempt& attempt, const RowSet& feasible,
                    const std::vector<std::int64_t>* expected) {
    if (score_.score_reach(attempt.shape) != Reach::kDomain) return;
    Groups groups(*this, attempt);
    std::vector<std::uint32_t> counts(groups.rows.size);
    feasible.for_each([&](std::uint32_t row) { ++counts[groups.of_row[row]]; });
    std::vector<std::int64_t> raw(groups.rows.size);
    const bool scores =
        by_domain_.raw(*attempt.cycle, {groups.rows, counts, feasible.count()}, raw);
    EXPECT_EQ(scores, expected != nullptr) << "raw() and prepare_score() differ";
    if (!scores || expected == nullptr) return;
    feasible.for_each([&](std::uint32_t row) {
      EXPECT_EQ(raw[groups.of_row[row]], (*expected)[row]) << "raw() and score() differ";
    });
  }
  static std::string text(bool fits, const Status& status) {
    if (fits) return "";
    return std::string(status.code == Code::kUnresolvable ? "!" : "") + status.message();
  }

  ReasonTable reasons_;
  std::unique_ptr<Plugin> plugin_;
  Filter& filter_;
  Score& score_;
  ByDomain& by_domain_;
};

}  // namespace berth::scheduler::test
