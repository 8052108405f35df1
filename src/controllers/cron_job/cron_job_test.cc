// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "kube/time.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

using kube::kCronJob;
using kube::kJob;
using kube::Object;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

WallTime at(const char* text) { return *kube::parse_time(text); }

class CronJobTest : public testing::Test {
 protected:
  void cron(const std::string& spec, const std::string& status = "") {
    objects.add(
        kCronJob,
        fmt::format(
            R"({{"metadata":{{"name":"tick","namespace":"ns","uid":"c","creationTimestamp":"2026-01-01T00:00:30Z"}},"spec":{{"jobTemplate":{{"metadata":{{"labels":{{"l":"v"}},"annotations":{{"a":"b"}}}},"spec":{{"template":{{}}}}}}{}}},"status":{{{}}}}})",
            spec, status));
  }
  void job(const std::string& name, const std::string& scheduled, const std::string& status = "") {
    objects.add(
        kJob,
        fmt::format(
            R"({{"metadata":{{"name":"{0}","namespace":"ns","uid":"{0}","resourceVersion":"5","annotations":{{"batch.kubernetes.io/cronjob-scheduled-timestamp":"{1}"}},"ownerReferences":[{{"apiVersion":"batch/v1","kind":"CronJob","name":"tick","uid":"c","controller":true}}]}},"spec":{{}},"status":{{{2}}}}})",
            name, scheduled, status));
  }
  std::string text(const char* now) { return objects.reconcile({"ns", "tick"}, at(now)).text(); }
  std::vector<std::unique_ptr<runtime::Controller>> controllers =
      *make_controllers({"cronjob-controller"});
  runtime::Objects objects{*controllers[0]};
};

constexpr const char* kMinutely = R"(,"schedule":"* * * * *")";

TEST_F(CronJobTest, MakesAJobWhenItIsDueAndNotBefore) {
  cron(kMinutely);
  EXPECT_EQ(text("2026-01-01T00:00:59Z"), "again at 2026-01-01T00:01:00Z\n");
  EXPECT_EQ(
      text("2026-01-01T00:01:00Z"),
      "create jobs ns/tick-29453761\nevent SuccessfulCreate: Created job tick-29453761\nagain "
      "at 2026-01-01T00:02:00Z\n");
  const auto made = objects.reconcile({"ns", "tick"}, at("2026-01-01T00:01:00Z"));
  EXPECT_EQ(
      std::get<runtime::CreateAction>(made.actions()[0]).json,
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"tick-29453761","namespace":"ns","labels":{"l":"v"},"annotations":{"a":"b","batch.kubernetes.io/cronjob-scheduled-timestamp":"2026-01-01T00:01:00Z"},)"
      R"("ownerReferences":[{"apiVersion":"batch/v1","kind":"CronJob","name":"tick","uid":"c","controller":true,"blockOwnerDeletion":true}]},"spec":{"template":{}}})");
  // It is there, and the status learns of it; killed in between, nothing is made twice.
  job("tick-29453761", "2026-01-01T00:01:00Z");
  EXPECT_EQ(
      text("2026-01-01T00:01:01Z"),
      R"(patch cronjobs ns/tick/status: {"status":{"active":[{"kind":"Job","namespace":"ns","name":"tick-29453761","uid":"tick-29453761","apiVersion":"batch/v1","resourceVersion":"5"}],"lastScheduleTime":"2026-01-01T00:01:00Z"}})"
      "\nagain at 2026-01-01T00:02:00Z\n");
}

TEST_F(CronJobTest, ItsJobsTellTheTimeInItsZone) {
  cron(R"(,"schedule":"0 9 * * *","timeZone":"Etc/GMT-5")");
  EXPECT_EQ(text("2026-01-01T03:59:00Z"), "again at 2026-01-01T04:00:00Z\n");
  const auto made = objects.reconcile({"ns", "tick"}, at("2026-01-01T04:00:00Z"));
  EXPECT_THAT(
      std::get<runtime::CreateAction>(made.actions()[0]).json,
      HasSubstr(
          R"("batch.kubernetes.io/cronjob-scheduled-timestamp":"2026-01-01T09:00:00+05:00")"));
}

TEST_F(CronJobTest, WhatWasMissedIsCaughtUpOnce) {
  cron(kMinutely, R"("lastScheduleTime":"2026-01-01T00:01:00Z")");
  EXPECT_THAT(text("2026-01-01T00:05:30Z"), HasSubstr("create jobs ns/tick-29453765"));
  EXPECT_THAT(text("2026-01-01T10:00:00Z"), HasSubstr("event TooManyMissedTimes"));
  cron(R"(,"schedule":"0 * * * *","startingDeadlineSeconds":60)",
       R"("lastScheduleTime":"2026-01-01T00:00:00Z")");
  EXPECT_EQ(text("2026-01-01T01:30:00Z"), "again at 2026-01-01T02:00:00Z\n") << "too late for that";
  cron(R"(,"schedule":"0 * * * *","suspend":true)");
  EXPECT_EQ(text("2026-01-01T01:30:00Z"), "");
}

