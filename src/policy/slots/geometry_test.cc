// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/geometry.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::slots {
namespace {

using testing::ElementsAre;

std::string text(const std::vector<Block>& blocks, const std::vector<WantedClass>& wanted) {
  std::string out;
  for (const Cell& cell : cells_of(blocks, wanted))
    out += std::to_string(cell.slot) + "=" + std::string(cell.node) + "." +
           std::to_string(cell.on_node) + (cell.wanted ? "" : "-") + " ";
  return out;
}

TEST(Geometry, ESI_009_RowsGoAcrossTheNodes) {
  const std::vector<WantedClass> wanted = {{"default", 2, {"n0", "n1", "n2"}}};
  EXPECT_EQ(text(next_blocks({}, wanted, true), wanted),
            "0=n0.0 1=n1.0 2=n2.0 3=n0.1 4=n1.1 5=n2.1 ");
}

TEST(Geometry, ESI_009_NodesWithoutANumberComeLast) {
  std::vector<LabelledNode> nodes = {{"a", "10"}, {"b", "nine"}, {"c", "2"}, {"d", "-1"},
                                     {"e", "2"},  {"f", ""},     {"g", "1x"}};
  put_in_order(nodes);
  std::string order;
  for (const LabelledNode& node : nodes) order += node.name;
  EXPECT_EQ(order, "dceafgb");
}

TEST(Geometry, ANewNodeDoesNotRenumberTheOthers) {
  const std::vector<WantedClass> two = {{"default", 2, {"n0", "n1"}}};
  const std::vector<WantedClass> three = {{"default", 2, {"n0", "nx", "n1"}}};
  const std::vector<Block> now = next_blocks({}, two, true);
  const std::vector<Block> grown = next_blocks(now, three, false);
  EXPECT_EQ(text(grown, three), "0=n0.0 1=n1.0 2=n0.1 3=n1.1 4=nx.0 5=nx.1 ");
  EXPECT_EQ(text(next_blocks(grown, three, true), three),
            "0=n0.0 1=nx.0 2=n1.0 3=n0.1 4=nx.1 5=n1.1 ");
}

TEST(Geometry, ANodeThatReturnsGetsItsOldNumbers) {
  const std::vector<WantedClass> both = {{"default", 1, {"n0", "n1"}}};
  const std::vector<WantedClass> one = {{"default", 1, {"n1"}}};
  const std::vector<Block> now = next_blocks({}, both, true);
  const std::vector<Block> without = next_blocks(now, one, false);
  EXPECT_EQ(text(without, one), "0=n0.0- 1=n1.0 ");
  EXPECT_EQ(next_blocks(without, both, false), now);
}

TEST(Geometry, MoreSlotsANodeAreAppendedAndFewerLeaveHoles) {
  const std::vector<WantedClass> two = {{"default", 2, {"n0", "n1"}}};
  const std::vector<WantedClass> three = {{"default", 3, {"n0", "n1"}}};
  const std::vector<WantedClass> one = {{"default", 1, {"n0", "n1"}}};
  const std::vector<Block> now = next_blocks({}, two, true);
  EXPECT_EQ(text(next_blocks(now, three, false), three),
            "0=n0.0 1=n1.0 2=n0.1 3=n1.1 4=n0.2 5=n1.2 ");
  EXPECT_EQ(text(next_blocks(now, one, false), one), "0=n0.0 1=n1.0 2=n0.1- 3=n1.1- ");
}

TEST(Geometry, ClassesHaveBlocksOfTheirOwnAndDistinctPlacesOnANode) {
  const std::vector<WantedClass> wanted = {{"default", 1, {"n0", "n1"}}, {"gpu", 1, {"n1"}}};
  EXPECT_EQ(text(next_blocks({}, wanted, true), wanted), "0=n0.0 1=n1.0 2=n1.1 ");
}

// Whatever happens to the nodes: numbers never move while they are not settled, every wanted slot
// is there once, and no two slots share a place.
TEST(GeometryProperty, NumbersNeverMove) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::vector<Block> blocks;
    std::map<SlotNumber, std::pair<std::string, int>> before;
    for (int step = 0; step < 20; ++step) {
      std::vector<WantedClass> wanted = {{"a", static_cast<int>(random.below(4)), {}},
                                         {"b", static_cast<int>(random.below(3)), {}}};
      for (WantedClass& each : wanted)
        for (int node = 0; node < 5; ++node)
          if (random.chance(0.6)) each.nodes.push_back("n" + std::to_string(node));
      const bool settled = random.chance(0.1);
      blocks = next_blocks(blocks, wanted, settled);
      if (settled) before.clear();
      std::set<std::pair<std::string_view, int>> places;
      std::map<std::pair<std::string_view, std::string_view>, int> held;
      std::set<SlotNumber> bases;
      for (const Block& block : blocks) ASSERT_TRUE(bases.insert(block.base).second) << seed;
      std::set<SlotNumber> numbers;
      for (const Cell& cell : cells_of(blocks, wanted)) {
        ASSERT_TRUE(numbers.insert(cell.slot).second) << seed;
        ASSERT_TRUE(places.insert({cell.node, cell.on_node}).second) << seed;
        if (cell.wanted) ++held[{cell.slot_class, cell.node}];
        const auto known = before.find(cell.slot);
        const std::pair<std::string, int> place(cell.node, cell.on_node);
        if (known != before.end()) {
          ASSERT_EQ(known->second, place) << seed;
        }
        before[cell.slot] = place;
      }
      for (const WantedClass& each : wanted)
        for (const std::string& node : each.nodes) {
          const int count = held[std::pair<std::string_view, std::string_view>(each.name, node)];
          ASSERT_EQ(count, each.per_node) << seed;
        }
    }
  }
}

}  // namespace
}  // namespace berth::slots
