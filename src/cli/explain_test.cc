// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/run_for_test.h"
#include "cli/scheduler_config.h"
#include "json/cursor.h"
#include "json/slice.h"
#include "scheduler/plugins/registry.h"

namespace berth::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kCase[] =
    R"({"id":"one","nodes":[)"
    R"({"metadata":{"name":"small"},"status":{"allocatable":{"cpu":"1","memory":"4Gi","pods":"10"}}},)"
    R"({"metadata":{"name":"big"},"status":{"allocatable":{"cpu":"8","memory":"16Gi","pods":"10"}}}],)"
    R"("pending":{"metadata":{"name":"web","namespace":"default","uid":"u"},)"
    R"("spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}}})";

// A file of its own, gone with the test.
class Explain : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "berth-explain-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Ran explained(const std::string& text) {
    const std::string path = (folder_ / "cases.jsonl").string();
    std::ofstream(path) << text;
    return berth({"explain", "--cases", path});
  }
  std::filesystem::path folder_;
};

TEST_F(Explain, SaysWhichNodeWhichNotAndWhy) {
  const Ran got = explained(std::string(kCase) + "\n");
  EXPECT_EQ(got.code, kExitOk) << got.err;
  ASSERT_TRUE(json::check(got.out));
  const json::Slice answer{std::string_view(got.out)};
  EXPECT_EQ(answer["id"].text(), "one");
  EXPECT_TRUE(answer["preFilter"]["fits"].boolean());
  EXPECT_FALSE(answer["filter"]["small"]["fits"].boolean());
  EXPECT_EQ(answer["filter"]["small"]["plugin"].text(), "NodeResourcesFit");
  EXPECT_EQ(answer["filter"]["small"]["reasons"][0].text(), "Insufficient cpu");
  EXPECT_TRUE(answer["filter"]["big"]["fits"].boolean());
  EXPECT_GT(answer["totals"]["big"].integer().value_or(0), 0);
  EXPECT_EQ(answer["chosen"].text(), "big");
  EXPECT_EQ(answer["order"].raw(), R"(["small","big"])");
}

TEST_F(Explain, AnswersEveryLineAndNamesTheOneThatIsWrong) {
  const Ran got = explained(std::string(kCase) + "\n\n{\"id\":\"two\"}\n");
  EXPECT_EQ(got.code, kExitFailed);
  EXPECT_EQ(std::count(got.out.begin(), got.out.end(), '\n'), 1);
  EXPECT_THAT(got.err, AllOf(StartsWith("berth explain: "),
                             HasSubstr("cases.jsonl:3: pending: is missing")));
}

TEST_F(Explain, AFileWithoutCasesOrNoFileIsAnError) {
  EXPECT_EQ(explained("\n").code, kExitFailed);
  const Ran got = berth({"explain", "--cases", (folder_ / "none").string()});
  EXPECT_EQ(got.code, kExitFailed);
  EXPECT_THAT(got.err, HasSubstr("cannot be read"));
  EXPECT_EQ(berth({"explain", "--cases", folder_.string()}).code, kExitFailed);
}

TEST_F(Explain, WithoutAnythingToExplainIsBadUsage) {
  const Ran got = berth({"explain"});
  EXPECT_EQ(got.code, kExitUsage);
  EXPECT_THAT(got.err, HasSubstr("--cases"));
}

TEST(ExplainPod, BadUsageSaysHowItIsRight) {
  const struct {
    std::vector<std::string> arguments;
    const char* says;
  } kRows[] = {
      {{"explain", "pod"}, "say which pod: berth explain pod NAME"},
      {{"explain", "node", "a"}, "\"node\" cannot be explained, only a pod, a job"},
      {{"explain", "slot"}, "say which slot: berth explain slot TESTBED/NUMBER"},
      {{"explain", "slot", "tb"}, "\"tb\" is no slot: write TESTBED/NUMBER"},
      {{"explain", "slot", "tb/x"}, "\"tb/x\" is no slot"},
      {{"explain", "pod", "a", "--cases", "f"}, "say what to explain"},
      {{"explain", "pod", "a", "--config", "/does/not/exist"}, "/does/not/exist: cannot be read"},
      {{"explain", "pod", "a", "--kubeconfig", "/does/not/exist"}, "/does/not/exist"},
  };
  for (const auto& row : kRows) {
    const Ran got = berth(row.arguments);
    EXPECT_EQ(got.code, kExitUsage) << got.err;
    EXPECT_THAT(got.err, HasSubstr(row.says));
    EXPECT_EQ(got.out, "");
  }
}

