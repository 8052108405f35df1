// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/victim_record.h"

#include <gtest/gtest.h>

namespace berth::scavenge {
namespace {

VictimRecord record() {
  return {.at = {1'700'000'000'123'456'000},
          .door = "extender",
          .pod_ns = "shop",
          .pod_name = "web",
          .pod_uid = "u-1",
          .node = "n3",
          .victims = {{.ns = "a",
                       .name = "x",
                       .uid = "u-2",
                       .pods = {"x-1-0", "x-1-1"},
                       .members = 4,
                       .cost = 120'500,
                       .lost = 90s,
                       .running_priority = 2,
                       .tier = -2000,
                       .reported = true}},
          .cost = 120'500,
          .stock_cost = 400'000,
          .exact = false,
          .nodes_looked_at = 7,
          .alternatives = {{.node = "n5", .cost = 90'000'000, .jobs = {"b/y"}, .top_tier = -1998}}};
}

TEST(VictimRecord, ReadsBackAsItWasWritten) {
  EXPECT_EQ(parse_victim_record(victim_record_json(record())), record());
  VictimRecord plain = record();
  plain.stock_cost.reset();
  plain.alternatives.clear();
  plain.because = "cpu: 9 of 10 in use, 7 are meant to be";
  EXPECT_EQ(parse_victim_record(victim_record_json(plain)), plain);
}

TEST(VictimRecord, IsOneSentence) {
  EXPECT_EQ(victim_text(record()),
            "1 job interrupted on n3 for shop/web: a/x (120.5 core-seconds); n5 would have lost 25 "
            "core-hours");
  VictimRecord many = record();
  VictimRecord full{.because = "cpu: 9 of 10 in use, 7 are meant to be",
                    .victims = record().victims};
  EXPECT_EQ(victim_text(full),
            "1 job interrupted because of cpu: 9 of 10 in use, 7 are meant to be: a/x (120.5 "
            "core-seconds)");
  many.victims.resize(5, many.victims.front());
  many.alternatives.clear();
  EXPECT_EQ(victim_text(many),
            "5 jobs interrupted on n3 for shop/web: a/x (120.5 core-seconds), a/x (120.5 "
            "core-seconds), a/x (120.5 core-seconds) and 2 more (120.5 core-seconds in all)");
}

TEST(VictimRecord, LeavesOutWhatIsTooMuchForAnAnnotation) {
  VictimRecord large = record();
  large.victims[0].pods.assign(1000, std::string(60, 'x'));
  large.victims.resize(3000, {.ns = "a", .name = "y"});
  large.alternatives.resize(5000, large.alternatives[0]);
  const std::string json = victim_record_json(large);
  EXPECT_LT(json.size(), 30'000u);
  EXPECT_EQ(parse_victim_record(json)->victims.size(), kMostVictims);
  EXPECT_EQ(parse_victim_record(json)->alternatives.size(), kMostAlternatives);
}

TEST(VictimRecord, WhatIsNoneIsNotTakenForOne) {
  for (const char* text : {"", "[]", "{}", "{", "null", R"({"at":"x","victims":[]})",
                           R"({"at":"2026-01-02T15:04:05Z","victims":{}})"})
    EXPECT_EQ(parse_victim_record(text), std::nullopt) << text;
  EXPECT_NE(parse_victim_record(R"({"at":"2026-01-02T15:04:05Z","victims":[1,{"members":1e99}]})"),
            std::nullopt);
}

}  // namespace
}  // namespace berth::scavenge
