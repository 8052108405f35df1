// SPDX-License-Identifier: Apache-2.0
// Plugins made of lambdas, for tests of what runs them. Only tests include this.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/framework/profile.h"

namespace berth::scheduler::test {

// What a fake does; what is not set does nothing.
struct Fake {
  PointSet points = 0;
  std::function<PreFilterResult(Cycle&)> prepare = nullptr;
  // The reason against a node, "" for none; starts with '!' when preemption would not help, with
  // '?' when it is an error.
  std::function<std::string(const Rows&, std::uint32_t row)> reject = nullptr;
  std::function<Status(Cycle&, const FeasibleSummary&)> prepare_score = nullptr;
  std::function<std::int64_t(const Node&)> score = nullptr;
  Normalize normalization = Normalize::kNone;
  std::function<std::unique_ptr<ShapePart>(const Pod&, ClusterState&)> compile = nullptr;
  std::function<std::string(const Pod&)> shape_key = nullptr;
  bool sees_moves = false;
  std::int32_t weight = 1;
};

class FakePlugin final : public Filter, public Score {
 public:
  FakePlugin(const PluginContext& context, const Fake& fake)
      : Plugin(context), fake_(fake), reasons_(context.reasons) {}

  PreFilterResult prepare(Cycle& cycle) const override {
    return fake_.prepare ? fake_.prepare(cycle) : PreFilterResult{};
  }
  Status filter(const Cycle&, const Rows& rows, RowSet& keep, Rejections* why) const override {
    std::string failed;
    keep.for_each([&](std::uint32_t row) {
      std::string reason = fake_.reject ? fake_.reject(rows, row) : "";
      if (reason.empty()) return;
      if (reason.front() == '?') {
        failed = reason.substr(1);
        return;
      }
      const bool final = reason.front() == '!';
      keep.erase(row);
      if (why != nullptr)
        why->reject(row, reasons_.id(id(), final ? Code::kUnresolvable : Code::kUnschedulable,
                                     {reason.substr(final ? 1 : 0)}));
    });
    return failed.empty() ? Status{} : Status::error(failed);
  }
  bool sees_moves() const override { return fake_.sees_moves; }
  void moved(const Cycle&, const Rows&, std::uint32_t, const Pod&, int sign,
             std::vector<std::int32_t>& deltas) const override {
    deltas.resize(1);
    deltas[0] += sign;
  }
  Status prepare_score(Cycle& cycle, const FeasibleSummary& summary) const override {
    return fake_.prepare_score ? fake_.prepare_score(cycle, summary) : Status{};
  }
  Status score(const Cycle&, const Rows& rows, const RowSet& of,
               std::span<std::int64_t> raw) const override {
    of.for_each([&](std::uint32_t row) {
      raw[row] = fake_.score ? fake_.score(rows.cluster->node(rows.node[row])) : 0;
    });
    return {};
  }
  Normalize normalization() const override { return fake_.normalization; }
  std::unique_ptr<ShapePart> compile(const Pod& pod, ClusterState& cluster) const override {
    return fake_.compile ? fake_.compile(pod, cluster) : nullptr;
  }
  void shape_key(const Pod& pod, const ClusterState&, std::string& key) const override {
    if (fake_.shape_key) key += fake_.shape_key(pod);
  }

 private:
  const Fake& fake_;
  ReasonTable& reasons_;
};

// A profile of fakes in the order given. Not moved; one at a time.
class FakeProfile {
 public:
  explicit FakeProfile(std::vector<std::pair<std::string, Fake>> fakes) : fakes_(std::move(fakes)) {
    current() = this;
    ProfileSpec spec;
    for (std::size_t i = 0; i < fakes_.size(); ++i) {
      registry_.push_back({{fakes_[i].first, fakes_[i].second.points, true, 0}, make});
      for (int point = 0; point < kPoints; ++point)
        if (has(fakes_[i].second.points, static_cast<Point>(point)))
          spec.points[static_cast<std::size_t>(point)].push_back(
              {static_cast<PluginId>(i), fakes_[i].second.weight});
    }
    profile_ = std::make_unique<Profile>(std::move(spec), registry_, reasons, nullptr);
  }
  FakeProfile(const FakeProfile&) = delete;
  FakeProfile& operator=(const FakeProfile&) = delete;
  Profile& operator*() { return *profile_; }
  Profile* operator->() { return profile_.get(); }

  ReasonTable reasons;

 private:
  static FakeProfile*& current() {
    static FakeProfile* profile = nullptr;
    return profile;
  }
  static std::unique_ptr<Plugin> make(const PluginContext& context) {
    return std::make_unique<FakePlugin>(
        context, current()->fakes_[static_cast<std::size_t>(context.id)].second);
  }

  std::vector<std::pair<std::string, Fake>> fakes_;
  std::vector<Registration> registry_;
  std::unique_ptr<Profile> profile_;
};

inline constexpr PointSet kFilters = points(Point::kPreFilter, Point::kFilter);
inline constexpr PointSet kScores = points(Point::kPreScore, Point::kScore);

}  // namespace berth::scheduler::test
