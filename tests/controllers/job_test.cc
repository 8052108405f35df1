// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "kube/pod_view.h"
#include "kube/time.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using testing::Contains;
using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const Key kSum{"default", "sum"};

Controllers jobs() {
  return [] { return *make_controllers({"job-controller"}); };
}
void job(Lab& lab, const std::string& spec) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"sum","namespace":"default"}},)"
      R"("spec":{{"selector":{{"matchLabels":{{"j":"sum"}}}},"template":{{"metadata":{{"labels":{{"j":"sum"}}}},"spec":{{"restartPolicy":"Never","containers":[{{"name":"main"}}]}}}},{}}}}})",
      spec)));
}
json::Slice status(Lab& lab, Object& keep) {
  keep = lab.get(kube::kJob, kSum);
  return keep.status();
}
std::int64_t number(Lab& lab, const char* field) {
  Object keep;
  return status(lab, keep)[field].integer().value_or(0);
}
std::string text(Lab& lab, const char* field) {
  Object keep;
  return status(lab, keep)[field].text();
}
// "True BackoffLimitExceeded: Job has …", or "" where there is none.
std::string condition(Lab& lab, const char* type) {
  Object keep;
  const json::Slice one = kube::find_condition(status(lab, keep), type);
  if (!one) return "";
  return fmt::format("{} {}: {}", one["status"].text(), one["reason"].text(),
                     one["message"].text());
}
int tracked(Lab& lab) {
  int count = 0;
  for (const Object& pod : lab.list(kube::kPod)) count += static_cast<int>(pod.finalizers().size());
  return count;
}
int index_of(const Object& pod) {
  return std::stoi(pod.annotation("batch.kubernetes.io/job-completion-index"));
}

TEST(JobStory, RunsToItsEnd) {
  Lab lab({.controllers = jobs()});
  lab.life = [](const Object&) { return PodLife{.run = 5s}; };
  job(lab, R"("parallelism":2,"completions":3)");
  lab.run(500ms);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(2));
  EXPECT_EQ(number(lab, "active"), 2);
  lab.run(2s);
  EXPECT_EQ(number(lab, "ready"), 2);
  lab.run(1min);
  EXPECT_EQ(number(lab, "succeeded"), 3);
  EXPECT_EQ(number(lab, "active"), 0);
  EXPECT_EQ(condition(lab, "Complete"),
            "True CompletionsReached: Reached expected number of succeeded pods");
  EXPECT_EQ(condition(lab, "SuccessCriteriaMet"), condition(lab, "Complete"));
  EXPECT_NE(text(lab, "completionTime"), "");
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(3)) << "they stay to be looked at";
  EXPECT_EQ(tracked(lab), 0);
  EXPECT_THAT(lab.events(), Contains("Completed: Job completed").Times(1));
  EXPECT_TRUE(lab.home().idle());
}

TEST(JobStory, PodsOfAWorkQueueDecideWhenTheWorkIsDone) {
  Lab lab({.controllers = jobs()});
  int made = 0;
  std::map<std::string, int> order;
  lab.life = [&](const Object& pod) {
    const auto [at, first] = order.try_emplace(std::string(pod.name()), made);
    made += first ? 1 : 0;
    return PodLife{.run = at->second == 0 ? 2s : 30s};
  };
  job(lab, R"("parallelism":3)");
  lab.run(10s);
  EXPECT_EQ(number(lab, "succeeded"), 1);
  EXPECT_EQ(number(lab, "active"), 2) << "no new ones, and the others may finish";
  EXPECT_EQ(condition(lab, "Complete"), "");
  lab.run(1min);
  EXPECT_EQ(number(lab, "succeeded"), 3);
  EXPECT_NE(condition(lab, "Complete"), "");
}

TEST(JobStory, WaitsLongerAndLongerUntilItGivesUp) {
  Lab lab({.controllers = jobs()});
  lab.life = [](const Object&) { return PodLife{.run = 1s, .fails = true}; };
  job(lab, R"("parallelism":1,"completions":1,"backoffLimit":2)");
  lab.run(10s);
  EXPECT_EQ(number(lab, "failed"), 1);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(1));
  lab.run(10s);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(2)) << "after 10 s";
  EXPECT_EQ(number(lab, "failed"), 2);
  lab.run(10s);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(2));
  lab.run(30s);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(3)) << "after 20 s more";
  EXPECT_EQ(number(lab, "failed"), 3);
  EXPECT_EQ(condition(lab, "Failed"),
            "True BackoffLimitExceeded: Job has reached the specified backoff limit");
  EXPECT_EQ(tracked(lab), 0);
  EXPECT_THAT(lab.events(),
              Contains("BackoffLimitExceeded: Job has reached the specified backoff limit"));
}

