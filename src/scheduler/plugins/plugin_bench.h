// SPDX-License-Identifier: Apache-2.0
// A cluster and a profile with one plugin in it, for that plugin's tests. Only tests include this.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/test_builders.h"
#include "scheduler/cache/what_if.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/shape_table.h"
#include "scheduler/plugins/registry.h"

namespace berth::scheduler::test {

// A node's verdict as text: "" fits; else "Unschedulable: reason, reason".
using Verdicts = std::map<std::string, std::string>;
using Points = std::map<std::string, std::int64_t>;

class PluginBench {
 public:
  explicit PluginBench(std::string_view plugin, PluginArgs args = {}, Services* services = nullptr)
      : id_(plugin_named(plugin)) {
    BERTH_CHECK(id_ != PluginId::kNone, plugin);
    ProfileSpec spec;
    const PointSet points = all_plugins()[static_cast<std::size_t>(id_)].info.points;
    for (std::size_t i = 0; i < kPoints; ++i)
      if (has(points, static_cast<Point>(i))) spec.points[i].push_back({id_});
    if (!std::holds_alternative<std::monostate>(args)) spec.args.emplace(id_, std::move(args));
    profile_ = std::make_unique<Profile>(std::move(spec), all_plugins(), reasons_, services);
    shapes_ = std::make_unique<ShapeTable>(*profile_, cluster_);
  }

  PluginBench& with(const NodePtr& node) {
    cluster_.put_node(node);
    return *this;
  }
  PluginBench& with(const PodPtr& pod) {  // it names its node
    cluster_.add_pod(pod);
    return *this;
  }
  ClusterState& cluster() { return cluster_; }
  Profile& profile() { return *profile_; }
  Plugin& plugin() { return *profile_->plugins().front(); }
  template <class Role>
  Role& as() {
    return dynamic_cast<Role&>(plugin());
  }

  // One attempt with the plugin.
  struct Attempt {
    Attempt(PluginBench& bench, PodPtr of)
        : pod(std::move(of)), shape(bench.shapes_->of(*pod)), cycle{*pod, *shape, bench.cluster_,
                                                                    {},   {},     {}} {
      cycle.states.resize(bench.profile_->slots());
    }
    PodPtr pod;
    std::shared_ptr<Shape> shape;
    Cycle cycle;
  };
  std::unique_ptr<Attempt> attempt(const PodPtr& pod) {
    cluster_.begin_cycle();
    return std::make_unique<Attempt>(*this, pod);
  }

  Status prepare(const PodPtr& pod) { return profile_->prepare(attempt(pod)->cycle).status; }
  bool skips(const PodPtr& pod) {
    const auto a = attempt(pod);
    profile_->prepare(a->cycle);
    return a->cycle.skipped.has(id_);
  }

  // The filter's verdicts. Whole words, single rows and the journal must agree, with reasons or
  // without.
  Verdicts filter(const PodPtr& pod) {
    const auto a = attempt(pod);
    const Profile::Prepared prepared = profile_->prepare(a->cycle);
    BERTH_CHECK(prepared.status.ok(), prepared.status.message());
    const Verdicts found = verdicts(a->cycle, cluster_.rows());
    const Rows rows = cluster_.rows();
    for (std::uint32_t row = 0; row < rows.size; ++row) {
      RowSet one(rows.size);
      one.insert(row);
      EXPECT_TRUE(profile_->filter(a->cycle, rows, one, nullptr).ok());
      const std::string& name = cluster_.node(rows.node[row]).name;
      EXPECT_EQ(one.has(row), found.at(name).empty()) << name << " alone";
      WhatIf same(cluster_);
      same.open(rows.node[row]);
      EXPECT_EQ(verdicts(a->cycle, same.rows()).at(name), found.at(name)) << "a copy of " << name;
    }
    return found;
  }
  // The verdict about a scratch row of `node` after `change` was done to it.
  std::string filter_if(const PodPtr& pod, std::string_view node,
                        const std::function<void(WhatIf&, std::uint32_t row)>& change) {
    const auto a = attempt(pod);
    profile_->prepare(a->cycle);
    WhatIf what_if(cluster_);
    const std::uint32_t row = what_if.open(cluster_.node_id(node));
    change(what_if, row);
    return verdicts(a->cycle, what_if.rows()).at(std::string(node));
  }

