// SPDX-License-Identifier: Apache-2.0
// Checkpoints and notice: what programs report, and how a job gives way that was asked to.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/pods.h"
#include "controllers/scavenger/checkpoints.h"
#include "kube/time.h"
#include "scavenger_lab.h"

namespace berth::controllers::stories {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

const kube::ScavengerKinds& kinds() { return kube::scavenger_kinds(); }

class ScavengerReclaim : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(s.wrongs, IsEmpty()); }
  void begin(std::string_view more = "", std::string_view cpu = "6") {
    s.node("n", "10");
    s.job("a", cpu, more);
    lab.run(20s);
    ASSERT_EQ(s.phase("a"), "Running");
  }
  // As a door does it for a pod that fits nowhere.
  void reclaim(const std::string& pod, Duration notice) {
    const Object needs = lab.get(kube::kPod, {"default", pod});
    deadline = s.now() + notice;
    ASSERT_TRUE(lab.patch(
        kinds().job, {"default", "a"},
        fmt::format(
            R"({{"metadata":{{"annotations":{{"{}":"{{\"for\":\"default/{}\",\"uid\":\"{}\",\"deadline\":\"{}\"}}"}}}}}})",
            kube::kReclaimAnnotation, pod, needs.valid() ? needs.uid() : "x",
            kube::time_text(deadline))));
  }
  void goes_in_time_with_snapshots_on() {
    s.policy(R"("containerSnapshots":"On")");
    begin();
    s.pod("needs", "6");
    lab.run(2s);
    reclaim("needs", 30s);
    lab.run(35s);
    EXPECT_EQ(s.phase("a"), "Interrupted");
    lab.run(5s);
    EXPECT_EQ(lab.get(kube::kPod, {"default", "needs"}).member("spec")["nodeName"].text(), "n");
  }
  WallTime deadline{};
  ScavengerLab s{{}, 0};
  Lab& lab = s.lab;
};

TEST_F(ScavengerReclaim, F7_AnAnswerInTimeLosesNothing) {
  begin();
  lab.run(10min);
  s.pod("needs", "6");
  lab.run(2s);
  reclaim("needs", 30s);
  lab.run(3s);
  ASSERT_THAT(s.pods("a"), SizeIs(1));
  const Object asked = s.pods("a").at(0);
  EXPECT_EQ(asked.annotation(kube::kCheckpointRequestedAnnotation), kube::time_text(deadline));
  EXPECT_EQ(s.condition("a", "Running"), "True ReclaimRequested");
  lab.run(5s);
  s.report(asked, s.now());
  lab.run(5s);
  EXPECT_EQ(s.phase("a"), "Interrupted");
  EXPECT_EQ(s.count("a"), 1);
  const Object job = s.get("a");
  EXPECT_EQ(job.status()["verdict"]["reason"].text(), "Reclaimed");
  EXPECT_TRUE(job.status()["reclaim"]["acked"].present());
  EXPECT_LE(*job.status()["lostCoreSeconds"].integer(), 7) << "less than a second";
  EXPECT_GE(*job.status()["checkpoint"]["costSeconds"].integer(), 5) << "measured";
  EXPECT_EQ(lab.get(kube::kPod, {"default", "needs"}).member("spec")["nodeName"].text(), "n");
  EXPECT_EQ(job.annotation(kube::kReclaimAnnotation), "");
}

TEST_F(ScavengerReclaim, F7_WithoutAnAnswerItEndsAtTheDeadline) {
  begin();
  s.pod("needs", "6");
  lab.run(2s);
  reclaim("needs", 30s);
  lab.run(28s);
  EXPECT_EQ(s.phase("a"), "Running");
  lab.run(4s);
  EXPECT_EQ(s.phase("a"), "Interrupted");
  const auto at =
      kube::parse_time(s.get("a").status()["interruptedTimestamps"][std::size_t{0}].text());
  EXPECT_LE(*at - deadline, 1s);
  EXPECT_GE(*at - deadline, -1s);
  lab.run(5s);
  EXPECT_EQ(lab.get(kube::kPod, {"default", "needs"}).member("spec")["nodeName"].text(), "n");
  lab.run(10min);
  EXPECT_EQ(s.phase("a"), "Interrupted") << "there is no room for both";
}

