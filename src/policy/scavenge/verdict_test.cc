// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::scavenge {
namespace {

using testing::HasSubstr;

constexpr WallTime kEnd{1'700'000'000'000'000'000};

PodEvidence pod(std::string name, std::string phase = "Running") {
  return {.name = std::move(name), .phase = std::move(phase)};
}
PodEvidence exited(std::string name, int code) {
  PodEvidence pod{.name = std::move(name), .phase = code == 0 ? "Succeeded" : "Failed"};
  pod.exit_code = code;
  pod.container_end = kEnd;
  return pod;
}
PodEvidence deleted(PodEvidence pod, Duration before_its_end = 2s) {
  pod.grace_seconds = 30;
  pod.deletion_at = kEnd - before_its_end + 30s;
  return pod;
}
PodEvidence disrupted(PodEvidence pod, std::string reason) {
  pod.disruption_target = true;
  pod.disruption_reason = std::move(reason);
  return pod;
}
JobEvidence running() { return {.exists = true}; }
JobEvidence complete() { return {.exists = true, .complete = true}; }
JobEvidence failing(std::string_view message) {
  JobEvidence job{.exists = true, .failing = true};
  read_failure_message(job, message);
  return job;
}
JobEvidence failed_for(std::string_view name, int code, int rule) {
  return failing(fmt::format(
      "Container main for pod ns/{} failed with exit code {} matching FailJob rule at index {}",
      name, code, rule));
}
constexpr std::string_view kDisruption =
    "Pod ns/p has condition DisruptionTarget matching FailJob rule at index 0";

struct Row {
  const char* name;
  AttemptEvidence evidence;
  Verdict verdict;
  const char* reason;
};
void hold(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const Judgement judged = judge(row.evidence);
    EXPECT_EQ(text_of(judged.verdict), text_of(row.verdict)) << row.name;
    EXPECT_EQ(judged.reason, row.reason) << row.name;
  }
}

TEST(Verdict, F8_TheSixRowsOfTheTable) {
  PodEvidence proven = deleted(exited("p", 0));
  proven.termination_message = "done\n";
  hold({
      {"1: failed, disrupted",
       {.job = failing(kDisruption),
        .pods = {disrupted(exited("p", 137), "PreemptionByScheduler")}},
       Verdict::kInterrupted,
       "Preempted"},
      {"2: failed, deleted while it ran",
       {.job = failed_for("p", 143, 2), .pods = {deleted(exited("p", 143))}},
       Verdict::kInterrupted,
       "Deleted"},
      {"3: failed by itself",
       {.job = failed_for("p", 1, 2), .pods = {exited("p", 1)}},
       Verdict::kFailed,
       "AppFailed"},
      {"4: succeeded",
       {.job = complete(), .pods = {exited("p", 0)}},
       Verdict::kCompleted,
       "Completed"},
      {"5: exit 0 after it was deleted, no proof",
       {.job = complete(), .pods = {deleted(exited("p", 0))}},
       Verdict::kInterrupted,
       "Deleted"},
      {"5: exit 0 after it was deleted, the message says done",
       {.job = complete(), .pods = {proven}},
       Verdict::kCompleted,
       "Completed"},
      {"5: exit 0 after it was deleted, the exit code is proof",
       {.exit_code_is_proof = true, .job = complete(), .pods = {deleted(exited("p", 0))}},
       Verdict::kCompleted,
       "Completed"},
      {"5: exit 85",
       {.job = failed_for("p", 85, 1), .pods = {exited("p", 85)}},
       Verdict::kInterrupted,
       "CheckpointExit"},
      {"6: vanished", {}, Verdict::kInterrupted, "Deleted"},
  });
}

// What a kubelet makes of a deletion once all has ended.
PodEvidence cut_short(PodEvidence pod) {
  pod.grace_seconds = 0;
  pod.deletion_at = kEnd + 3s;
  return pod;
}

TEST(Verdict, F8_ADeletionThatTheKubeletHasCutShortIsStillOne) {
  PodEvidence unasked = cut_short(exited("p", 0)), broken = cut_short(exited("p", 1)),
              full = cut_short(exited("p", 137));
  unasked.ended_unasked = broken.ended_unasked = true;
  full.oom_killed = true;
  hold({{"one of two ended with 0",
         {.job = running(), .pods = {cut_short(exited("p", 0)), pod("q")}},
         Verdict::kInterrupted,
         "Deleted"},
        {"told to stop",
         {.job = failed_for("p", 143, 2), .pods = {cut_short(exited("p", 143))}},
         Verdict::kInterrupted,
         "Deleted"},
        {"it was done, and removed later",
         {.job = complete(), .pods = {unasked}},
         Verdict::kCompleted,
         "Completed"},
        {"it failed, and was removed later",
         {.job = failed_for("p", 1, 2), .pods = {broken}},
         Verdict::kFailed,
         "AppFailed"},
        {"nobody's deletion uses up memory",
         {.job = failed_for("p", 137, 2), .pods = {full}},
         Verdict::kFailed,
         "OOMKilled"}});
}

