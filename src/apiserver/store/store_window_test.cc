// SPDX-License-Identifier: Apache-2.0
// How much history is kept, and that dropping it gives everything back.
#include <gmock/gmock.h>

#include "apiserver/store/store_lab.h"

namespace berth::apiserver {
namespace {

const kube::Key kWeb{"a", "web"};

std::size_t events(Lab& lab) { return lab.store().stats().events; }
kube::Object node(int number) {
  return *kube::Object::parse(kube::kNode,
                              fmt::format(R"({{"metadata":{{"name":"n{}"}}}})", number));
}

TEST(Window, AgeTakesAllButTheLastEvents) {
  Lab lab({.window = {.min_events = 10}});
  for (int i = 0; i < 30; ++i) lab.put(pod(kWeb));
  lab.world.run_for(74s);
  EXPECT_EQ(events(lab), 30u);
  lab.world.run_for(5min);
  EXPECT_EQ(events(lab), 10u);  // though nothing was written since
  EXPECT_EQ(lab.store().floor(kube::kPod), lab.store().published() - 10);
  EXPECT_EQ(lab.store().floor(kube::kNode), 1u);  // every kind has its own
}

TEST(Window, NothingIsTimedWhileThereIsNothingToDrop) {
  Lab lab({.window = {.min_events = 10}});
  for (int i = 0; i < 10; ++i) lab.put(pod(kWeb));
  lab.world.run_for(1h);
  EXPECT_EQ(events(lab), 10u);
  EXPECT_FALSE(lab.world.step());
}

TEST(Window, CountHoldsHoweverYoungTheEventsAre) {
  Lab lab({.window = {.min_events = 10, .max_events = 50}});
  for (int i = 0; i < 200; ++i) lab.put(pod(kWeb));
  EXPECT_EQ(events(lab), 50u);
}

TEST(Window, BytesHoldOverAllKindsAndTakeFromThoseWithEnoughFirst) {
  Lab lab({.window = {.min_events = 5, .max_bytes = 20'000}});
  for (int i = 0; i < 5; ++i) lab.put(node(i));
  for (int i = 0; i < 300; ++i) lab.put(pod(kWeb));
  EXPECT_LE(lab.store().stats().event_bytes, 20'000u);
  EXPECT_EQ(lab.store().floor(kube::kNode), 1u);
  EXPECT_GT(lab.store().floor(kube::kPod), 100u);
}

TEST(Window, BytesWinOverTheMinimum) {
  Lab lab({.window = {.min_events = 100, .max_bytes = 5'000}});
  for (int i = 0; i < 50; ++i) lab.put(pod(kWeb));
  EXPECT_LE(lab.store().stats().event_bytes, 5'000u);
  EXPECT_LT(events(lab), 50u);
  EXPECT_GT(lab.store().floor(kube::kPod), 1u);
}

TEST(Window, WhatIsDroppedIsFree) {
  Lab lab({.window = {.min_events = 0}});
  for (int i = 0; i < 20; ++i) {
    const kube::Key key{"a", fmt::format("p{}", i)};
    lab.put(pod(key, {.node = "n1", .owner = "u"}));
    lab.put(pod(key, {.node = "n2", .owner = "u"}));
    lab.erase(key);
  }
  EXPECT_EQ(events(lab), 60u);
  const kube::Revision then = 30;
  EXPECT_EQ(lab.store().list({.kind = kube::kPod, .plan = {.exactly = then}})->items.size(), 1u);
  lab.store().compact(lab.store().published());
  const StoreStats stats = lab.store().stats();
  EXPECT_EQ(stats.events, 0u);
  EXPECT_EQ(stats.event_bytes, 0u);
  EXPECT_EQ(stats.objects, 0u);
  auto run = lab.store().begin_list({.kind = kube::kPod});
  EXPECT_TRUE(*run->step(0));  // not one entry is left to visit
  auto by_node =
      lab.store().begin_list({.kind = kube::kPod, .selector = select("", "spec.nodeName=n1")});
  EXPECT_TRUE(*by_node->step(0));
}

TEST(Window, ANewObjectUnderAnOldNameOutlivesTheHistoryOfTheOldOne) {
  Lab lab({.window = {.min_events = 0}});
  lab.put(pod(kWeb, {.uid = "1"}));
  lab.erase(kWeb);
  lab.put(pod(kWeb, {.uid = "2"}));
  lab.store().compact(3);
  EXPECT_EQ(lab.store().get(kube::kPod, kWeb)->uid(), "2");
  EXPECT_EQ(lab.store().list({.kind = kube::kPod, .plan = {.exactly = 3}})->items.size(), 0u);
  lab.store().compact(4);
  EXPECT_EQ(lab.store().get(kube::kPod, kWeb)->uid(), "2");
}

TEST(Window, ADeletionDroppedWhileItsSuccessorIsOnItsWayLeavesNothingIfThatFails) {
  HeldJournal journal;
  Lab lab({}, &journal);
  lab.start(put(pod(kWeb)));
  journal.held.back()(Ok{});
  lab.settle();
  lab.start(erase(kube::kPod, kWeb));
  journal.held.back()(Ok{});
  lab.settle();
  lab.start(put(pod(kWeb)));  // not answered yet
  lab.store().compact(lab.store().published());
  EXPECT_EQ(lab.store().get(kube::kPod, kWeb), nullptr);
  EXPECT_NE(lab.store().get(kube::kPod, kWeb, View::kTip), nullptr);
  journal.held.back()(fail(Reason::kInternalError, "full"));
  lab.settle();
  EXPECT_EQ(lab.store().get(kube::kPod, kWeb, View::kTip), nullptr);
  auto run = lab.store().begin_list({.kind = kube::kPod});
  EXPECT_TRUE(*run->step(0));
}

}  // namespace
}  // namespace berth::apiserver
