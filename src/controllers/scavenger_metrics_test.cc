// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger_metrics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kube/ours/ours.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr WallTime kNoon{1'790'000'000'000'000'000};

std::string quoted(WallTime at) { return '"' + kube::micro_time_text(at) + '"'; }

kube::Object job(const std::string& status, std::string_view name = "a") {
  return kube::Object::parse(
             kube::scavenger_kinds().job,
             fmt::format(
                 R"({{"metadata":{{"name":"{0}","namespace":"ns","uid":"u-{0}"}},"spec":{{}},)"
                 R"("status":{{{1}}}}})",
                 name, status))
      .value();
}
kube::Object pod(const std::string& metadata, const std::string& status) {
  return kube::Object::parse(
             kube::kPod,
             fmt::format(R"({{"metadata":{{"name":"p","namespace":"ns","uid":"p1","labels":{{)"
                         R"("berth.dev/scavenger":"u-a"}}{}}},"spec":{{}},"status":{{{}}}}})",
                         metadata, status))
      .value();
}

// A watch stream: what each object becomes, and when it was seen.
struct Seen {
  kube::Object object;
  Duration at;
  bool gone = false;
};
void replay(ScavengerMetrics& metrics, const std::vector<Seen>& stream) {
  std::map<std::string, kube::Object> known;
  metrics.begin();
  for (const Seen& seen : stream) {
    const std::string uid(seen.object.uid());
    const auto before = known.find(uid);
    metrics.changed(
        {before == known.end() ? nullptr : &before->second, seen.gone ? nullptr : &seen.object},
        kNoon + seen.at);
    if (seen.gone)
      known.erase(uid);
    else
      known.insert_or_assign(uid, seen.object);
  }
}

// Waits 40 s, runs 10 min, is preempted, runs again for an hour and completes.
std::vector<Seen> a_life() {
  const std::string wait = R"("phase":"Pending","waitingSince":)" + quoted(kNoon);
  const std::string start = R"("phase":"Pending","attempt":1)";
  const std::string run = R"("phase":"Running","attempt":1,"started":1,"runningTimestamps":[)" +
                          quoted(kNoon + 40s) + "]";
  const std::string closed =
      R"("phase":"Interrupted","attempt":1,"closedAttempt":1,"started":1,)"
      R"("interruptedCount":1,"lostCoreSeconds":300,"usefulCoreSeconds":900,)"
      R"("runningTimestamps":[)" +
      quoted(kNoon + 40s) + R"(],"verdict":{"verdict":"Interrupted","reason":"Preempted","at":)" +
      quoted(kNoon + 640s) + "}";
  const std::string again = R"("waitingSince":)" + quoted(kNoon + 650s);
  const std::string second =
      R"("phase":"Running","attempt":2,"closedAttempt":1,"started":2,"interruptedCount":1,)"
      R"("lostCoreSeconds":300,"usefulCoreSeconds":900,"runningTimestamps":[)" +
      quoted(kNoon + 40s) + "," + quoted(kNoon + 700s) + "]";
  const std::string done =
      R"("phase":"Completed","attempt":2,"closedAttempt":2,"started":2,"interruptedCount":1,)"
      R"("lostCoreSeconds":300,"usefulCoreSeconds":2700,"runningTimestamps":[)" +
      quoted(kNoon + 40s) + "," + quoted(kNoon + 700s) +
      R"(],"verdict":{"verdict":"Completed","reason":"","at":)" + quoted(kNoon + 4300s) + "}";
  return {{job(""), 0s},
          {job(wait), 1s},
          {job(start), 39s},
          {job(run), 40s},
          {pod("", R"("phase":"Running")"), 41s},
          {pod("", R"("phase":"Running","conditions":[{"type":"DisruptionTarget","status":"True",)"
                   R"("reason":"PreemptionByScheduler"}])"),
           637s},
          {pod("", R"("phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True",)"
                   R"("reason":"PreemptionByScheduler"}])"),
           640s},
          {job(closed), 641s},
          {job(closed + "," + again), 650s},
          {job(second), 701s},
          {job(done), 4301s},
          {job(done), 9000s, true}};
}

