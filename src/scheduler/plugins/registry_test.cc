// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/registry.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

// Kube-scheduler's default profile; what we do not have is not in ours.
const std::vector<std::pair<std::string, int>> kDefaults = {{"SchedulingGates", 0},
                                                            {"PrioritySort", 0},
                                                            {"NodeUnschedulable", 0},
                                                            {"NodeName", 0},
                                                            {"TaintToleration", 3},
                                                            {"NodeAffinity", 2},
                                                            {"NodePorts", 0},
                                                            {"NodeResourcesFit", 1},
                                                            {"VolumeRestrictions", 0},
                                                            {"NodeVolumeLimits", 0},
                                                            {"VolumeBinding", 0},
                                                            {"VolumeZone", 0},
                                                            {"PodTopologySpread", 2},
                                                            {"InterPodAffinity", 2},
                                                            {"DynamicResources", 2},
                                                            {"DefaultPreemption", 0},
                                                            {"NodeResourcesBalancedAllocation", 1},
                                                            {"ImageLocality", 1},
                                                            {"DefaultBinder", 0},
                                                            {"NodeDeclaredFeatures", 0}};

// The points that the roles of a plugin can serve: those it must name, and those it may.
struct Roles {
  PointSet must = 0, may = 0;
};
Roles roles_of(const Plugin& plugin) {
  Roles roles;
  const auto role = [&]<class Role>(const Role* as, Point main, PointSet also = 0) {
    if (as == nullptr) return;
    roles.must |= points(main);
    roles.may |= static_cast<PointSet>(points(main) | also);
  };
  role(dynamic_cast<const PreEnqueue*>(&plugin), Point::kPreEnqueue);
  role(dynamic_cast<const QueueSort*>(&plugin), Point::kQueueSort);
  role(dynamic_cast<const Filter*>(&plugin), Point::kFilter, points(Point::kPreFilter));
  role(dynamic_cast<const PostFilter*>(&plugin), Point::kPostFilter);
  role(dynamic_cast<const Score*>(&plugin), Point::kScore, points(Point::kPreScore));
  role(dynamic_cast<const Reserve*>(&plugin), Point::kReserve);
  role(dynamic_cast<const Permit*>(&plugin), Point::kPermit);
  role(dynamic_cast<const PreBind*>(&plugin), Point::kPreBind);
  role(dynamic_cast<const Bind*>(&plugin), Point::kBind);
  role(dynamic_cast<const PostBind*>(&plugin), Point::kPostBind);
  return roles;
}

TEST(Registry, DefaultsStandInKubeSchedulersOrderWithItsWeights) {
  auto want = kDefaults.begin();
  bool defaults_over = false;
  for (const Registration& row : all_plugins()) {
    if (!row.info.by_default) {
      defaults_over = true;
      continue;
    }
    EXPECT_FALSE(defaults_over) << row.info.name << " stands after plugins that are ours";
    while (want != kDefaults.end() && want->first != row.info.name) ++want;
    ASSERT_NE(want, kDefaults.end()) << row.info.name << " is no default, or out of order";
    EXPECT_EQ(row.info.default_weight, want->second) << row.info.name;
  }
}

TEST(Registry, NamesAreUniqueAndFewEnoughForASet) {
  std::set<std::string_view> names;
  for (const Registration& row : all_plugins())
    EXPECT_TRUE(names.insert(row.info.name).second) << row.info.name << " stands twice";
  EXPECT_LE(all_plugins().size(), 63u);
  EXPECT_EQ(plugin_named("NodeName"), static_cast<PluginId>(3));
  EXPECT_EQ(plugin_named("NoSuchPlugin"), PluginId::kNone);
}

TEST(Registry, PointsAreTheRolesThatTheClassPlays) {
  ReasonTable reasons;
  for (std::size_t i = 0; i < all_plugins().size(); ++i) {
    const Registration& row = all_plugins()[i];
    const std::unique_ptr<Plugin> plugin = row.make(
        {.id = static_cast<PluginId>(i), .name = row.info.name, .args = {}, .reasons = reasons});
    ASSERT_NE(plugin, nullptr) << row.info.name;
    EXPECT_EQ(plugin->name(), row.info.name);
    const Roles roles = roles_of(*plugin);
    EXPECT_EQ(row.info.points & roles.must, roles.must)
        << row.info.name << " plays more than it says";
    EXPECT_EQ(row.info.points & ~roles.may, 0) << row.info.name << " says more than it plays";
  }
}

}  // namespace
}  // namespace berth::scheduler