TEST_F(ScavengerReclaim, F7_NobodyEndsWhoseRoomIsNotNeededAnyMore) {
  begin();
  s.pod("needs", "6");
  lab.run(2s);
  reclaim("needs", 30s);
  lab.run(5s);
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "needs"}));
  lab.run(1min);
  EXPECT_EQ(s.phase("a"), "Running");
  EXPECT_EQ(s.count("a"), 0);
  EXPECT_EQ(s.condition("a", "Running"), "True Running");
  EXPECT_EQ(s.pods("a").at(0).annotation(kube::kCheckpointRequestedAnnotation), "");
  EXPECT_EQ(s.get("a").annotation(kube::kReclaimAnnotation), "");
  EXPECT_FALSE(s.get("a").status()["reclaim"].present());
}

TEST_F(ScavengerReclaim, F16_WhoGaveWayDoesNotComeBackWhileThatPodWaits) {
  begin("", "1");
  s.pod("needs", "20");  // fits nowhere, ever
  s.policy(R"("respectPending":false)");
  lab.run(2s);
  reclaim("needs", 1s);
  lab.run(10min);
  EXPECT_EQ(s.phase("a"), "Interrupted");
  EXPECT_EQ(s.count("a"), 1);
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "needs"}));
  lab.run(2min);
  EXPECT_EQ(s.phase("a"), "Running");
}

TEST_F(ScavengerReclaim, F15_AnElasticJobIsMadeSmallerBeforeItIsEnded) {
  begin(R"("elastic":{"min":{"cpu":"3"}})");
  s.pod("needs", "6");
  lab.run(2s);
  reclaim("needs", 30s);
  lab.run(1min);
  EXPECT_EQ(s.phase("a"), "Running");
  EXPECT_EQ(s.count("a"), 0);
  EXPECT_EQ(s.get("a").status()["resizes"].integer(), 1);
  const Object pod = s.pods("a").at(0);
  const json::Slice now = pod.member("spec")["containers"][std::size_t{0}]["resources"];
  EXPECT_EQ(now["requests"]["cpu"].text(), "3");
  EXPECT_EQ(now["limits"]["cpu"].text(), "3") << "of the same quality of service as before";
  EXPECT_EQ(lab.get(kube::kPod, {"default", "needs"}).member("spec")["nodeName"].text(), "n");
}

TEST_F(ScavengerReclaim, R56_ContainersAreSnapshottedBeforeTheyGo) {
  s.policy(R"("containerSnapshots":"On")");
  begin();
  std::vector<std::string> posts;
  lab.server.posted = [&](const std::string& path, Done<kube::ApiReply> done) {
    EXPECT_THAT(s.pods("a"), SizeIs(1)) << "before it goes";
    EXPECT_FALSE(s.pods("a").at(0).deleting());
    posts.push_back(path);
    kube::ApiReply reply;
    reply.body = R"({"items":["/var/lib/kubelet/checkpoints/a.tar"]})";
    done(std::move(reply));
  };
  s.pod("needs", "6");
  lab.run(2s);
  const Object pod = s.pods("a").at(0);
  reclaim("needs", 30s);
  lab.run(3s);
  ASSERT_THAT(posts, SizeIs(1));
  EXPECT_THAT(posts[0],
              testing::StartsWith(fmt::format(
                  "/api/v1/nodes/n/proxy/checkpoint/default/{}/main?timeout=", pod.name())));
  EXPECT_EQ(s.phase("a"), "Running") << "its notice is not over";
  lab.run(30s);
  EXPECT_EQ(s.phase("a"), "Interrupted");
  EXPECT_THAT(posts, SizeIs(1));
  const Object job = s.get("a");
  const json::Slice taken = job.status()["snapshots"][std::size_t{0}];
  EXPECT_EQ(taken["pod"].text(), pod.name());
  EXPECT_EQ(taken["container"].text(), "main");
  EXPECT_EQ(taken["node"].text(), "n");
  EXPECT_EQ(taken["archive"].text(), "/var/lib/kubelet/checkpoints/a.tar");
}

TEST_F(ScavengerReclaim, R56_ASnapshotThatFailsKeepsNobodyWaiting) {
  goes_in_time_with_snapshots_on();  // there is no such path
  EXPECT_THAT(s.get("a").status()["snapshots"][std::size_t{0}]["message"].text(),
              HasSubstr("no such path"));
}

TEST_F(ScavengerReclaim, R56_ASnapshotThatHangsKeepsNobodyWaiting) {
  std::vector<Done<kube::ApiReply>> never;
  lab.server.posted = [&](const std::string&, Done<kube::ApiReply> done) {
    never.push_back(std::move(done));
  };
  goes_in_time_with_snapshots_on();
  EXPECT_THAT(never, SizeIs(1));
  EXPECT_TRUE(s.get("a").status()["snapshots"][std::size_t{0}]["message"].present());
}

