// SPDX-License-Identifier: Apache-2.0
// How an attempt ended, row by row of the table: with the operator there, and with the operator
// away while it happens and for ten minutes more. The verdict is the same, and it counts once.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/pods.h"
#include "kube/time.h"
#include "scavenger_lab.h"

namespace berth::controllers::stories {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct EndRow {
  const char* name;
  std::function<void(ScavengerLab&, const Object& pod)> happens;
  const char* phase;   // once it was seen
  const char* reason;  // of the verdict
  std::int64_t count;
  const char* spec = "";
  int members = 1;
};
std::ostream& operator<<(std::ostream& out, const EndRow& row) { return out << row.name; }

const EndRow kRows[] = {
    {"PreemptedAndFailed",
     [](ScavengerLab& s, const Object& pod) { s.disrupt(pod, "PreemptionByScheduler"); },
     "Interrupted", "Preempted", 1},
    {"DeletedWhileItRan", [](ScavengerLab& s, const Object& pod) { s.erase_pod(pod); },
     "Interrupted", "Deleted", 1},
    {"FailedByItself", [](ScavengerLab& s, const Object& pod) { s.end(pod, 1); }, "Failed",
     "AppFailed", 0},
    {"EndedWell", [](ScavengerLab& s, const Object& pod) { s.end(pod, 0); }, "Completed",
     "Completed", 0},
    {"ExitZeroWhenDeletedWithoutProof",
     [](ScavengerLab& s, const Object& pod) {
       s.erase_pod(pod);
       s.end(s.lab.get(kube::kPod, pod.key()), 0);
     },
     "Interrupted", "Deleted", 1},
    {"ExitZeroWhenDeletedWithProof",
     [](ScavengerLab& s, const Object& pod) {
       s.erase_pod(pod);
       s.end(s.lab.get(kube::kPod, pod.key()), 0, "done");
     },
     "Completed", "Completed", 0},
    {"ExitZeroWhenDeletedIsProofEnough",
     [](ScavengerLab& s, const Object& pod) {
       s.erase_pod(pod);
       s.end(s.lab.get(kube::kPod, pod.key()), 0);
     },
     "Completed", "Completed", 0, R"("completionProof":"ExitCodeOnly")"},
    {"VanishedWithItsJob",
     [](ScavengerLab& s, const Object& pod) {
       s.lab.server.remove(kube::kJob, s.jobs("a").front().key());
       s.lab.server.remove(kube::kPod, pod.key());
     },
     "Interrupted", "Deleted", 1},
    {"VanishedAlone",
     [](ScavengerLab& s, const Object& pod) { s.lab.server.remove(kube::kPod, pod.key()); },
     "Interrupted", "Vanished", 1},
    {"NodeGone",
     [](ScavengerLab& s, const Object& pod) {
       const std::string node = pod.member("spec")["nodeName"].text();
       s.lose_node(node);
       s.lab.server.remove(kube::kNode, {"", node});
     },
     "Interrupted", "NodeLost", 1},
    {"CheckpointedAndLeft", [](ScavengerLab& s, const Object& pod) { s.end(pod, 85); },
     "Interrupted", "CheckpointExit", 1},
    {"OneOfFourEvicted",
     [](ScavengerLab& s, const Object& pod) { s.disrupt(pod, "EvictionByEvictionAPI"); },
     "Interrupted", "Evicted", 1, R"("replicas":4)", 4},
    {"OneOfFourDeleted", [](ScavengerLab& s, const Object& pod) { s.erase_pod(pod); },
     "Interrupted", "Deleted", 1, R"("replicas":4)", 4},
    {"OneOfFourFailed", [](ScavengerLab& s, const Object& pod) { s.end(pod, 2); }, "Failed",
     "AppFailed", 0, R"("replicas":4)", 4},
    {"TheJobWasDeleted",
     [](ScavengerLab& s, const Object&) {
       ASSERT_TRUE(s.lab.erase(kube::kJob, s.jobs("a").front().key()));
     },
     "Interrupted", "Deleted", 1, R"("replicas":2)", 2},
};

class ScavengerEnds : public testing::TestWithParam<EndRow> {
 protected:
  void begin() {
    s.life = [](const Object&) { return PodLife{.stop = 5s}; };
    s.job("a", "1", GetParam().spec);
    s.lab.run(1min);
    ASSERT_EQ(s.phase("a"), "Running");
    ASSERT_THAT(s.pods("a"), SizeIs(GetParam().members));
  }
  void expect_end() {
    const Object job = s.get("a");
    EXPECT_EQ(s.phase("a"), GetParam().phase) << s.message("a");
    EXPECT_EQ(s.count("a"), GetParam().count);
    EXPECT_EQ(job.status()["verdict"]["reason"].text(), GetParam().reason);
    EXPECT_EQ(job.status()["closedAttempt"].integer(), 1);
    EXPECT_EQ(static_cast<std::int64_t>(job.status()["interruptedTimestamps"].size()),
              GetParam().count);
    EXPECT_THAT(s.wrongs, IsEmpty());
  }
  void expect_what_follows() {
    s.lab.run(5min);
    const bool again = std::string_view(GetParam().phase) == "Interrupted";
    EXPECT_EQ(s.phase("a"), again ? "Running" : GetParam().phase);
    EXPECT_EQ(s.count("a"), GetParam().count);
    EXPECT_THAT(s.wrongs, IsEmpty());
    if (!again) {
      EXPECT_THAT(s.left_over(), IsEmpty());
    }
  }
  ScavengerLab s;
};

TEST_P(ScavengerEnds, F8_WithTheOperatorThere) {
  begin();
  GetParam().happens(s, s.pods("a").back());
  s.lab.run(15s);
  expect_end();
  expect_what_follows();
}

TEST_P(ScavengerEnds, F8_F9_WithTheOperatorAwayForTenMinutes) {
  begin();
  s.stop_operator();
  GetParam().happens(s, s.pods("a").back());
  s.lab.run(10min);
  EXPECT_EQ(s.phase("a"), "Running") << "nobody is there to say otherwise";
  // A Job that was deleted takes its pods with it, and the Job controller ends the others of one
  // that failed; a pod that was deleted by hand alone leaves its sisters running until we are back.
  s.start_operator();
  s.lab.run(15s);
  expect_end();
  expect_what_follows();
}

INSTANTIATE_TEST_SUITE_P(Rows, ScavengerEnds, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ScavengerLostNode, WaitsForASilentNodeAndNeverRunsTwice) {
  ScavengerLab s;
  s.job("a");
  s.lab.run(1min);
  const Object pod = s.pods("a").at(0);
  const std::string node = pod.member("spec")["nodeName"].text();
  s.lose_node(node);
  ASSERT_TRUE(s.lab.patch(kube::kNode, {"", node},
                          R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})",
                          "status"));
  s.disrupt(pod, "DeletionByTaintManager");
  s.lab.run(30min);
  EXPECT_EQ(s.phase("a"), "Interrupted");
  EXPECT_EQ(s.count("a"), 1);
  ASSERT_THAT(s.pods("a"), SizeIs(1)) << "the pod may still run there";
  EXPECT_EQ(s.get("a").status()["attempt"].integer(), 1);

  ASSERT_TRUE(s.lab.erase(kube::kNode, {"", node}));
  s.lab.run(5min);
  EXPECT_EQ(s.phase("a"), "Running");
  EXPECT_EQ(s.get("a").status()["attempt"].integer(), 2);
  EXPECT_THAT(s.wrongs, IsEmpty());
}

