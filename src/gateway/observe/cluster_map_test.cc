// SPDX-License-Identifier: Apache-2.0
#include "gateway/observe/cluster_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/slice.h"

namespace berth::gateway {
namespace {

MapChange whole(std::vector<std::string> names) {
  MapChange change;
  change.layout = 3;
  change.whole = true;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    change.labels.push_back(std::make_shared<const scheduler::Labels>(
        std::vector<scheduler::Labels::Pair>{{"topology.kubernetes.io/zone", i % 2 ? "b" : "a"},
                                             {"kubernetes.io/hostname", names[i]},
                                             {"kubernetes.io/os", "linux"}}));
    MapRow row;
    row.row = i;
    row.cpu = 4000;
    change.rows.push_back(row);
  }
  change.names = std::move(names);
  return change;
}

TEST(ClusterMap, SendsEverythingOnceAndThenOnlyWhatChanged) {
  ClusterMap map;
  EXPECT_TRUE(map.empty());
  map.take(whole({"n0", "n1", "n2"}));
  auto sent = map.changes();
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->first, "map");
  EXPECT_FALSE(map.changes().has_value());

  MapChange change;
  change.layout = 3;
  MapRow row;
  row.row = 1;
  row.cpu = 4000;
  row.cpu_asked = 1500;
  change.rows = {row};
  map.take(change);
  sent = map.changes();
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->first, "rows");
  EXPECT_EQ(
      sent->second,
      R"({"layout":3,"rows":[1],"columns":{"cpu":[4000],"cpuAsked":[1500],"memory":[0],"memoryAsked":[0],"pods":[0],"podsThere":[0],"gpu":[0],"gpuAsked":[0],"state":[0]}})");
}

TEST(ClusterMap, LabelsThatTellNothingApartAreNoGroups) {
  ClusterMap map;
  map.take(whole({"n0", "n1", "n2"}));
  const std::string text = map.snapshot_json();
  const json::Slice labels = json::Slice(text)["labels"];
  EXPECT_EQ(labels["topology.kubernetes.io/zone"].raw(), R"({"values":["a","b"],"of":[0,1,0]})");
  EXPECT_FALSE(labels["kubernetes.io/hostname"].present()) << "one node each";
  EXPECT_TRUE(labels["kubernetes.io/os"].present());
}

TEST(ClusterMap, WhatWasMeasuredBeforeTheNodesWereKnownIsNotLost) {
  ClusterMap map;
  map.measured({{"n1", {700, 128}}});
  map.take(whole({"n0", "n1"}));
  const std::string text = map.snapshot_json();
  EXPECT_EQ(json::Slice(text)["columns"]["cpuUsed"].raw(), "[-1,700]");
}

TEST(ClusterMap, WhatWasMeasuredStaysWithItsNodeWhenRowsMove) {
  ClusterMap map;
  map.take(whole({"n0", "n1"}));
  map.changes();
  map.measured({{"n1", {700, 128}}});
  auto sent = map.changes();
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(json::Slice(sent->second)["columns"]["cpuUsed"].raw(), "[700]");
  map.take(whole({"n9", "n0", "n1"}));
  sent = map.changes();
  EXPECT_EQ(json::Slice(sent->second)["columns"]["cpuUsed"].raw(), "[-1,-1,700]");
  EXPECT_EQ(json::Slice(sent->second)["columns"]["memoryUsed"].raw(), "[-1,-1,128]");
}

}  // namespace
}  // namespace berth::gateway
