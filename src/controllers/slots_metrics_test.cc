// SPDX-License-Identifier: Apache-2.0
#include "controllers/slots_metrics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kube/ours/ours.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr WallTime kNoon{1'790'000'000'000'000'000};

kube::Object parse(kube::KindId kind, std::string_view name, std::string_view rest,
                   std::string_view metadata = "") {
  return kube::Object::parse(
             kind, fmt::format(R"({{"metadata":{{"name":"{0}","namespace":"ns","uid":"u-{0}",)"
                               R"("creationTimestamp":"{1}"{2}}},{3}}})",
                               name, kube::time_text(kNoon), metadata, rest))
      .value();
}
kube::Object ledger(std::string_view grants, std::string_view slots) {
  return parse(
      kube::thesis_kinds().ledger, "tb",
      fmt::format(
          R"("spec":{{"blocks":[{{"class":"default","base":0,"perNode":2,"nodes":["n0"]}}],"grants":[{}],"slots":[{}]}})",
          grants, slots));
}
kube::Object pod(std::string_view name, std::string_view node, bool ghost) {
  return parse(kube::kPod, name,
               node.empty() ? R"("spec":{})" : fmt::format(R"("spec":{{"nodeName":"{}"}})", node),
               ghost ? fmt::format(R"(,"labels":{{"{}":"tb","{}":"true"}})", kube::kTestbedLabel,
                                   kube::kGhostLabel)
                     : fmt::format(R"(,"labels":{{"{}":"tb","{}":"g-1"}})", kube::kTestbedLabel,
                                   kube::kGrantLabel));
}
constexpr const char* kGrant = R"({"id":"0123456789ab-1","job":"ns/a","scheduling":"ns/s"})";

TEST(SlotsMetrics, CountSlotsByTheirState) {
  Metrics metrics;
  SlotsMetrics slots(metrics);
  slots.begin();
  const kube::Object there = parse(kube::thesis_kinds().testbed, "tb",
                                   R"("spec":{},"status":{"slotCounts":{"free":4,"occupied":2}})");
  slots.changed({nullptr, &there}, kNoon);
  EXPECT_THAT(metrics.exposition(), HasSubstr(R"(berth_slots{state="free",testbed="ns/tb"} 4)"));
  EXPECT_THAT(metrics.exposition(),
              HasSubstr(R"(berth_slots{state="occupied",testbed="ns/tb"} 2)"));
  slots.changed({&there, nullptr}, kNoon);
  EXPECT_THAT(metrics.exposition(), HasSubstr(R"(berth_slots{state="free",testbed="ns/tb"} 0)"));
}

TEST(SlotsMetrics, CountGrantsAndHowLongTheyWereWaitedFor) {
  Metrics metrics;
  SlotsMetrics slots(metrics);
  slots.begin();
  const kube::Object scheduling = parse(kube::thesis_kinds().scheduling, "s", R"("spec":{})");
  slots.changed({nullptr, &scheduling}, kNoon);
  const kube::Object empty = ledger("", ""),
                     one = ledger(kGrant, R"({"slot":0,"grant":"0123456789ab-1"})"),
                     two = ledger(kGrant, R"({"slot":0,"grant":"0123456789ab-1"},)"
                                          R"({"slot":1,"grant":"0123456789ab-1"})");
  slots.changed({nullptr, &empty}, kNoon);
  slots.changed({&empty, &one}, kNoon + 3s);
  slots.changed({&one, &two}, kNoon + 4s);
  slots.changed({&two, &empty}, kNoon + 9s);
  const std::string text = metrics.exposition();
  for (const char* result : {"granted", "resized", "released"})
    EXPECT_THAT(text, HasSubstr(fmt::format("berth_grants_total{{result=\"{}\"}} 1\n", result)));
  EXPECT_THAT(text, HasSubstr("berth_grant_wait_seconds_count 1\n"));
  EXPECT_THAT(text, HasSubstr("berth_grant_wait_seconds_sum 3\n"));
  EXPECT_THAT(text, HasSubstr(fmt::format("berth_ledger_bytes{{testbed=\"ns/tb\"}} {}\n",
                                          empty.json().size())));
}

TEST(SlotsMetrics, WhatATermFindsIsNotCountedAgain) {
  Metrics metrics;
  SlotsMetrics slots(metrics);
  slots.begin();
  const kube::Object there = ledger(kGrant, R"({"slot":0,"grant":"0123456789ab-1"})");
  slots.changed({nullptr, &there}, kNoon);
  EXPECT_THAT(metrics.exposition(), HasSubstr("berth_grants_total{result=\"granted\"} 0\n"));
}

TEST(SlotsMetrics, MeasureTheTimeBetweenAGhostAndItsExecutor) {
  Metrics metrics;
  SlotsMetrics slots(metrics);
  slots.begin();
  const kube::Object ghost = pod("ghost", "n0", true), other = pod("other", "n1", true),
                     waits = pod("e", "", false), bound = pod("e", "n0", false);
  for (const kube::Object* each : {&ghost, &other, &waits}) slots.changed({nullptr, each}, kNoon);
  slots.changed({&ghost, nullptr}, kNoon + 1s);
  slots.changed({&waits, &bound}, kNoon + 3s);
  EXPECT_THAT(metrics.exposition(), HasSubstr("berth_handover_seconds_sum 2\n"));
  // One that comes back was in nobody's way.
  slots.changed({&other, nullptr}, kNoon + 4s);
  slots.changed({nullptr, &other}, kNoon + 5s);
  const kube::Object late = pod("late", "n1", false);
  slots.changed({nullptr, &late}, kNoon + 6s);
  EXPECT_THAT(metrics.exposition(), HasSubstr("berth_handover_seconds_count 1\n"));
}

TEST(SlotsMetrics, ConflictsAreThoseOfLedgers) {
  Metrics metrics;
  SlotsMetrics slots(metrics);
  slots.outdated(kube::kPod);
  slots.outdated(kube::thesis_kinds().ledger);
  EXPECT_THAT(metrics.exposition(), HasSubstr("berth_ledger_conflicts_total 1\n"));
}

}  // namespace
}  // namespace berth::controllers