TEST(ScavengerLostNode, RestartDoesNotWait) {
  ScavengerLab s;
  s.job("a", "1", R"("lostNode":"Restart")");
  s.lab.run(1min);
  const Object pod = s.pods("a").at(0);
  const std::string node = pod.member("spec")["nodeName"].text();
  s.lose_node(node);
  ASSERT_TRUE(s.lab.patch(kube::kNode, {"", node},
                          R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})",
                          "status"));
  s.disrupt(pod, "DeletionByTaintManager");
  s.lab.run(5min);
  EXPECT_EQ(s.phase("a"), "Running");
  EXPECT_EQ(s.get("a").status()["attempt"].integer(), 2);
  EXPECT_THAT(s.wrongs, IsEmpty());
}

TEST(ScavengerWork, WhatWasLostAndWhatWasOfUseIsCounted) {
  ScavengerLab s;
  s.job("a", "2", R"("duration":"30m")");
  s.lab.run(20s);
  s.lab.run(14min);
  s.erase_pod(s.pods("a").at(0));
  s.lab.run(10s);
  const Object job = s.get("a");
  const std::int64_t rate = 2 * 1'000 + 125;  // two cores and a GiB
  const auto ran = kube::parse_time(job.status()["runningTimestamps"][std::size_t{0}].text()),
             gone = kube::parse_time(job.status()["interruptedTimestamps"][std::size_t{0}].text());
  const std::int64_t all = rate * ((*gone - *ran) / 1s) / 1'000;
  EXPECT_NEAR(static_cast<double>(*job.status()["lostCoreSeconds"].integer()),
              static_cast<double>(rate * 600 / 1'000), 3)
      << "a silent job has lost what its step says";
  EXPECT_NEAR(static_cast<double>(*job.status()["usefulCoreSeconds"].integer() +
                                  *job.status()["lostCoreSeconds"].integer()),
              static_cast<double>(all), 3);
}

}  // namespace
}  // namespace berth::controllers::stories