  // Raw scores of all nodes; empty where PreScore says Skip.
  Points raw(const PodPtr& pod) { return score(pod, false); }
  Points normalized(const PodPtr& pod) { return score(pod, true); }

  // What the plugin makes of an event; kSkip where it does not listen.
  Hint hint(const PodPtr& pod, const Change& change) {
    const auto interests = plugin().events();
    BERTH_CHECK(interests.has_value(), "the plugin names no events");
    for (const EventInterest& interest : *interests)
      if (matches(interest.event, change.event))
        return interest.hint ? interest.hint(*pod, change, cluster_) : Hint::kQueue;
    return Hint::kSkip;
  }

 private:
  Verdicts verdicts(const Cycle& cycle, const Rows& rows) {
    RowSet keep(rows.size, true), quiet(rows.size, true);
    Rejections why(reasons_, rows.size);
    EXPECT_TRUE(profile_->filter(cycle, rows, keep, &why).ok());
    EXPECT_TRUE(profile_->filter(cycle, rows, quiet, nullptr).ok());
    EXPECT_EQ(keep, quiet) << "asking for reasons changed the answer";
    Verdicts out;
    for (std::uint32_t row = 0; row < rows.size; ++row) {
      const Status& status = why.status(row);
      out[cluster_.node(rows.node[row]).name] =
          keep.has(row) ? "" : std::string(name_of(status.code)) + ": " + status.message();
    }
    return out;
  }
  Points score(const PodPtr& pod, bool normalize) {
    const auto a = attempt(pod);
    profile_->prepare(a->cycle);
    const Score& scorer = *profile_->scorers().front().plugin;
    const Rows rows = cluster_.rows();
    const RowSet all(rows.size, true);
    if (profile_->scorers().front().pre_score) {
      const Status status = scorer.prepare_score(a->cycle, {rows, all, rows.size});
      if (status.skipped()) return {};
      EXPECT_TRUE(status.ok()) << status.message();
    }
    std::vector<std::int64_t> values(rows.size, -1);
    EXPECT_TRUE(scorer.score(a->cycle, rows, all, values).ok());
    if (scorer.score_reach(a->cycle.shape) != Reach::kCluster)
      for (std::uint32_t row = 0; row < rows.size; ++row) {
        std::vector<std::int64_t> one(rows.size, -1);
        RowSet only(rows.size);
        only.insert(row);
        EXPECT_TRUE(scorer.score(a->cycle, rows, only, one).ok());
        EXPECT_EQ(one[row], values[row]) << "row " << row << " alone";
      }
    if (normalize) switch (scorer.normalization()) {
        case Normalize::kNone:
          break;
        case Normalize::kDefault:
          default_normalize(values, false);
          break;
        case Normalize::kDefaultReversed:
          default_normalize(values, true);
          break;
        default:
          scorer.normalize(a->cycle, values);
      }
    Points out;
    for (std::uint32_t row = 0; row < rows.size; ++row)
      out[cluster_.node(rows.node[row]).name] = values[row];
    return out;
  }

  PluginId id_;
  ClusterState cluster_;
  ReasonTable reasons_;
  std::unique_ptr<Profile> profile_;
  std::unique_ptr<ShapeTable> shapes_;
};

// Events, as they come in.
inline Change node_event(EventAction what, const NodePtr& before, const NodePtr& after) {
  return {.event = {EventResource::kNode, what}, .node_before = before, .node_after = after};
}
inline Change pod_event(EventAction what, const PodPtr& before, const PodPtr& after) {
  const Pod& pod = after ? *after : *before;
  return {.event = {pod.assigned() ? EventResource::kAssignedPod : EventResource::kUnscheduledPod,
                    what},
          .pod_before = before,
          .pod_after = after};
}

}  // namespace berth::scheduler::test
