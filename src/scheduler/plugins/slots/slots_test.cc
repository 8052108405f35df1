// SPDX-License-Identifier: Apache-2.0
// What the plugin makes of the board's answers; whole stories are in tests/doors.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kube/ours/ours.h"
#include "policy/slots/board.h"
#include "scheduler/plugins/plugin_bench.h"
#include "scheduler/plugins/test_services.h"

namespace berth::scheduler {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kGrant = "0123456789ab-1";

// Slot 0 of n0 and slot 1 of n1 are granted to job a.
class SlotsPlugin : public ::testing::Test {
 protected:
  SlotsPlugin() {
    for (int i = 0; i < 2; ++i)
      put(fmt::format(
          R"({{"kind":"Node","apiVersion":"v1","metadata":{{"name":"n{0}","uid":"n{0}","labels":{{"tb":"{0}"}}}},"status":{{"conditions":[{{"type":"Ready","status":"True"}}]}}}})",
          i));
    put(R"({"kind":"Testbed","apiVersion":"batchjob.gcr.io/v1alpha1","metadata":{"name":"tb","namespace":"default","uid":"t"},"spec":{"nodeLabel":"tb","slotsPerNode":1,"resourcesPerSlot":{"cpu":"1"}}})");
    put(fmt::format(
        R"({{"kind":"SlotLedger","apiVersion":"berth.dev/v1alpha1","metadata":{{"name":"tb","namespace":"default","uid":"l"}},"spec":{{"blocks":[{{"class":"default","base":0,"perNode":1,"nodes":["n0","n1"]}}],"grants":[{{"id":"{0}","job":"default/a"}}],"slots":[{{"slot":0,"grant":"{0}"}},{{"slot":1,"grant":"{0}"}}]}}}})",
        kGrant));
    put(R"({"kind":"BatchJob","apiVersion":"batchjob.gcr.io/v1alpha1","metadata":{"name":"a","namespace":"default","uid":"0123456789ab-cdef"},"spec":{"activeScheduling":{"name":"s"},"creationRequest":{"slotIds":[0,1],"testbedName":{"name":"tb"},"run":1}},"status":{"run":1}})");
    board.begin();
    services.board = &board;
  }
  void put(const std::string& json) {
    const auto object = kube::Object::parse(json);
    ASSERT_TRUE(object) << object.error().message;
    board.put(*object);
  }
  static PodPtr executor(const std::string& name) {
    return pod(name).label(kube::kGrantLabel, kGrant);
  }

  slots::SlotBoard board;
  TestServices services;
};

TEST_F(SlotsPlugin, LooksAtPodsWithAGrantOnly) {
  PluginBench bench("Slots", {}, &services);
  bench.with(node("n0")).with(node("n1"));
  EXPECT_TRUE(bench.skips(pod("ordinary")));
  EXPECT_FALSE(bench.skips(executor("e")));
  PluginBench nobody("Slots");
  nobody.with(node("n0"));
  EXPECT_TRUE(nobody.skips(executor("e"))) << "where nobody follows slots";
}

TEST_F(SlotsPlugin, KeepsAnExecutorFromEveryNodeButItsSlots) {
  PluginBench bench("Slots", {}, &services);
  bench.with(node("n0")).with(node("n1"));
  const std::string no =
      "UnschedulableAndUnresolvable: node(s) didn't hold the slot that the pod was granted";
  EXPECT_EQ(bench.filter(executor("e")), (Verdicts{{"n0", ""}, {"n1", no}}));
}

TEST_F(SlotsPlugin, AReservedSlotIsAnothersUntilItIsGivenBack) {
  PluginBench bench("Slots", {}, &services);
  bench.with(node("n0")).with(node("n1"));
  const auto first = bench.attempt(executor("first"));
  ASSERT_TRUE(bench.profile().prepare(first->cycle).status.ok());
  ASSERT_TRUE(bench.as<Reserve>().reserve(first->cycle, "n0").ok());
  const auto named = [&](const std::string& name) {
    const auto attempt = bench.attempt(executor(name));
    return bench.profile().prepare(attempt->cycle).named.value_or(std::vector<std::string>());
  };
  EXPECT_THAT(named("second"), ElementsAre("n1"));
  EXPECT_THAT(named("first"), ElementsAre("n0")) << "it has it already";
  bench.as<Reserve>().unreserve(first->cycle, "n0");
  EXPECT_THAT(named("second"), ElementsAre("n0"));
}

TEST_F(SlotsPlugin, SaysSlotBySlotWhyAPodWaitsAndEvictsNobodyForIt) {
  PluginBench bench("Slots", {}, &services);
  bench.with(node("n0")).with(node("n1"));
  board.assume({{"default", "x"}, "x", kGrant, 0, "n0"});
  board.assume({{"default", "y"}, "y", kGrant, 1, "n1"});
  const auto attempt = bench.attempt(executor("e"));
  const auto prepared = bench.profile().prepare(attempt->cycle);
  EXPECT_EQ(prepared.status.code, Code::kUnresolvable);
  EXPECT_THAT(prepared.status.message(),
              HasSubstr("slot 0 on n0: default/x runs there; slot 1 on n1: default/y runs there"));
  EXPECT_THAT(services.events, ElementsAre(HasSubstr("NoFreeSlot")));
  EXPECT_EQ(bench.as<PostFilter>().post_filter(attempt->cycle, {}).status.code,
            Code::kUnresolvable);
  const auto ordinary = bench.attempt(pod("ordinary"));
  EXPECT_EQ(bench.as<PostFilter>().post_filter(ordinary->cycle, {}).status.code,
            Code::kUnschedulable)
      << "others are preempted for as ever";
}

}  // namespace
}  // namespace berth::scheduler