TEST_F(Explain, JudgesAPodOfManifestsWithoutACluster) {
  const std::string cluster = "examples/manifests/cluster.yaml";
  const Ran got = berth({"explain", "pod", "sweep-2", "-n", "research", "-f", cluster});
  EXPECT_EQ(got.code, kExitOk) << got.err;
  EXPECT_EQ(got.err, "");
  EXPECT_THAT(got.out, HasSubstr("It would go to fjord-1: the best of 3 nodes that fit, of 6"));

  const Ran elsewhere = berth({"explain", "pod", "sweep-2", "-f", cluster});
  EXPECT_EQ(elsewhere.code, kExitFailed);
  EXPECT_EQ(elsewhere.err,
            "berth explain: pod default/sweep-2 does not exist; one of that name is in research "
            "(choose with --namespace)\n");
  EXPECT_EQ(berth({"explain", "pod", "p", "-f", (folder_ / "none").string()}).code, kExitFailed);
}

TEST_F(Explain, GivesManifestsWhatAnApiServerWouldAdd) {
  const std::string path = (folder_ / "cluster.yaml").string();
  std::ofstream(path) << R"(
apiVersion: v1
kind: Node
metadata: {name: node-1}
status: {allocatable: {cpu: "2", pods: "10"}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {volumeName: v, accessModes: [ReadWriteOnce]}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {nodeName: node-1, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec: {nodeName: node-1, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: q}
spec: {containers: [{name: c}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}
)";
  EXPECT_THAT(berth({"explain", "pod", "p", "-f", path}).out,
              HasSubstr("0/1 nodes are available: 1 Insufficient cpu."))
      << "both pods without a uid count";
  EXPECT_THAT(berth({"explain", "pod", "q", "-f", path}).out, HasSubstr("unbound immediate"))
      << "the claim is in the pod's namespace";
}

TEST(SchedulerConfigFile, WithoutOneTheProfileIsTheDefault) {
  const auto config = load_scheduler_config("");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(config->profiles.size(), 1u);
  EXPECT_EQ(config->profiles[0].spec.points, scheduler::default_profile().points);
}

TEST(SchedulerConfigFile, TheExamplesAreRight) {
  for (const char* path : {"examples/scheduler/beside.yaml", "examples/scheduler/random.yaml"}) {
    const auto config = load_scheduler_config(path);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_TRUE(config->warnings.empty()) << config->warnings.front();
    EXPECT_EQ(config->profiles.size(), 1u);
  }
}

constexpr char kTestbeds[] = R"(
apiVersion: batchjob.gcr.io/v1alpha1
kind: BatchJob
metadata: {name: a, namespace: default, uid: ua, generation: 1, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {sparkSpec: {}, activeScheduling: {name: s, uid: us}}
status:
  {observedGeneration: 1, state: Failed, run: 1, closedRun: 1, conditions:
    [{type: Degraded, status: "True", reason: ApplicationFailed, message: the driver exited with 1}]}
---
apiVersion: batchjob.gcr.io/v1alpha1
kind: Scheduling
metadata: {name: s, namespace: default, uid: us, generation: 1, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {testbed: {name: tb}, queueBased: [{name: a}]}
status:
  {observedGeneration: 1, state: Submitting, acquiredTime: "2026-01-01T00:00:00Z", conditions:
    [{type: Acquired, status: "True", reason: Acquired},
     {type: Progressing, status: "False", reason: JobFailed, message: BatchJob default/a has failed}]}
)";

TEST_F(Explain, P_20_FollowsWhatASchedulingWaitsForToItsCause) {
  const std::string path = (folder_ / "testbeds.yaml").string();
  std::ofstream(path) << kTestbeds;
  const Ran got = berth({"explain", "scheduling", "s", "-f", path});
  EXPECT_EQ(got.code, kExitOk) << got.err;
  EXPECT_EQ(got.out,
            "Scheduling default/s (Submitting)\n"
            "  Scheduling default/s waits: BatchJob default/a has failed\n"
            "Cause:\n"
            "  BatchJob default/a has failed: the driver exited with 1\n"
            "Remedy:\n"
            "  Read the driver's log; then reset the job, or give it a retryPolicy.\n");
  const Ran json = berth({"explain", "job", "a", "-f", path, "-o", "json"});
  ASSERT_TRUE(json::check(json.out)) << json.out << json.err;
  EXPECT_EQ(json::Slice(std::string_view(json.out))["subject"].text(), "BatchJob default/a");
  EXPECT_FALSE(json::Slice(std::string_view(json.out))["well"].boolean());
  const Ran nobody = berth({"explain", "job", "b", "-f", path});
  EXPECT_EQ(nobody.code, kExitFailed);
  EXPECT_THAT(nobody.err, HasSubstr("BatchJob default/b does not exist"));
}

}  // namespace
}  // namespace berth::cli