TEST(JobStory, APodThatIsTakenAwayIsReplacedAfterTheWaitAndCounted) {
  Lab lab({.controllers = jobs()});
  job(lab, R"("parallelism":1,"completions":1)");
  lab.run(5s);
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", lab.names(kube::kPod)[0]}));
  lab.run(5s);
  EXPECT_THAT(lab.names(kube::kPod), IsEmpty());
  EXPECT_EQ(number(lab, "failed"), 1);
  lab.run(10s);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(1));
  EXPECT_EQ(number(lab, "active"), 1);
}

TEST(JobStory, IndexesCompleteEachForItself) {
  Lab lab({.controllers = jobs()});
  lab.life = [](const Object& pod) { return PodLife{.run = (index_of(pod) % 3 + 1) * 1s}; };
  job(lab, R"("parallelism":4,"completions":10,"completionMode":"Indexed")");
  lab.run(3s);
  EXPECT_NE(text(lab, "completedIndexes"), "0-9");
  lab.run(1min);
  EXPECT_EQ(text(lab, "completedIndexes"), "0-9");
  EXPECT_EQ(number(lab, "succeeded"), 10);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(10));
  EXPECT_EQ(tracked(lab), 0);
}

TEST(JobStory, IndexesFailEachForItself) {
  Lab lab({.controllers = jobs()});
  lab.life = [](const Object& pod) {
    return PodLife{.run = 1s, .fails = index_of(pod) == 1 || index_of(pod) == 2};
  };
  job(lab,
      R"("parallelism":5,"completions":5,"completionMode":"Indexed","backoffLimit":2147483647,"backoffLimitPerIndex":1)");
  lab.run(2min);
  EXPECT_EQ(text(lab, "completedIndexes"), "0,3,4");
  EXPECT_EQ(text(lab, "failedIndexes"), "1,2");
  EXPECT_EQ(number(lab, "failed"), 4) << "twice each";
  EXPECT_EQ(condition(lab, "Failed"), "True FailedIndexes: Job has failed indexes");
  EXPECT_EQ(tracked(lab), 0);
}

TEST(JobStory, TooManyFailedIndexesEndTheJobAtOnce) {
  Lab lab({.controllers = jobs()});
  lab.life = [](const Object& pod) {
    return index_of(pod) < 2 ? PodLife{.run = 1s, .fails = true} : PodLife{};
  };
  job(lab,
      R"("parallelism":4,"completions":4,"completionMode":"Indexed","backoffLimit":2147483647,"backoffLimitPerIndex":0,"maxFailedIndexes":1)");
  lab.run(30s);
  EXPECT_EQ(condition(lab, "Failed"),
            "True MaxFailedIndexesExceeded: Job has exceeded the specified maximal number of "
            "failed indexes");
  EXPECT_EQ(text(lab, "failedIndexes"), "0,1");
  EXPECT_EQ(number(lab, "failed"), 4);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(2)) << "those that ran are gone";
}

TEST(JobStory, ExitCodesDecideWhatAFailureMeans) {
  Lab lab({.controllers = jobs()});
  std::map<std::string, int> order;
  lab.life = [&](const Object& pod) {
    const int at =
        order.try_emplace(std::string(pod.name()), static_cast<int>(order.size())).first->second;
    return PodLife{.run = 1s, .fails = true, .exit_code = at == 0 ? 3 : 42};
  };
  job(lab,
      R"("parallelism":1,"completions":1,"backoffLimit":0,"podFailurePolicy":{"rules":[{"action":"Ignore","onExitCodes":{"operator":"In","values":[3]}},{"action":"FailJob","onExitCodes":{"containerName":"main","operator":"In","values":[42]}}]})");
  lab.run(5s);
  EXPECT_EQ(number(lab, "failed"), 0) << "ignored";
  EXPECT_EQ(condition(lab, "Failed"), "");
  lab.run(1min);
  EXPECT_EQ(number(lab, "failed"), 1);
  EXPECT_THAT(condition(lab, "Failed"),
              testing::MatchesRegex("True PodFailurePolicy: Container main for pod "
                                    "default/sum-[a-z0-9]+ failed with exit code 42 matching "
                                    "FailJob rule at index 1"));
}

