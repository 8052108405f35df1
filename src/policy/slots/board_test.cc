// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/board.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::slots {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A Testbed "tb" of two slots on each of n0 and n1; job A has slots 0, 1 and 2 of its run 1.
class Board : public testing::Test {
 protected:
  Board() {
    node("n0", "0");
    node("n1", "1");
    put(R"("kind":"Testbed","apiVersion":"batchjob.gcr.io/v1alpha1")", "tb", "tb-uid",
        R"("spec":{"nodeLabel":"tb","slotsPerNode":2,"resourcesPerSlot":{"cpu":"1"}})");
    ledger("0,1,2");
    job(R"("run":1)");
    for (int slot = 0; slot < 4; ++slot) ghost(slot);
    board.begin();
  }
  kube::Object parse(std::string_view kind, const std::string& name, const std::string& uid,
                     const std::string& rest, const std::string& metadata = "") {
    const auto made = kube::Object::parse(fmt::format(
        R"({{{},"metadata":{{"name":"{}","namespace":"default","uid":"{}","resourceVersion":"{}"{}}},{}}})",
        kind, name, uid, ++revision, metadata, rest));
    EXPECT_TRUE(made) << made.error().message;
    return *made;
  }
  void put(std::string_view kind, const std::string& name, const std::string& uid,
           const std::string& rest, const std::string& metadata = "") {
    board.put(parse(kind, name, uid, rest, metadata));
  }
  void node(const std::string& name, const std::string& label, std::string_view spec = "{}") {
    const auto made = kube::Object::parse(fmt::format(
        R"({{"kind":"Node","apiVersion":"v1","metadata":{{"name":"{}","uid":"{}","resourceVersion":"{}","labels":{{"tb":"{}"}}}},"spec":{},"status":{{"conditions":[{{"type":"Ready","status":"True"}}]}}}})",
        name, name, ++revision, label, spec));
    board.put(*made);
  }
  void ledger(const std::string& granted) {
    std::string rows;
    for (const char slot : granted)
      if (slot != ',')
        rows +=
            fmt::format(R"({}{{"slot":{},"grant":"{}"}})", rows.empty() ? "" : ",", slot, grant);
    put(R"("kind":"SlotLedger","apiVersion":"berth.dev/v1alpha1")", "tb", "ledger",
        fmt::format(
            R"("spec":{{"blocks":[{{"class":"default","base":0,"perNode":2,"nodes":["n0","n1"]}}],"grants":[{{"id":"{}","job":"default/a"}}],"slots":[{}]}})",
            grant, rows));
  }
  void job(const std::string& status, std::string_view slots = "0,1,2") {
    put(R"("kind":"BatchJob","apiVersion":"batchjob.gcr.io/v1alpha1")", "a", "0123456789ab-cdef",
        fmt::format(
            R"("spec":{{"activeScheduling":{{"name":"s"}},"creationRequest":{{"slotIds":[{}],"testbedName":{{"name":"tb"}},"run":1}}}},"status":{{{}}})",
            slots, status));
  }
  void ghost(int slot) {
    put(R"("kind":"Pod","apiVersion":"v1")", fmt::format("g{}", slot), fmt::format("g{}", slot),
        fmt::format(R"("spec":{{"nodeName":"n{}"}})", slot % 2),
        fmt::format(
            R"(,"labels":{{"{}":"tb","{}":"true"}},"annotations":{{"berth.dev/slot":"{}"}})",
            kube::kTestbedLabel, kube::kGhostLabel, slot));
  }
  kube::Object executor(const std::string& name, std::string_view node = "",
                        std::string_view slot = "") {
    return parse(
        R"("kind":"Pod","apiVersion":"v1")", name, name,
        node.empty() ? R"("spec":{})" : fmt::format(R"("spec":{{"nodeName":"{}"}})", node),
        fmt::format(
            R"(,"labels":{{"{}":"tb","{}":"{}"}}{})", kube::kTestbedLabel, kube::kGrantLabel, grant,
            slot.empty() ? "" : fmt::format(R"(,"annotations":{{"berth.dev/slot":"{}"}})", slot)));
  }
  std::string ask(const std::string& pod, std::string_view of = "") {
    const auto answer =
        board.ask({pod, std::string(of.empty() ? grant : of), {}}, WallTime{1'000'000'000});
    switch (answer.slot.kind) {
      case SlotAnswer::Kind::kNotOurs:
        return "not ours";
      case SlotAnswer::Kind::kWait:
        return "waits " + answer.why;
      case SlotAnswer::Kind::kSlot:
        return fmt::format("{} on {}", answer.slot.slot, answer.slot.node);
    }
    return "";
  }

  const std::string grant = "0123456789ab-1";
  std::uint64_t revision = 0;
  SlotBoard board;
};

TEST_F(Board, GivesTheLowestSlotThatNobodyHas) {
  EXPECT_EQ(ask("p"), "0 on n0");
  EXPECT_EQ(ask("p"), "0 on n0") << "asking takes nothing";
  board.put(executor("q", "n0", "0"));
  EXPECT_EQ(ask("p"), "1 on n1");
  EXPECT_EQ(ask("q"), "0 on n0") << "it sits there";
  board.remove(executor("q"));
  EXPECT_EQ(ask("p"), "0 on n0");
}

TEST_F(Board, ADoorsPromiseCountsUntilTheClusterShowsIt) {
  board.assume({{"default", "q"}, "q", grant, 0, "n0"});
  EXPECT_EQ(ask("p"), "1 on n1");
  EXPECT_EQ(ask("q"), "0 on n0");
  board.put(executor("q"));
  EXPECT_EQ(ask("p"), "1 on n1") << "the pod is seen, its node not yet";
  board.put(executor("q", "n1", "1"));
  EXPECT_EQ(ask("p"), "0 on n0") << "the cluster knows better";
  board.assume({{"default", "r"}, "r", grant, 0, "n0"});
  board.forget("r");
  EXPECT_EQ(ask("p"), "0 on n0");
}

TEST_F(Board, PinsOfTheJobsStatusArePromisesToo) {
  job(R"("run":1,"pins":[{"slot":0,"podUid":"q"}])");
  EXPECT_EQ(ask("p"), "1 on n1");
  EXPECT_EQ(ask("q"), "0 on n0");
}

TEST_F(Board, APinOfAPodThatIsGoneKeepsNobodyOut) {
  job(R"("run":1,"pins":[{"slot":0,"podUid":"q"}])");
  board.put(executor("q", "n0"));
  EXPECT_EQ(ask("p"), "1 on n1");
  board.remove(executor("q"));
  EXPECT_EQ(ask("p"), "0 on n0") << "its job's status is cleared later";
}

TEST_F(Board, OnlyOpenRunsAndOrderedSlotsAreServed) {
  job(R"("run":1)", "1,2");
  EXPECT_EQ(ask("p"), "1 on n1") << "0 is granted and not ordered";
  job(R"("run":1,"closedRun":1)");
  EXPECT_THAT(ask("p"), HasSubstr("is closed"));
  EXPECT_THAT(ask("p", "ffffffffffff-1"), HasSubstr("in no ledger"));
  EXPECT_EQ(board.ask({"p", "", {}}, WallTime{}).slot.kind, SlotAnswer::Kind::kNotOurs);
}

TEST_F(Board, NobodyIsServedBeforeAllIsKnown) {
  SlotBoard fresh;
  const auto answer = fresh.ask({"p", grant, {}}, WallTime{});
  EXPECT_EQ(answer.slot.kind, SlotAnswer::Kind::kWait);
  EXPECT_THAT(answer.why, HasSubstr("not known yet"));
}

TEST_F(Board, OlderStatesChangeNothing) {
  const kube::Object before = executor("q");
  board.put(executor("q", "n0", "0"));
  board.put(before);
  EXPECT_EQ(ask("p"), "1 on n1");
}

TEST_F(Board, ESI_130_ANodeThatChangesTouchesItsOwnTestbedsOnly) {
  put(R"("kind":"Testbed","apiVersion":"batchjob.gcr.io/v1alpha1")", "other", "other-uid",
      R"("spec":{"nodeLabel":"other","slotsPerNode":1,"resourcesPerSlot":{"cpu":"1"}})");
  std::vector<std::string> told;
  const auto listening = board.on_change([&](const Key& testbed) { told.push_back(testbed.name); });
  node("n0", "0", R"({"unschedulable":true})");
  EXPECT_THAT(told, ElementsAre("tb"));
  EXPECT_EQ(ask("p"), "1 on n1") << "n0 takes no pods";
  told.clear();
  node("n0", "0", R"({"unschedulable":true,"podCIDR":"10.0.0.0/24"})");
  EXPECT_THAT(told, IsEmpty()) << "slots do not depend on that";
  const std::size_t made = board.tables_made();
  ask("p");
  EXPECT_EQ(board.tables_made(), made);
}

TEST_F(Board, WhoIsAskedForCertainNodesNamesOneOfThem) {
  SlotBoard::Asked asked{"p", grant, {}};
  asked.nodes = {{"n1"}};
  EXPECT_EQ(board.ask(asked, WallTime{}).slot.node, "n1");
  asked.nodes->clear();
  EXPECT_EQ(board.ask(asked, WallTime{}).slot.kind, SlotAnswer::Kind::kWait);
}

}  // namespace
}  // namespace berth::slots
