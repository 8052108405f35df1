// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::SizeIs;

Controllers crons() {
  return [] { return *make_controllers({"cronjob-controller", "job-controller"}); };
}
void cron(Lab& lab, const std::string& spec) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"batch/v1","kind":"CronJob","metadata":{{"name":"tick","namespace":"default"}},"spec":{{"successfulJobsHistoryLimit":3,"failedJobsHistoryLimit":1,{},)"
      R"("jobTemplate":{{"spec":{{"parallelism":1,"completions":1,"selector":{{"matchLabels":{{"j":"tick"}}}},"template":{{"metadata":{{"labels":{{"j":"tick"}}}},"spec":{{"restartPolicy":"Never","containers":[{{"name":"main"}}]}}}}}}}}}}}})",
      spec)));
}

TEST(CronJobStory, RunsEveryMinuteAndKeepsTheLastThree) {
  Lab lab({.controllers = crons()});
  lab.life = [](const Object&) { return PodLife{.run = 10s}; };
  cron(lab, R"("schedule":"* * * * *")");
  lab.run(10min);
  int made = 0;
  for (const std::string& event : lab.events())
    made += event.starts_with("SuccessfulCreate: Created job") ? 1 : 0;
  EXPECT_GE(made, 9);
  EXPECT_LE(made, 11);
  EXPECT_LE(lab.names(kube::kJob).size(), 4u);
  EXPECT_GE(lab.names(kube::kJob).size(), 3u);
  const Object tick = lab.get(kube::kCronJob, {"default", "tick"});
  EXPECT_TRUE(tick.status()["lastScheduleTime"].present());
  EXPECT_TRUE(tick.status()["lastSuccessfulTime"].present());
}

TEST(CronJobStory, ForbidsWhileOneRuns) {
  Lab lab({.controllers = crons()});
  lab.life = [](const Object&) { return PodLife{.run = 150s}; };
  cron(lab, R"("schedule":"* * * * *","concurrencyPolicy":"Forbid")");
  for (int i = 0; i < 60; ++i) {
    lab.run(10s);
    int running = 0;
    for (const Object& job : lab.list(kube::kJob))
      running += job.status()["completionTime"].present() ? 0 : 1;
    EXPECT_LE(running, 1);
  }
  EXPECT_THAT(lab.names(kube::kJob), SizeIs(testing::Ge(3u)));
}

// Once, so that the end does not depend on how long it was away.
void once_a_day(Lab& lab) {
  lab.life = [](const Object&) { return PodLife{.run = 10s}; };
  cron(lab, R"("schedule":"@every 50m")");
  lab.run(80min);
}
TEST(CronJobCrashSweep, EndsTheSameWhereverItIsKilled) { crash_sweep({crons(), once_a_day}); }
TEST(CronJobFaultSweep, EndsTheSameWhateverTheWireDoes) {
  fault_sweep({crons(), [](Lab& lab) {
                 lab.life = [](const Object&) { return PodLife{.run = 10s}; };
                 cron(lab, R"("schedule":"@every 50m")");
                 lab.run(60min);
               }});
}

}  // namespace
}  // namespace berth::controllers::stories