TEST_F(ScavengerReclaim, R56_AStatusDoesNotChooseWhatIsPostedTo) {
  s.policy(R"("containerSnapshots":"On")");
  begin();
  int posts = 0;
  lab.server.posted = [&](const std::string&, Done<kube::ApiReply> done) {
    ++posts;
    done(kube::ApiReply{});
  };
  ASSERT_TRUE(lab.patch(
      kube::kPod, s.pods("a").at(0).key(),
      R"({"status":{"containerStatuses":[{"name":"x/../../../../run/kube-system/p/c?cmd=id","state":{"running":{}}}]}})",
      "status"));
  s.pod("needs", "6");
  lab.run(2s);
  reclaim("needs", 10s);
  lab.run(15s);
  EXPECT_EQ(s.phase("a"), "Interrupted");
  EXPECT_EQ(posts, 0);
}

TEST_F(ScavengerReclaim, R56_NobodyIsSnapshottedWhoReportsOrWhereThePolicyDoesNotSaySo) {
  begin();
  int posts = 0;
  lab.server.posted = [&](const std::string&, Done<kube::ApiReply> done) {
    ++posts;
    done(kube::ApiReply{});
  };
  s.pod("needs", "6");
  lab.run(2s);
  reclaim("needs", 10s);
  lab.run(15s);
  EXPECT_EQ(s.phase("a"), "Interrupted");
  EXPECT_EQ(posts, 0) << "off is what the policy says from the start";
  s.policy(R"("containerSnapshots":"On")");
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "needs"}));
  lab.run(5min);
  ASSERT_EQ(s.phase("a"), "Running");
  lab.run(5min);
  s.report(s.pods("a").at(0), s.now());
  lab.run(1min);
  s.pod("needs", "6");
  lab.run(2s);
  reclaim("needs", 10s);
  lab.run(15s);
  EXPECT_EQ(s.phase("a"), "Interrupted");
  EXPECT_EQ(posts, 0) << "it writes checkpoints itself";
}

TEST_F(ScavengerReclaim, F15_WhoWasMadeSmallerGetsItBack) {
  begin(R"("elastic":{"min":{"cpu":"3"}})");
  s.pod("needs", "6");
  lab.run(2s);
  reclaim("needs", 30s);
  lab.run(1min);
  s.pod("waits", "8");
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "needs"}));
  lab.run(1min);
  const auto cores = [&](const char* part) {
    const Object pod = s.pods("a").at(0);
    return pod.member("spec")["containers"][std::size_t{0}]["resources"][part]["cpu"].text();
  };
  EXPECT_EQ(cores("requests"), "3") << "an ordinary pod waits for that room";
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "waits"}));
  lab.run(1min);
  EXPECT_EQ(cores("requests"), "6");
  EXPECT_EQ(cores("limits"), "6");
  EXPECT_EQ(s.get("a").status()["resizes"].integer(), 2);
  EXPECT_EQ(s.count("a"), 0);
  lab.run(10min);
  EXPECT_EQ(s.get("a").status()["resizes"].integer(), 2);
}

TEST_F(ScavengerReclaim, F6_AReportMovesTheBasisAndLiesOnlyCheapen) {
  begin(R"("duration":"30m")");
  lab.run(12min);
  const WallTime told = s.now() - 1min;
  s.report(s.pods("a").at(0), told);
  lab.run(5s);
  auto basis = read_cost(s.get("a").status()["cost"]);
  ASSERT_TRUE(basis);
  EXPECT_TRUE(basis->reported);
  EXPECT_LT(basis->since - told, 1s);
  EXPECT_EQ(s.get("a").status()["checkpoint"]["count"].integer(), 1);

  s.report(s.pods("a").at(0), s.now() + 24h);
  lab.run(10min);
  basis = read_cost(s.get("a").status()["cost"]);
  EXPECT_LE(basis->since, s.now()) << "nobody has checkpointed in the future";
}