TEST(ScavengerMetrics, R59_CountsALifeOnce) {
  Metrics metrics;
  ScavengerMetrics observer(metrics);
  replay(observer, a_life());
  const std::string said = metrics.exposition();
  for (const char* line :
       {"\nsj_started_total 2\n", "\nsj_interrupted_total 1\n", "\nsj_completed_total 1\n",
        "\nsj_failed_total 0\n", "\nsj_lost_core_seconds_total 300\n",
        "\nsj_useful_core_seconds_total 2700\n", "\nsj_goodput_ratio 0.9\n",
        "\nsj_threshold_ratio 0.7\n", "\nsj_wait_seconds_count 2\n", "\nsj_wait_seconds_sum 90\n",
        "\nsj_run_seconds_count 2\n", "\nsj_run_seconds_sum 4200\n",
        "\nsj_reclaim_latency_seconds_count 1\n", "\nsj_reclaim_latency_seconds_sum 3\n",
        "sj_verdicts_total{reason=\"Preempted\",verdict=\"Interrupted\"} 1\n",
        "sj_verdicts_total{reason=\"\",verdict=\"Completed\"} 1\n",
        "sj_queue_length{count=\"0\"} 0\n", "sj_queue_length{count=\"1\"} 0\n"})
    EXPECT_THAT(said, HasSubstr(line));
}

TEST(ScavengerMetrics, R59_AReplayOfTheWatchGivesEqualValues) {
  Metrics live, replayed;
  ScavengerMetrics first(live), second(replayed);
  replay(first, a_life());
  replay(second, a_life());
  EXPECT_EQ(live.exposition(), replayed.exposition());
}

TEST(ScavengerMetrics, WhatWasDoneBeforeSomebodyLookedIsNotCounted) {
  Metrics metrics;
  ScavengerMetrics observer(metrics);
  std::vector<Seen> late = a_life();
  late.erase(late.begin(), late.begin() + 8);  // comes in as interrupted once, and waiting
  replay(observer, late);
  EXPECT_THAT(metrics.exposition(), HasSubstr("\nsj_started_total 1\n"));
  EXPECT_THAT(metrics.exposition(), HasSubstr("\nsj_interrupted_total 0\n"));
  EXPECT_THAT(metrics.exposition(), HasSubstr("\nsj_lost_core_seconds_total 0\n"));
}

TEST(ScavengerMetrics, TheQueueIsCountedByInterruptionsAndBeginsAnewWithATerm) {
  Metrics metrics;
  ScavengerMetrics observer(metrics);
  const auto waits = [](int times, std::string_view name) {
    return job(fmt::format(R"("phase":"Interrupted","interruptedCount":{})", times), name);
  };
  const kube::Object a = waits(0, "a"), b = waits(7, "b"), c = waits(7, "c");
  for (const kube::Object* one : {&a, &b, &c}) observer.changed({nullptr, one}, kNoon);
  EXPECT_THAT(metrics.exposition(), HasSubstr("sj_queue_length{count=\"5+\"} 2\n"));
  observer.changed({&b, nullptr}, kNoon);
  EXPECT_THAT(metrics.exposition(), HasSubstr("sj_queue_length{count=\"5+\"} 1\n"));
  observer.begin();
  EXPECT_THAT(metrics.exposition(), HasSubstr("sj_queue_length{count=\"0\"} 0\n"));
  observer.changed({nullptr, &a}, kNoon);
  EXPECT_THAT(metrics.exposition(), HasSubstr("sj_queue_length{count=\"0\"} 1\n"));
}

TEST(ScavengerMetrics, TheThresholdIsTheOneThatCounts) {
  Metrics metrics;
  ScavengerMetrics observer(metrics);
  const kube::Object policy =
      kube::Object::parse(kube::scavenger_kinds().policy,
                          R"({"metadata":{"name":"default"},"spec":{"thresholdPercent":80},)"
                          R"("status":{"thresholdPercent":65}})")
          .value();
  observer.changed({nullptr, &policy}, kNoon);
  EXPECT_THAT(metrics.exposition(), HasSubstr("\nsj_threshold_ratio 0.65\n"));
  observer.changed({&policy, nullptr}, kNoon);
  EXPECT_THAT(metrics.exposition(), HasSubstr("\nsj_threshold_ratio 0.7\n"));
}

TEST(ReclaimWatch, OneThatIsAskedAndThenNotWantedTellsNothing) {
  ReclaimWatch watch;
  const auto facts = [](bool wanted, bool left) {
    return ReclaimFacts{.uid = "p", .scavenger = true, .wanted = wanted, .left = left};
  };
  const ReclaimFacts calm = facts(false, false), asked = facts(true, false);
  EXPECT_FALSE(watch.changed(&calm, &asked, kNoon));
  EXPECT_FALSE(watch.changed(&asked, &calm, kNoon + 5s));
  EXPECT_FALSE(watch.changed(&calm, nullptr, kNoon + 9s)) << "deleted by somebody";
  EXPECT_FALSE(watch.changed(nullptr, &asked, kNoon));
  EXPECT_EQ(watch.changed(&asked, nullptr, kNoon + 2s), 2s);
}

}  // namespace
}  // namespace berth::controllers
