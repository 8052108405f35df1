// SPDX-License-Identifier: Apache-2.0
#include "gateway/dto.h"

#include <gmock/gmock.h>

namespace berth::gateway {
namespace {

using testing::HasSubstr;

kube::Object of(Topic topic, std::string_view json) {
  return kube::Object::parse(kind_of(topic), json).value();
}

TEST(Dto, AJobsFurthestStateIsShown) {
  const std::string shown = scheduling_dto(of(Topic::kSchedulings, R"({
      "metadata":{"name":"s","namespace":"n","resourceVersion":"7"},
      "spec":{"testbed":{"name":"tb","namespace":"n"},"queueBased":[{"name":"a"},{"name":"b"}]},
      "status":{"state":"Submitting","jobStates":[
        {"name":"a","state":"InQueue"},{"name":{"name":"b","namespace":"n"},"state":"Acquiring"},
        {"name":"a","state":"Scheduled"},{"name":"a","state":"Submitted"}]}})"));
  EXPECT_THAT(shown,
              testing::StartsWith(
                  R"({"name":"s","namespace":"n","resourceVersion":"7","state":"Submitting",)"
                  R"("jobStatus":[{"name":"a","state":"Scheduled"},)"
                  R"({"name":"b","state":"Acquiring"}],)"
                  R"("testBed":"tb","queue":["a","b"],"slots":null)"));
}

TEST(Dto, ASchedulingSaysHowFarItIs) {
  EXPECT_THAT(scheduling_dto(of(Topic::kSchedulings, R"({
      "metadata":{"name":"s","namespace":"n"},
      "spec":{"testbed":{"name":"tb"},"slotBased":{"mode":"strict","jobs":[
        {"name":{"name":"a"},"slotIds":[0,1]},{"name":{"name":"b"},"slotIds":[1]}]}},
      "status":{"jobStates":[
        {"name":"a","namespace":"n","state":"Completed","lastRun":1,"used":2},
        {"name":"b","namespace":"n","state":"InQueue"}]}})")),
              HasSubstr(R"("progress":{"jobs":2,"completed":1,"entries":3,"used":2})"));
}

TEST(Dto, AJobShowsItsKindAndItsOpenRun) {
  const std::string shown = job_dto(of(Topic::kJobs, R"({
      "metadata":{"name":"a","namespace":"n"},"spec":{"flinkSpec":{}},
      "status":{"state":"Running","run":3,"closedRun":2,"slots":"tb","slotIds":[0,3],
        "startTime":"2026-01-01T00:00:00Z"}})"));
  EXPECT_THAT(shown, HasSubstr(R"("kind":"FlinkDeployment")"));
  EXPECT_THAT(shown, HasSubstr(R"("run":{"run":3,"slotIds":[0,3],"testbed":"tb",)"
                               R"("start":"2026-01-01T00:00:00Z"})"));
}

TEST(Dto, AConditionThatSaysWhatIsWrongCarriesItsRemedy) {
  const std::string shown = testbed_dto(of(Topic::kTestbeds, R"({
      "metadata":{"name":"a","namespace":"n"},"status":{"conditions":[
        {"type":"Ready","status":"False","reason":"NoRoom"},
        {"type":"Conflicted","status":"False","reason":"NoConflict"}]}})"));
  EXPECT_THAT(shown, HasSubstr(R"("reason":"NoRoom","remedy":"Make the slots smaller)"));
  EXPECT_THAT(shown, HasSubstr(R"("reason":"NoConflict"})"));
}

TEST(Dto, WhatHasNoStatusYetIsInItsFirstState) {
  EXPECT_THAT(job_dto(of(Topic::kJobs, R"({"metadata":{"name":"a","namespace":"n"}})")),
              HasSubstr(R"("state":"Ready","externalScheduler":{},"scheduledEvents":[])"));
  EXPECT_THAT(
      testbed_dto(of(Topic::kTestbeds, R"({"metadata":{"name":"a","namespace":"n"}})")),
      HasSubstr(
          R"("state":"INITIAL","numberOfNodes":0,"numberOfSlotsPerNode":0,"slotsByNode":{})"));
}

TEST(Dto, ReplacingTakesTheOtherStrategyAway) {
  const auto wanted = scheduling_from(R"({"name":"s","testBed":"tb","queue":["a"]})", "n", "alice");
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->name, "s");
  EXPECT_EQ(
      wanted->patch,
      R"({"metadata":{"annotations":{"berth.dev/requested-by":"alice"}},"spec":{"testbed":)"
      R"({"name":"tb","namespace":"n"},"queueBased":[{"name":"a","namespace":"n"}],"slotBased":null}})");
  EXPECT_THAT(wanted->manifest, testing::Not(HasSubstr("slotBased")));
}

TEST(Dto, JobDataIsAnObjectOrNothing) {
  EXPECT_EQ(job_data_from(R"({"name":"a"})")->external_scheduler, "null");
  EXPECT_EQ(job_data_from(R"({"name":"a","externalScheduler":{"x":[]}})")->external_scheduler,
            R"({"x":[]})");
  for (const char* bad :
       {"", "[]", "{}", R"({"name":""})", R"({"name":"a","externalScheduler":1})"})
    EXPECT_FALSE(job_data_from(bad)) << bad;
}

}  // namespace
}  // namespace berth::gateway
