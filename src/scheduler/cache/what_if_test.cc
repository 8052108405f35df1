// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cache/test_builders.h"

namespace berth::scheduler {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names(const Rows& rows, std::uint32_t row) {
  std::vector<std::string> all;
  rows.for_each_pod(row, [&](const Pod& pod) { all.push_back(pod.name); });
  return all;
}

class WhatIfTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.resource("example.com/gpu");
    cluster_.put_node(test::node("n1").compile());
    cluster_.put_node(test::node("n2").compile());
    for (const PodPtr& pod : {a_, b_, c_}) cluster_.add_pod(pod);
    cluster_.begin_cycle();
  }
  static PodPtr on_n1(const std::string& name, const std::string& cpu) {
    return test::pod(name)
        .cpu(cpu)
        .memory("1Gi")
        .request("example.com/gpu", "1")
        .on("n1")
        .compile();
  }
  ClusterState cluster_;
  PodPtr a_ = on_n1("a", "1"), b_ = on_n1("b", "2"), c_ = on_n1("c", "3");
};

TEST_F(WhatIfTest, LeavesTheClusterAlone) {
  WhatIf what_if(cluster_);
  const std::uint32_t row = what_if.open(cluster_.node_id("n1"));
  what_if.remove(row, b_);
  what_if.add(row, test::pod("d").cpu("500m").compile());
  const Rows scratch = what_if.rows();
  EXPECT_THAT(names(scratch, row), ElementsAre("a", "c", "d"));
  EXPECT_EQ(scratch.cpu_used[row], 4500);
  EXPECT_EQ(cluster_.rows().cpu_used[*cluster_.row_of("n1")], 6000);
  EXPECT_EQ(cluster_.recount(), "");
}

TEST_F(WhatIfTest, CountsEveryColumnAndTheExactSums) {
  WhatIf what_if(cluster_);
  const std::uint32_t row = what_if.open(cluster_.node_id("n1"));
  const Rows before = what_if.rows();
  const std::int32_t room = before.pod_room[row];
  what_if.remove(row, a_);
  what_if.remove(row, c_);
  const Rows rows = what_if.rows();
  const ResourceId gpu = cluster_.resource("example.com/gpu");
  EXPECT_EQ(rows.cpu_used[row], 2000);
  EXPECT_EQ(rows.cpu_nonzero[row], 2000);
  EXPECT_EQ(rows.memory_used[row], double{1 << 30});
  EXPECT_EQ(rows.pod_room[row], room + 2);
  EXPECT_EQ(rows.scalar(gpu).second[row], 1);
  EXPECT_EQ(what_if.sums(row).millicores, 2000);
  EXPECT_EQ(what_if.sums(row).memory, 1 << 30);
  EXPECT_EQ(what_if.scalar_used(row, gpu, "example.com/gpu"), 1);
}

TEST_F(WhatIfTest, PuttingBackUndoes) {
  WhatIf what_if(cluster_);
  const std::uint32_t row = what_if.open(cluster_.node_id("n1"));
  const PodPtr guest = test::pod("guest").cpu("1").compile();
  what_if.remove(row, a_);
  what_if.add(row, guest);
  what_if.add(row, a_);
  what_if.remove(row, guest);
  EXPECT_TRUE(what_if.added(row).empty());
  EXPECT_TRUE(what_if.removed(row).empty());
  EXPECT_EQ(what_if.rows().cpu_used[row], 6000);
  EXPECT_EQ(what_if.rows().pod_room[row], cluster_.rows().pod_room[*cluster_.row_of("n1")]);
}

TEST_F(WhatIfTest, RowsAreJudgedAloneAlsoThoseOfOneNode) {
  WhatIf what_if(cluster_);
  const std::uint32_t first = what_if.open(cluster_.node_id("n1"));
  const std::uint32_t second = what_if.open(cluster_.node_id("n1"));
  const std::uint32_t other = what_if.open(cluster_.node_id("n2"));
  what_if.remove(first, a_);
  what_if.add(other, a_);
  EXPECT_THAT(names(what_if.rows(), first), ElementsAre("b", "c"));
  EXPECT_THAT(names(what_if.rows(), second), ElementsAre("a", "b", "c"));
  // A view of one row counts its rows from 0.
  EXPECT_THAT(names(what_if.row(other), 0), ElementsAre("a"));
  EXPECT_EQ(what_if.row(other).cpu_used[0], 1000);
}

TEST_F(WhatIfTest, TellsOfMovesAndKeepsDeltasByRowAndSlot) {
  WhatIf what_if(cluster_, [](WhatIf& self, std::uint32_t row, const Pod&, int sign) {
    std::vector<std::int32_t>& deltas = self.deltas(row, 2);
    deltas.resize(1);
    deltas[0] += sign;
  });
  const std::uint32_t row = what_if.open(cluster_.node_id("n1"));
  const std::uint32_t untouched = what_if.open(cluster_.node_id("n2"));
  what_if.remove(row, a_);
  what_if.remove(row, b_);
  what_if.add(row, b_);
  const WhatIf& read = what_if;
  EXPECT_THAT(read.deltas(row, 2), ElementsAre(-1));
  EXPECT_TRUE(read.deltas(row, 0).empty());
  EXPECT_TRUE(read.deltas(untouched, 2).empty());
}

TEST_F(WhatIfTest, MarksHostPortsAndAmountsBeyondDoubles) {
  WhatIf what_if(cluster_);
  const std::uint32_t row = what_if.open(cluster_.node_id("n2"));
  EXPECT_EQ(what_if.rows().flags[row], 0u);
  what_if.add(row, test::pod("port").host_port(80).compile());
  EXPECT_EQ(what_if.rows().flags[row], row_flag::kHasPorts);
  what_if.add(row, test::pod("huge").memory("1Pi").compile());
  EXPECT_EQ(what_if.rows().flags[row], row_flag::kHasPorts | row_flag::kWide);
}

}  // namespace
}  // namespace berth::scheduler
