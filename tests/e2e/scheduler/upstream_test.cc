// SPDX-License-Identifier: Apache-2.0
// Kubernetes' own end-to-end specs of the scheduler, on a cluster of kwok nodes: every spec that
// kube-scheduler passes here, Berth must pass. Some pass with nobody, because no container ever
// runs on a fake node; which ones, is found out each time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"
#include "scale.h"
#include "specs.h"

namespace berth::e2e {
namespace {

// What is alpha and off, and what needs a cloud's zones.
constexpr const char* kLeftOut = R"(\[Alpha\]|Multi-AZ)";

std::string node_json(int i) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{0}","labels":{{"kubernetes.io/hostname":"node-{0}","kubernetes.io/os":"linux","kubernetes.io/arch":"amd64"}}}},"status":{{"addresses":[{{"type":"InternalIP","address":"10.200.0.{0}"}},{{"type":"Hostname","address":"node-{0}"}}],"allocatable":{{"cpu":"4","memory":"16Gi","pods":"110","ephemeral-storage":"100Gi"}},"capacity":{{"cpu":"4","memory":"16Gi","pods":"110","ephemeral-storage":"100Gi"}},"conditions":[{{"type":"Ready","status":"True","reason":"Fake","message":""}}],"nodeInfo":{{"architecture":"amd64","bootID":"","containerRuntimeVersion":"fake://1","kernelVersion":"6","kubeProxyVersion":"","kubeletVersion":"v1.36.4","machineID":"","operatingSystem":"linux","osImage":"","systemUUID":""}}}}}})",
      i);
}

Outcomes outcomes_with(Subject subject, const std::string& program) {
  auto started = Cluster::start(
      {.controllers = {"serviceaccount-controller", "root-ca-certificate-publisher-controller",
                       "namespace-controller", "replicaset-controller",
                       "replicationcontroller-controller", "deployment-controller",
                       "garbage-collector-controller", "disruption-controller",
                       "persistentvolume-binder-controller", "taint-eviction-controller"},
       .kwok = true,
       .without_admission = "TaintNodesByCondition"});
  EXPECT_TRUE(started) << started.error().message;
  if (!started) return {};
  Cluster& cluster = **started;
  std::vector<NewObject> nodes;
  for (int i = 1; i <= 4; ++i) nodes.push_back({kube::kNode, "", node_json(i)});
  const auto made = cluster.create_all(std::move(nodes));
  EXPECT_TRUE(made) << made.error().message;
  auto scheduler = cluster.start_scheduler(subject);
  EXPECT_TRUE(scheduler) << scheduler.error().message;
  if (!made || !scheduler) return {};
  auto out =
      run_specs(program, cluster.plane().kubeconfig(), cluster.plane().folder().path(), kLeftOut);
  EXPECT_TRUE(out) << out.error().message;
  return out ? *std::move(out) : Outcomes();
}

TEST(Upstream, EverySpecThatKubeSchedulerPassesIsPassed) {
  if (!nightly()) GTEST_SKIP() << "takes many minutes: `make nightly` runs it";
  const auto program = specs_program();
  if (!program) GTEST_SKIP() << program.error().message;

  fmt::print("{}\n", name_of(Subject::kStock));
  const Outcomes theirs = outcomes_with(Subject::kStock, *program);
  const bool all = all_specs();
  EXPECT_GE(theirs.size(), all ? 20u : 1u) << "specs are missing";
  if (const auto there = program_of(Subject::kBerth); !there) GTEST_SKIP() << there.error().message;
  fmt::print("{}\n", name_of(Subject::kBerth));
  Outcomes ours = outcomes_with(Subject::kBerth, *program);
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