TEST(JobStory, ASuccessPolicyIsEnough) {
  Lab lab({.controllers = jobs()});
  lab.life = [](const Object& pod) { return index_of(pod) == 1 ? PodLife{.run = 2s} : PodLife{}; };
  job(lab,
      R"("parallelism":3,"completions":3,"completionMode":"Indexed","successPolicy":{"rules":[{"succeededIndexes":"0-1","succeededCount":1}]})");
  lab.run(30s);
  EXPECT_EQ(condition(lab, "Complete"), "True SuccessPolicy: Matched rules at index 0");
  EXPECT_EQ(number(lab, "succeeded"), 1);
  EXPECT_EQ(number(lab, "failed"), 0) << "those that were not needed have not failed";
  EXPECT_EQ(number(lab, "terminating"), 0);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(1));
}

TEST(JobStory, OnlyAnEndedPodIsReplacedWhereThatIsAsked) {
  Lab lab({.controllers = jobs()});
  lab.life = [](const Object&) { return PodLife{.stop = 20s}; };
  job(lab, R"("parallelism":1,"completions":1,"podReplacementPolicy":"Failed")");
  lab.run(5s);
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", lab.names(kube::kPod)[0]}));
  lab.run(15s);
  EXPECT_EQ(number(lab, "terminating"), 1);
  EXPECT_EQ(number(lab, "active"), 0);
  EXPECT_EQ(number(lab, "failed"), 0);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(1));
  lab.run(40s);
  EXPECT_EQ(number(lab, "failed"), 1);
  EXPECT_EQ(number(lab, "active"), 1);
}

TEST(JobStory, ActivityHasADeadlineAndSuspensionStopsTheClock) {
  Lab lab({.controllers = jobs()});
  job(lab, R"("parallelism":2,"completions":2,"activeDeadlineSeconds":60)");
  lab.run(50s);
  ASSERT_TRUE(lab.patch(kube::kJob, kSum, R"({"spec":{"suspend":true}})"));
  lab.run(50s);
  EXPECT_EQ(condition(lab, "Suspended"), "True JobSuspended: Job suspended");
  EXPECT_THAT(lab.names(kube::kPod), IsEmpty());
  EXPECT_EQ(number(lab, "failed"), 0) << "suspended pods have not failed";
  EXPECT_EQ(text(lab, "startTime"), "");
  ASSERT_TRUE(lab.patch(kube::kJob, kSum, R"({"spec":{"suspend":false}})"));
  lab.run(50s);
  EXPECT_EQ(condition(lab, "Suspended"), "False JobResumed: Job resumed");
  EXPECT_EQ(number(lab, "active"), 2);
  EXPECT_EQ(condition(lab, "Failed"), "");
  lab.run(30s);
  EXPECT_EQ(condition(lab, "Failed"),
            "True DeadlineExceeded: Job was active longer than specified deadline");
  EXPECT_EQ(number(lab, "failed"), 2);
  EXPECT_THAT(lab.names(kube::kPod), IsEmpty());
  EXPECT_THAT(lab.events(), Contains("Suspended: Job suspended"));
  EXPECT_THAT(lab.events(), Contains("Resumed: Job resumed"));
}

TEST(JobStory, LessParallelismRemovesPodsWithoutCountingThem) {
  Lab lab({.controllers = jobs()});
  job(lab, R"("parallelism":3,"completions":5)");
  lab.run(5s);
  ASSERT_TRUE(lab.patch(kube::kJob, kSum, R"({"spec":{"parallelism":1}})"));
  lab.run(10s);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(1));
  EXPECT_EQ(number(lab, "failed"), 0);
  ASSERT_TRUE(lab.patch(kube::kJob, kSum, R"({"spec":{"parallelism":2}})"));
  lab.run(5s);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(2)) << "at once: nothing has failed";
}

TEST(JobStory, APodThatLosesItsJobIsSetFree) {
  Lab lab({.controllers = jobs()});
  job(lab, R"("parallelism":2,"completions":2)");
  lab.run(5s);
  EXPECT_EQ(tracked(lab), 2);
  // One is orphaned by hand, of the other the Job goes.
  const std::string first = lab.names(kube::kPod)[0];
  ASSERT_TRUE(lab.patch(kube::kPod, {"default", first},
                        R"({"metadata":{"ownerReferences":[],"labels":{"j":"other"}}})"));
  lab.run(5s);
  EXPECT_THAT(lab.get(kube::kPod, {"default", first}).finalizers(), IsEmpty());
  ASSERT_TRUE(lab.erase(kube::kJob, kSum));
  lab.run(5s);
  EXPECT_EQ(tracked(lab), 0);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(3)) << "nobody collects garbage here";
}