TEST_F(CronJobTest, RunsSideBySideOrNotAsThePolicySays) {
  const char* kOne =
      R"("lastScheduleTime":"2026-01-01T00:01:00Z","active":[{"name":"tick-29453761","uid":"tick-29453761"}])";
  job("tick-29453761", "2026-01-01T00:01:00Z");
  cron(std::string(kMinutely) + R"(,"concurrencyPolicy":"Forbid")", kOne);
  EXPECT_EQ(text("2026-01-01T00:02:00Z"),
            "event JobAlreadyActive: Not starting job because prior execution is running and "
            "concurrency policy is Forbid\nagain at 2026-01-01T00:03:00Z\n");
  cron(std::string(kMinutely) + R"(,"concurrencyPolicy":"Replace")", kOne);
  EXPECT_THAT(text("2026-01-01T00:02:00Z"),
              testing::AllOf(HasSubstr("erase jobs ns/tick-29453761"),
                             HasSubstr("create jobs ns/tick-29453762")));
  cron(std::string(kMinutely) + R"(,"concurrencyPolicy":"Allow")", kOne);
  EXPECT_THAT(text("2026-01-01T00:02:00Z"), testing::StartsWith("create jobs ns/tick-29453762"));
}

TEST_F(CronJobTest, KeepsAFewOfThoseThatEnded) {
  cron(
      R"(,"schedule":"@yearly","successfulJobsHistoryLimit":1,"failedJobsHistoryLimit":0)",
      R"("lastScheduleTime":"2026-01-01T00:03:00Z","active":[{"name":"tick-29453763","uid":"tick-29453763"}])");
  const auto done = [](const char* type, int minute) {
    return fmt::format(
        R"("startTime":"2026-01-01T00:0{1}:00Z","completionTime":"2026-01-01T00:0{1}:30Z","conditions":[{{"type":"{0}","status":"True"}}])",
        type, minute);
  };
  job("tick-29453761", "2026-01-01T00:01:00Z", done("Complete", 1));
  job("tick-29453762", "2026-01-01T00:02:00Z", done("Failed", 2));
  job("tick-29453763", "2026-01-01T00:03:00Z", done("Complete", 3));
  EXPECT_EQ(
      text("2026-01-01T00:04:00Z"),
      "event SawCompletedJob: Saw completed job: tick-29453763, condition: Complete\n"
      R"(patch cronjobs ns/tick/status: {"status":{"active":null,"lastSuccessfulTime":"2026-01-01T00:03:30Z"}})"
      "\nerase jobs ns/tick-29453761\nevent SuccessfulDelete: Deleted job tick-29453761\n"
      "erase jobs ns/tick-29453762\nevent SuccessfulDelete: Deleted job tick-29453762\n"
      "again at 2027-01-01T00:00:00Z\n");
}

TEST_F(CronJobTest, AnActiveJobThatVanishedIsForgotten) {
  cron(R"(,"schedule":"@yearly")",
       R"("lastScheduleTime":"2026-01-01T00:03:00Z","active":[{"name":"tick-1","uid":"u"}])");
  EXPECT_EQ(text("2026-01-01T00:04:00Z"), "ask job u\n");
  runtime::Answer gone;
  gone.error = Error{.reason = Reason::kNotFound, .message = "gone"};
  objects.memory.answers["job u"] = gone;
  EXPECT_THAT(text("2026-01-01T00:04:00Z"),
              testing::AllOf(HasSubstr("event MissingJob: Active job went missing: tick-1"),
                             HasSubstr(R"({"active":null})")));
}

TEST_F(CronJobTest, SaysWhatItCannotRead) {
  cron(R"(,"schedule":"61 * * * *")");
  EXPECT_EQ(text("2026-01-01T00:04:00Z"),
            "event UnparseableSchedule: unparseable schedule: \"61 * * * *\" : end of range (61) "
            "above maximum (59): 61\n");
  cron(R"(,"schedule":"@daily","timeZone":"Mars/Base")");
  EXPECT_THAT(text("2026-01-01T00:04:00Z"),
              HasSubstr("event UnknownTimeZone: invalid timeZone: \"Mars/Base\": unknown time zone "
                        "Mars/Base"));
}

}  // namespace
}  // namespace berth::controllers