TEST_F(ScavengerReclaim, F24_ReportsKeepWithinTheBudgetOfWrites) {
  begin(R"("duration":"30m")");
  lab.run(1min);
  std::uint64_t writes = 0;
  auto inner = std::move(lab.server.on_commit);
  lab.server.on_commit = [&, inner = std::move(inner)](KindId kind, const Object& object) mutable {
    inner(kind, object);
    writes += kind == kinds().job ? 1 : 0;
  };
  for (int i = 0; i < 8 * 60; ++i) {  // every 15 s for two hours
    lab.run(15s);
    s.report(s.pods("a").at(0), s.now());
  }
  EXPECT_LE(writes, 4U * (3 + 2));
  EXPECT_GE(writes, 4U * 3);
}

TEST_F(ScavengerReclaim, F24_AReportThatChangesMuchIsWrittenAtOnce) {
  begin(R"("duration":"4h")");
  lab.run(1min);
  s.report(s.pods("a").at(0), s.now());
  lab.run(81min);  // a step was written a moment ago
  const WallTime told = s.now();
  s.report(s.pods("a").at(0), told);
  lab.run(5s);
  EXPECT_LT(told - read_cost(s.get("a").status()["cost"])->since, 1s);
  lab.run(10min);
  const WallTime little = s.now();
  s.report(s.pods("a").at(0), little);
  lab.run(5s);
  EXPECT_GT(little - read_cost(s.get("a").status()["cost"])->since, 9min) << "it can wait";
  lab.run(48min);
  EXPECT_LT(little - read_cost(s.get("a").status()["cost"])->since, 1s);
}

TEST_F(ScavengerReclaim, F17_NobodyIsAdvisedToWaitLongerThanItsWindow) {
  begin(R"("duration":"15m")", "1");
  for (int i = 0; i < 3; ++i) {
    lab.run(5h);
    const Object pod = s.pods("a").at(0);
    ASSERT_TRUE(lab.patch(kube::kPod, pod.key(),
                          fmt::format(R"({{"metadata":{{"annotations":{{"{}":"2m","{}":"{}"}}}}}})",
                                      kCheckpointCostAnnotation, kube::kCheckpointAnnotation,
                                      kube::time_text(s.now()))));
    lab.run(1h);
    s.erase_pod(s.pods("a").at(0));
    lab.run(3min);
  }
  const auto advised =
      kube::parse_duration(s.get("a").status()["checkpoint"]["advisedInterval"].text());
  ASSERT_TRUE(advised);
  EXPECT_LT(*advised, 15min) << "admission asks as much of an interval";
  EXPECT_GT(*advised, 12min);
}

TEST_F(ScavengerReclaim, Exit85IsACheckpointAtItsEnd) {
  begin(R"("duration":"30m")");
  lab.run(12min);
  s.end(s.pods("a").at(0), 85);
  lab.run(5s);
  const Object job = s.get("a");
  EXPECT_EQ(s.phase("a"), "Interrupted");
  EXPECT_LE(*job.status()["lostCoreSeconds"].integer(), 7);
  EXPECT_EQ(job.status()["checkpoint"]["count"].integer(), 1);
  lab.run(2min);
  EXPECT_EQ(s.phase("a"), "Running");
}

TEST_F(ScavengerReclaim, F17_AdviceFollowsFromWhatWasMeasured) {
  begin(R"("duration":"30m","checkpoint":{"interval":"5m"})", "1");
  for (int i = 0; i < 30; ++i) {
    lab.run(40min);
    ASSERT_EQ(s.phase("a"), "Running");
    const Object pod = s.pods("a").at(0);
    ASSERT_TRUE(
        lab.patch(kube::kPod, pod.key(),
                  fmt::format(R"({{"metadata":{{"annotations":{{"{}":"20s","{}":"{}"}}}}}})",
                              kCheckpointCostAnnotation, kube::kCheckpointAnnotation,
                              kube::time_text(s.now()))));
    lab.run(20min);
    s.erase_pod(s.pods("a").at(0));
    lab.run(3min);
  }
  const auto advised =
      kube::parse_duration(s.get("a").status()["checkpoint"]["advisedInterval"].text());
  ASSERT_TRUE(advised);
  EXPECT_NEAR(static_cast<double>(*advised / 1s), 379, 379 * 0.05) << "sqrt(2 x 20 s x 1 h)";
  std::string told;
  const Object pod = s.pods("a").at(0);
  for (const json::Slice one : pod.member("spec")["containers"][std::size_t{0}]["env"].elements())
    if (one["name"].equals("SJ_CHECKPOINT_INTERVAL")) told = one["value"].text();
  EXPECT_EQ(kube::parse_duration(told), advised);
}

}  // namespace
}  // namespace berth::controllers::stories
