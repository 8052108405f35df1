// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/node_by_node.h"

#include <gtest/gtest.h>

#include "scheduler/cache/test_builders.h"

namespace berth::scheduler {
namespace {

using namespace test;

// Wants room for a pod and a short name; likes idle nodes.
class Example final : public NodeByNode {
 public:
  explicit Example(const PluginContext& context) : Plugin(context) {}
  Status check(const Cycle&, const NodeView& node) const override {
    if (node.name() == "broken") return Status::error("cannot tell");
    if (node.name().size() > 1) return Status::unresolvable("long name");
    return node.room_for_pods() > 0 ? Status{} : Status::unschedulable("full");
  }
  std::int64_t points(const Cycle&, const NodeView& node) const override {
    int pods = 0;
    node.for_each_pod([&](const Pod&) { ++pods; });
    return 100 - pods;
  }
};

class NodeByNodeTest : public testing::Test {
 protected:
  NodeByNodeTest() {
    cluster.put_node(node("a").cpu("4"));
    cluster.put_node(node("b").pods(1));
    cluster.put_node(node("long"));
    cluster.add_pod(pod("p").on("b"));
    cluster.begin_cycle();
  }
  ClusterState cluster;
  ReasonTable reasons;
  Example plugin{{.id = PluginId{0}, .name = "Example", .args = {}, .reasons = reasons}};
  PodPtr incoming = pod("incoming");
  Shape shape;
  Cycle cycle{*incoming, shape, cluster, {}, {}, {}};
};

TEST_F(NodeByNodeTest, AsksAboutOneNodeAfterTheOther) {
  const Rows rows = cluster.rows();
  RowSet keep(3, true);
  Rejections why(reasons, 3);
  EXPECT_TRUE(plugin.filter(cycle, rows, keep, &why).ok());
  EXPECT_EQ(keep.count(), 1u);
  EXPECT_EQ(why.status(1).message(), "full");
  EXPECT_EQ(why.status(1).code, Code::kUnschedulable);
  EXPECT_EQ(why.status(2).code, Code::kUnresolvable);
  std::vector<std::int64_t> raw(3, -1);
  RowSet of(3);
  of.insert(0);
  of.insert(1);
  EXPECT_TRUE(plugin.score(cycle, rows, of, raw).ok());
  EXPECT_EQ(raw, (std::vector<std::int64_t>{100, 99, -1}));
  EXPECT_EQ(NodeView(rows, 0).allocatable_millicores(), 4000);
}

TEST_F(NodeByNodeTest, AnErrorEndsTheAttempt) {
  cluster.put_node(node("broken"));
  cluster.begin_cycle();
  RowSet keep(4, true);
  const Status status = plugin.filter(cycle, cluster.rows(), keep, nullptr);
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.message(), "cannot tell");
}

}  // namespace
}  // namespace berth::scheduler