TEST(Verdict, R33_EveryKindOfDisruptionIsAnInterruption) {
  const std::pair<const char*, const char*> reasons[] = {
      {"PreemptionByScheduler", "Preempted"},
      {"EvictionByEvictionAPI", "Evicted"},
      {"DeletionByTaintManager", "Evicted"},
      {"DeletionByDeviceTaintManager", "Evicted"},
      {"DeletionByPodGC", "NodeLost"},
      {"TerminationByKubelet", "Evicted"},
      {"SomethingNew", "Evicted"}};
  for (const auto& [reason, told] : reasons) {
    hold({{reason,
           {.job = failing(kDisruption), .pods = {disrupted(exited("p", 137), reason)}},
           Verdict::kInterrupted,
           told},
          {reason,
           {.job = running(), .pods = {disrupted(deleted(pod("p")), reason), pod("q")}},
           Verdict::kInterrupted,
           told},
          {reason,
           {.job = complete(), .pods = {disrupted(exited("p", 0), reason)}},
           Verdict::kInterrupted,
           told}});
    EXPECT_THAT(
        judge({.job = failing(kDisruption), .pods = {disrupted(exited("p", 137), reason)}}).message,
        HasSubstr(reason));
  }
}

TEST(Verdict, OurOwnDoingComesFirst) {
  hold({{"reclaimed",
         {.ended_by_us = true, .job = running(), .pods = {deleted(pod("p"))}},
         Verdict::kInterrupted,
         "ReclaimRequested"},
        {"hung",
         {.hung = true, .job = running(), .pods = {pod("p", "Pending")}},
         Verdict::kHung,
         "Hung"}});
  const Judgement judged =
      judge({.ended_by_us = true, .job = running(), .pods = {pod("o"), exited("p", 85)}});
  EXPECT_EQ(judged.checkpoint, kEnd);
}

TEST(Verdict, R32_AFailureNamesItsPodAndExitCode) {
  const Judgement judged = judge({.job = failed_for("p", 3, 2), .pods = {exited("p", 3)}});
  EXPECT_EQ(judged.message, "pod p failed with exit code 3");
  EXPECT_EQ(judged.pod, "p");
  EXPECT_EQ(judged.exit_code, 3);
  PodEvidence oom = exited("p", 137);
  oom.oom_killed = true;
  hold({{"memory", {.job = failed_for("p", 137, 2), .pods = {oom}}, Verdict::kFailed, "OOMKilled"},
        {"memory, but evicted",
         {.job = failing(kDisruption), .pods = {disrupted(oom, "TerminationByKubelet")}},
         Verdict::kInterrupted,
         "Evicted"}});
}

// The Job controller removes them, so they carry deletion times too.
TEST(Verdict, SiblingsOfThePodThatFailedDoNotCount) {
  hold(
      {{"q failed",
        {.job = failed_for("q", 1, 2),
         .pods = {deleted(exited("p", 143)), exited("q", 1), deleted(pod("r"))}},
        Verdict::kFailed,
        "AppFailed"},
       {"q was preempted",
        {.job = failing("Pod ns/q has condition DisruptionTarget matching FailJob rule at index 0"),
         .pods = {deleted(exited("p", 1)), disrupted(exited("q", 137), "PreemptionByScheduler")}},
        Verdict::kInterrupted,
        "Preempted"},
       {"nobody is named: the first that ended",
        {.job = failing("Job has reached the specified backoff limit"),
         .pods = {deleted(exited("p", 143), -5s), exited("q", 1)}},
        Verdict::kFailed,
        "AppFailed"}});
}

TEST(Verdict, ADeletionAfterTheEndIsNoInterruption) {
  hold({{"failed, then deleted",
         {.job = failed_for("p", 1, 2), .pods = {deleted(exited("p", 1), -3s)}},
         Verdict::kFailed,
         "AppFailed"},
        {"succeeded, then deleted",
         {.job = complete(), .pods = {deleted(exited("p", 0), -3s)}},
         Verdict::kCompleted,
         "Completed"}});
}

TEST(Verdict, WhileNothingEndedItGoesOn) {
  hold({{"runs", {.job = running(), .pods = {pod("p"), pod("q")}}, Verdict::kNone, ""},
        {"one member is done",
         {.job = running(), .pods = {exited("p", 0), pod("q")}},
         Verdict::kNone,
         ""},
        {"no pod yet", {.job = running()}, Verdict::kNone, ""},
        {"a disruption that nothing came of",
         {.job = running(), .pods = {disrupted(pod("p"), "PreemptionByScheduler")}},
         Verdict::kNone,
         ""}});
}

