// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger_diagnosis.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/listed.h"
#include "kube/ours/ours.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr WallTime kNoon{1'790'000'000'000'000'000};

std::string quoted(WallTime at) { return '"' + kube::micro_time_text(at) + '"'; }

kube::Object job(const std::string& status) {
  return kube::Object::
      parse(kube::scavenger_kinds().job,
            fmt::format(
                R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"a",)"
                R"("namespace":"ns","uid":"u","creationTimestamp":"{}"}},"spec":{{"image":"i",)"
                R"("resources":{{"requests":{{"cpu":"4"}}}}}},"status":{{{}}}}})",
                kube::time_text(kNoon - 1h), status))
          .value();
}
Diagnosis said(const std::string& status, const ScavengerContext& context = {}) {
  return diagnose_scavenger(job(status), context, kNoon);
}

TEST(ExplainScavenger, F20_OneThatWaitsIsToldItsTurnWhatIsMissingAndWhatToDo) {
  const scavenge::Wait wait{.uid = "u",
                            .reason = scavenge::WaitReason::kThreshold,
                            .message = "cpu: 68 of 70 in use, 4 more asked for",
                            .turn = 3};
  const Diagnosis it =
      said(R"("waitingSince":)" + quoted(kNoon - 20min), {.wait = &wait, .queue = 9});
  EXPECT_FALSE(it.well);
  EXPECT_THAT(it.cause, HasSubstr("waited for 20 min and is number 3 of 9"));
  EXPECT_THAT(it.cause, HasSubstr("cpu: 68 of 70 in use"));
  EXPECT_THAT(it.remedy, HasSubstr("thresholdPercent"));
}

TEST(ExplainScavenger, F20_OneThatRunsIsToldWhatItsInterruptionWouldCostNow) {
  const std::string runs = R"("phase":"Running","attempt":1,"runningTimestamps":[)" +
                           quoted(kNoon - 44min) + R"(],"cost":{"since":)" + quoted(kNoon - 15min) +
                           R"(,"rateMilli":4000,"windowSeconds":1800,"steps":3,"reported":)";
  const Diagnosis told = said(runs + R"(true,"restart":0})", {.nodes = {"n1", "n2"}});
  EXPECT_TRUE(told.well);
  EXPECT_THAT(told.cause,
              HasSubstr("It has run for 44 min on n1, n2; interrupted now it would lose "
                        "1.00 core-hours, what it did since its last checkpoint 15 min"));
  EXPECT_THAT(told.remedy, IsEmpty());
  const Diagnosis silent = said(runs + R"(false,"restart":0})");
  EXPECT_THAT(silent.cause, HasSubstr("lose 0.67 core-hours: it reports no checkpoints"));
}

TEST(ExplainScavenger, F20_OneThatWasInterruptedIsToldWhyWithTheAlternatives) {
  const Diagnosis it = said(
      R"("waitingSince":)" + quoted(kNoon - 1min) +
          R"(,"attempt":1,"closedAttempt":1,)"
          R"("interruptedCount":2,"interruptedTimestamps":[)" +
          quoted(kNoon - 90s) +
          R"(],"lostCoreSeconds":756,"usefulCoreSeconds":7200,"verdict":{"verdict":"Interrupted",)"
          R"("reason":"Preempted","message":"pod a-1-x was preempted"})",
      {.told = {
           "1 job interrupted on n3 for shop/web: ns/a (0.21 core-hours); n5 would have lost 1"}});
  ASSERT_EQ(it.because.size(), 3U);
  EXPECT_EQ(it.because[0],
            "It was interrupted twice, last 1 min ago (Preempted: pod a-1-x was preempted).");
  EXPECT_THAT(it.because[1], HasSubstr("n5 would have lost"));
  EXPECT_EQ(it.because[2], "So far 2.00 core-hours of work were kept and 0.21 core-hours lost.");
  EXPECT_TRUE(it.well) << "nobody is before it";
}

TEST(ExplainScavenger, EndsAndStartsHaveACauseAndOneRemedy) {
  const Diagnosis failed =
      said(R"("phase":"Failed","message":"exit code 3 of pod a-1-x","verdict":)"
           R"({"verdict":"Failed","reason":"AppFailed"})");
  EXPECT_FALSE(failed.well);
  EXPECT_THAT(failed.cause, HasSubstr("exit code 3"));
  EXPECT_THAT(failed.remedy, HasSubstr("log of the pod"));
  EXPECT_TRUE(said(R"("phase":"Completed","started":3)").well);
  EXPECT_THAT(said(R"("phase":"Completed","started":3)").cause, HasSubstr("3 runs"));
  EXPECT_THAT(said(R"("attempt":2,"closedAttempt":1)").cause, HasSubstr("Attempt 2 was opened"));
  EXPECT_THAT(said("").remedy, HasSubstr("berth controllers")) << "nobody looks";
  EXPECT_THAT(
      said(R"("phase":"Running","attempt":1,"reclaim":{"for":"shop/web","asked":)" + quoted(kNoon) +
           R"(,"deadline":)" + quoted(kNoon + 30s) + "}")
          .cause,
      HasSubstr("Pod shop/web needs its room: it is asked for a checkpoint and ends in 30 s"));
  EXPECT_THAT(
      said(R"("phase":"Running","attempt":1,"conditions":[{"type":"Running","status":"True",)"
           R"("reason":"ReclaimRequested","message":"cpu: 9 of 10 in use"}],"reclaim":{"asked":)" +
           quoted(kNoon) + R"(,"deadline":)" + quoted(kNoon + 30s) + "}")
          .cause,
      HasSubstr("The cluster is too full (cpu: 9 of 10 in use): it is asked for a checkpoint"));
}

TEST(ExplainScavenger, AsksTheSameQuestionAsTheQueue) {
  Listed listed;
  listed.add(job(R"("waitingSince":)" + quoted(kNoon - 1min)));
  listed.add(kube::Object::parse(
                 kube::kNode,
                 R"({"metadata":{"name":"n1","uid":"n1"},"status":{"allocatable":{"cpu":"5",)"
                 R"("memory":"8Gi","pods":"9"},"conditions":[{"type":"Ready","status":"True"}]}})")
                 .value());
  const auto it = diagnose_scavenger(runtime::View(listed), {"ns", "a"}, {}, kNoon);
  ASSERT_TRUE(it) << it.error().message;
  EXPECT_FALSE(it->well);
  EXPECT_THAT(it->cause, HasSubstr("number 1 of 1"));
  EXPECT_THAT(it->cause, HasSubstr("cpu"));
  EXPECT_EQ(diagnose_scavenger(runtime::View(listed), {"ns", "b"}, {}, kNoon).error().reason,
            Reason::kNotFound);
}

}  // namespace
}  // namespace berth::controllers
