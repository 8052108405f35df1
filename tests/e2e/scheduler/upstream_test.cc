// SPDX-License-Identifier: Apache-2.0
// Kubernetes' own end-to-end specs of the scheduler, on a cluster of kwok nodes: every spec that
// kube-scheduler passes here, Berth must pass. Some pass with nobody, because no container ever
// runs on a fake node; which ones, is found out each time.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"
#include "scale.h"

namespace berth::e2e {
namespace {

// BERTH_SPECS, a regular expression, narrows the choice down while one looks for a fault.
// Left out: what is alpha and off, and what needs a cloud's zones.
std::string focus() {
  const char* given = std::getenv("BERTH_SPECS");
  return fmt::format(R"(\[sig-scheduling\].*{})", given != nullptr ? given : "");
}
constexpr const char* kSkip = R"(\[Alpha\]|Multi-AZ)";

std::string node_json(int i) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{0}","labels":{{"kubernetes.io/hostname":"node-{0}","kubernetes.io/os":"linux","kubernetes.io/arch":"amd64"}}}},"status":{{"addresses":[{{"type":"InternalIP","address":"10.200.0.{0}"}},{{"type":"Hostname","address":"node-{0}"}}],"allocatable":{{"cpu":"4","memory":"16Gi","pods":"110","ephemeral-storage":"100Gi"}},"capacity":{{"cpu":"4","memory":"16Gi","pods":"110","ephemeral-storage":"100Gi"}},"conditions":[{{"type":"Ready","status":"True","reason":"Fake","message":""}}],"nodeInfo":{{"architecture":"amd64","bootID":"","containerRuntimeVersion":"fake://1","kernelVersion":"6","kubeProxyVersion":"","kubeletVersion":"v1.36.4","machineID":"","operatingSystem":"linux","osImage":"","systemUUID":""}}}}}})",
      i);
}

using Outcomes = std::map<std::string, std::string>;  // by spec: passed, failed, …

Outcomes run_specs(Subject subject, const std::string& program) {
  Outcomes out;
  auto started = Cluster::start(
      {.controllers = {"serviceaccount-controller", "root-ca-certificate-publisher-controller",
                       "namespace-controller", "replicaset-controller",
                       "replicationcontroller-controller", "deployment-controller",
                       "garbage-collector-controller", "disruption-controller",
                       "persistentvolume-binder-controller", "taint-eviction-controller"},
       .kwok = true,
       .without_admission = "TaintNodesByCondition"});
  EXPECT_TRUE(started) << started.error().message;
  if (!started) return out;
  Cluster& cluster = **started;
  std::vector<NewObject> nodes;
  for (int i = 1; i <= 4; ++i) nodes.push_back({kube::kNode, "", node_json(i)});
  const auto made = cluster.create_all(std::move(nodes));
  EXPECT_TRUE(made) << made.error().message;
  auto scheduler = cluster.start_scheduler(subject);
  EXPECT_TRUE(scheduler) << scheduler.error().message;
  if (!made || !scheduler) return out;

  const auto folder = cluster.plane().folder().path();
  const auto report = folder / "specs.json";
  auto specs = Child::start(
      {.program = program,
       .args = {"--provider=skeleton", "--kubeconfig=" + cluster.plane().kubeconfig().string(),
                "--ginkgo.focus=" + focus(), std::string("--ginkgo.skip=") + kSkip,
                "--ginkgo.json-report=" + report.string(), "--ginkgo.no-color",
                "--ginkgo.timeout=1h", "--ginkgo.seed=1", "--allowed-not-ready-nodes=-1",
                "--minStartupPods=0"},
       .env = {"HOME=" + folder.string()},
       .log = folder / "specs.log"});
  EXPECT_TRUE(specs) << specs.error().message;
  if (!specs) return out;
  EXPECT_TRUE((*specs)->wait(std::chrono::minutes(65)));
  std::ifstream file(report);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(text.empty()) << (*specs)->log_tail();
  if (text.empty()) return out;
  for (json::Slice spec : json::Slice(text)[std::size_t{0}]["SpecReports"].elements()) {
    const std::string state = spec["State"].text();
    if (!spec["LeafNodeType"].equals("It") || state == "skipped") continue;
    std::string name;
    for (json::Slice part : spec["ContainerHierarchyTexts"].elements()) name += part.text() + " ";
    name += spec["LeafNodeText"].text();
    out[name] = state;
    fmt::print("  {:<7} {:>4} s  {}\n", state,
               spec["RunTime"].integer().value_or(0) / 1'000'000'000, name);
    if (state != "passed") fmt::print("    {}\n", spec["Failure"]["Message"].text().substr(0, 600));
  }
  std::fflush(stdout);  // the other run takes a while
  return out;
}

TEST(Upstream, EverySpecThatKubeSchedulerPassesIsPassed) {
  if (!nightly()) GTEST_SKIP() << "takes many minutes: runs under the label nightly";
  const std::string command = std::string(BERTH_SOURCE_DIR) + "/tests/e2e/scheduler/upstream/build";
  FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  char line[4096] = "";
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
  }
  if (::pclose(pipe) != 0) GTEST_SKIP() << "no Go: the specs are not there; `make real` builds it";
  std::string program = line;
  while (!program.empty() && program.back() == '\n') program.pop_back();

  fmt::print("{}\n", name_of(Subject::kStock));
  const Outcomes theirs = run_specs(Subject::kStock, program);
  const bool all = std::getenv("BERTH_SPECS") == nullptr;
  EXPECT_GE(theirs.size(), all ? 20u : 1u) << "specs are missing";
  if (const auto there = program_of(Subject::kBerth); !there) GTEST_SKIP() << there.error().message;
  fmt::print("{}\n", name_of(Subject::kBerth));
  Outcomes ours = run_specs(Subject::kBerth, program);
  int passed = 0;
  for (const auto& [name, state] : theirs) {
    if (state != "passed") continue;
    ++passed;
    EXPECT_EQ(ours[name], "passed") << name;
  }
  EXPECT_GE(passed, all ? 20 : 0) << "too few to tell anything";
}

}  // namespace
}  // namespace berth::e2e