TEST(Verdict, R6_OneMemberThatGoesEndsAllOfThemAtOnce) {
  hold({{"deleted by hand",
         {.job = running(), .pods = {pod("o"), deleted(pod("p")), pod("q")}, .now = kEnd},
         Verdict::kInterrupted,
         "Deleted"}});
}

TEST(Verdict, ASingleMemberMayProveWithinItsGraceThatItIsDone) {
  AttemptEvidence evidence{.job = running(), .pods = {deleted(pod("p"))}, .now = kEnd};
  const Judgement waits = judge(evidence);
  EXPECT_EQ(waits.verdict, Verdict::kNone);
  EXPECT_EQ(waits.look_again, evidence.pods[0].deletion_at);
  evidence.now = evidence.pods[0].deletion_at;
  EXPECT_EQ(judge(evidence).verdict, Verdict::kInterrupted);
  evidence.now.reset();
  EXPECT_EQ(judge(evidence).verdict, Verdict::kInterrupted);
}

TEST(Verdict, ALostNodeIsAnInterruptionUnlessThePodHadEnded) {
  PodEvidence lost = pod("p"), done = exited("p", 0);
  lost.node_gone = done.node_gone = true;
  hold(
      {{"lost", {.job = running(), .pods = {lost}, .now = kEnd}, Verdict::kInterrupted, "NodeLost"},
       {"had ended", {.job = complete(), .pods = {done}}, Verdict::kCompleted, "Completed"}});
}

TEST(Verdict, APodThatItsNodeDidNotTakeInNeverFailed) {
  hold({{"OutOfcpu",
         {.job = failing("Job has reached the specified backoff limit"),
          .pods = {pod("p", "Failed")}},
         Verdict::kInterrupted,
         "Evicted"}});
}

TEST(Verdict, WithoutPodsTheJobTells) {
  hold({{"rule 0", {.job = failing(kDisruption)}, Verdict::kInterrupted, "Evicted"},
        {"rule 1", {.job = failed_for("p", 85, 1)}, Verdict::kInterrupted, "CheckpointExit"},
        {"rule 2", {.job = failed_for("p", 143, 2)}, Verdict::kFailed, "AppFailed"},
        {"complete", {.job = complete()}, Verdict::kCompleted, "Completed"}});
}

TEST(Verdict, AJobThatRanTooLongFailedWhoeverWasDeleted) {
  hold({{"deadline",
         {.job = failing("Job was active longer than specified deadline"),
          .pods = {deleted(exited("p", 143))}},
         Verdict::kFailed,
         "AppFailed"}});
}

TEST(Verdict, WithoutAJobItsPodsTell) {
  hold({{"failed", {.pods = {exited("p", 1)}}, Verdict::kFailed, "AppFailed"},
        {"done", {.members = 1, .pods = {exited("p", 0)}}, Verdict::kCompleted, "Completed"},
        {"one of two", {.members = 2, .pods = {exited("p", 0)}}, Verdict::kInterrupted, "Deleted"},
        {"orphaned", {.pods = {pod("p")}}, Verdict::kInterrupted, "Deleted"},
        {"collected", {.pods = {deleted(exited("p", 143))}}, Verdict::kInterrupted, "Deleted"}});
}

// Members that a success policy had no need of.
TEST(Verdict, ACompleteJobIsNotInterruptedByTheMembersItRemoves) {
  hold({{"surplus",
         {.job = complete(), .pods = {exited("p", 0), deleted(exited("q", 143))}},
         Verdict::kCompleted,
         "Completed"}});
}

TEST(FailureMessage, IsReadAsTheJobControllerWordsIt) {
  const JobEvidence exit = failed_for("sim-3-0-x7kzq", 85, 1);
  EXPECT_EQ(exit.cause_pod, "sim-3-0-x7kzq");
  EXPECT_EQ(exit.exit_code, 85);
  EXPECT_EQ(exit.rule, 1);
  const JobEvidence condition = failing(kDisruption);
  EXPECT_EQ(condition.cause_pod, "p");
  EXPECT_EQ(condition.exit_code, std::nullopt);
  EXPECT_EQ(condition.rule, 0);
  const JobEvidence other = failing("Job has reached the specified backoff limit");
  EXPECT_EQ(other.cause_pod, "");
  EXPECT_EQ(other.rule, -1);
  EXPECT_EQ(other.message, "Job has reached the specified backoff limit");
  for (const char* odd :
       {"", " for pod ", "Pod ", "Container a for pod b failed with exit code ", " rule at index ",
        "Pod a/b has condition X matching FailJob rule at index x"})
    EXPECT_EQ(failing(odd).rule, -1) << odd;
}

}  // namespace
}  // namespace berth::scavenge