TEST(JobStory, PodsOfAJobThatIsBeingDeletedAreSetFree) {
  Lab lab({.controllers = jobs()});
  job(lab, R"("parallelism":2,"completions":2)");
  lab.run(5s);
  ASSERT_TRUE(lab.erase(kube::kJob, kSum, kube::Propagation::kForeground));
  lab.run(5s);
  EXPECT_TRUE(lab.get(kube::kJob, kSum).deleting());
  EXPECT_EQ(tracked(lab), 0);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(2));
}

TEST(JobStory, StraysAreAdoptedAndCounted) {
  Lab lab({.controllers = jobs()});
  lab.life = [](const Object&) { return PodLife{.run = 5s}; };
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"stray","namespace":"default","labels":{"j":"sum"}},"spec":{"containers":[{"name":"main"}]}})"));
  job(lab, R"("parallelism":1,"completions":1)");
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kPod), testing::ElementsAre("stray"));
  EXPECT_EQ(number(lab, "succeeded"), 1);
  EXPECT_EQ(tracked(lab), 0);
}

TEST(JobStory, MorePodsThanAStatusMayListAreCountedOnce) {
  Lab lab({.controllers = jobs()});
  lab.life = [](const Object&) { return PodLife{.run = 1s}; };
  job(lab, R"("parallelism":550,"completions":550)");
  lab.run(2min);
  EXPECT_EQ(number(lab, "succeeded"), 550);
  EXPECT_THAT(lab.names(kube::kPod), SizeIs(550));
  EXPECT_NE(condition(lab, "Complete"), "");
}

void all_succeed(Lab& lab) {
  lab.life = [](const Object&) { return PodLife{.run = 20s}; };
  job(lab, R"("parallelism":2,"completions":3)");
  lab.run(5min);
}
void all_fail(Lab& lab) {
  lab.life = [](const Object&) { return PodLife{.run = 5s, .fails = true}; };
  job(lab, R"("parallelism":1,"completions":2,"backoffLimit":2)");
  lab.run(10min);
}
void indexes_that_fail(Lab& lab) {
  lab.life = [](const Object& pod) { return PodLife{.run = 2s, .fails = index_of(pod) == 1}; };
  job(lab,
      R"("parallelism":2,"completions":3,"completionMode":"Indexed","backoffLimit":2147483647,"backoffLimitPerIndex":1)");
  lab.run(10min);
}
void a_policy_that_ends_it(Lab& lab) {
  lab.life = [](const Object& pod) {
    // Late enough for all to run, whatever the wire does.
    return index_of(pod) == 0 ? PodLife{.run = 15min, .fails = true, .exit_code = 42} : PodLife{};
  };
  job(lab,
      R"("parallelism":3,"completions":3,"completionMode":"Indexed","podFailurePolicy":{"rules":[{"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}}]})");
  lab.run(30min);
}
void suspended_and_deleted(Lab& lab) {
  job(lab, R"("parallelism":3,"completions":3)");
  lab.run(10min);
  ASSERT_TRUE(lab.patch(kube::kJob, kSum, R"({"spec":{"suspend":true}})"));
  lab.run(10min);
  ASSERT_TRUE(lab.patch(kube::kJob, kSum, R"({"spec":{"suspend":false}})"));
  lab.run(10min);
  ASSERT_TRUE(lab.erase(kube::kJob, kSum));
  lab.run(10min);
}

TEST(JobCrashSweep, EndsTheSameWhereverItIsKilled) {
  crash_sweep({jobs(), all_succeed});
  crash_sweep({jobs(), all_fail});
  crash_sweep({jobs(), indexes_that_fail});
  crash_sweep({jobs(), a_policy_that_ends_it});
  crash_sweep({jobs(), suspended_and_deleted});
}
TEST(JobFaultSweep, EndsTheSameWhateverTheWireDoes) {
  fault_sweep({jobs(), all_succeed});
  fault_sweep({jobs(), all_fail});
  fault_sweep({jobs(), indexes_that_fail});
  fault_sweep({jobs(), a_policy_that_ends_it});
  fault_sweep({jobs(), suspended_and_deleted});
}

}  // namespace
}  // namespace berth::controllers::stories
