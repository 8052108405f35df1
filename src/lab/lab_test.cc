// SPDX-License-Identifier: Apache-2.0
#include "bench_for_test.h"
#include "kube/pod_view.h"

namespace berth::lab {
namespace {

using ::testing::HasSubstr;

TEST(SimulatedNodes, AreReadyWithAddressesCapacityAndALeaseWhenTheyAreMade) {
  Bench bench(some_nodes(12));
  ASSERT_TRUE(bench.started && bench.started->has_value());
  EXPECT_EQ(bench.store.count(kube::kNode), 12u);
  EXPECT_EQ(bench.lab->counts().nodes, 12u);
  const kube::Object* node = bench.node("node-07");
  ASSERT_NE(node, nullptr);
  EXPECT_TRUE(kube::find_condition(node->status(), "Ready")["status"].equals("True"));
  EXPECT_EQ(node->status()["addresses"][std::size_t{0}]["address"].text(), "172.16.0.8");
  EXPECT_EQ(node->status()["allocatable"]["cpu"].text(), "16");
  EXPECT_EQ(node->member("spec")["podCIDR"].text(), "10.0.7.0/24");
  EXPECT_EQ(node->label("topology.kubernetes.io/zone"), "lab-b");
  EXPECT_EQ(node->label("kubernetes.io/hostname"), "node-07");
  const kube::Object* lease = bench.lease("node-07");
  ASSERT_NE(lease, nullptr);
  EXPECT_EQ(lease->member("spec")["holderIdentity"].text(), "node-07");
  EXPECT_EQ(lease->owners().at(0).uid, node->uid());
}

TEST(SimulatedNodes, RenewTheirLeasesEveryTenSecondsAndTheirStatusEveryFiveMinutes) {
  Bench bench(some_nodes(3));
  const std::uint64_t before = bench.lab->counts().renewals;
  bench.world.run_for(100s);
  EXPECT_NEAR(static_cast<double>(bench.lab->counts().renewals - before), 30, 1);
  const auto renewed = kube::parse_time(bench.lease("node-1")->member("spec")["renewTime"].text());
  EXPECT_LE(bench.world.clock().wall() - *renewed, 10s);
  bench.world.run_for(15min);
  const json::Slice ready = kube::find_condition(bench.node("node-1")->status(), "Ready");
  const auto heartbeat = kube::parse_time(ready["lastHeartbeatTime"].text());
  EXPECT_LE(bench.world.clock().wall() - *heartbeat, 5min + 11s);
  EXPECT_EQ(*kube::parse_time(ready["lastTransitionTime"].text()), World::kNewYear2026);
}

TEST(SimulatedNodes, OnDemandRenewOnlyWhenSomebodyLooks) {
  LabOptions options = some_nodes(3);
  options.heartbeat = Heartbeat::kOnDemand;
  Bench bench(options);
  bench.world.run_for(24h);
  EXPECT_EQ(bench.lab->counts().renewals, 3u);
  EXPECT_TRUE(bench.world.run_until_idle(1h)) << "heartbeats keep no world busy";
  bench.world.run_for(3s);
  bench.lab->renew_due();
  EXPECT_EQ(bench.lab->counts().renewals, 6u);
  const auto renewed = kube::parse_time(bench.lease("node-1")->member("spec")["renewTime"].text());
  EXPECT_LT(bench.world.clock().wall() - *renewed, 10s);
  const std::shared_ptr<void> watch = bench.lab->watch_leases();
  bench.world.run_for(100s);
  EXPECT_EQ(bench.lab->counts().renewals, 36u);
}

TEST(SimulatedNodes, CreatedByAUserGetTheStatusThatAKubeletGives) {
  LabOptions options;
  options.every_node = false;
  Bench bench(options);
  bench.create(kube::kNode, R"({"metadata":{"name":"real"},"spec":{}})");
  bench.create(kube::kNode, R"({"metadata":{"name":"mine","annotations":)"
                            R"({"kwok.x-k8s.io/node":"fake"}},"spec":{},)"
                            R"("status":{"capacity":{"cpu":"3"}}})");
  bench.world.run_for(1s);
  EXPECT_FALSE(bench.node("real")->status());
  EXPECT_EQ(bench.lease("real"), nullptr);
  const json::Slice status = bench.node("mine")->status();
  EXPECT_TRUE(kube::find_condition(status, "Ready")["status"].equals("True"));
  EXPECT_EQ(status["allocatable"].raw(), R"({"cpu":"3"})");
  EXPECT_FALSE(status["nodeInfo"]["kubeletVersion"].text().empty());
  EXPECT_NE(bench.lease("mine"), nullptr);
}

TEST(SimulatedNodes, GiveToPodsWhatExtendedResourcesTheyGain) {
  Bench bench(some_nodes(1));
  const auto gain = [&](std::string_view capacity) {
    bench.patch(kube::kNode, "node-0", fmt::format(R"({{"status":{{"capacity":{}}}}})", capacity));
    bench.world.run_for(1s);
    return std::string(bench.node("node-0")->status()["allocatable"]["example.com/gpu"].raw());
  };
  EXPECT_EQ(gain(R"({"example.com/gpu":"4","cpu":"17"})"), R"("4")");
  EXPECT_TRUE(bench.node("node-0")->status()["allocatable"]["cpu"].equals("16"));
  EXPECT_EQ(gain(R"({"example.com/gpu":null})"), "");
  // What a manifest states is kept.
  bench.create(kube::kNode, R"({"metadata":{"name":"mine"},"spec":{},)"
                            R"("status":{"allocatable":{"cpu":"3","example.com/gpu":"2"}}})");
  bench.world.run_for(1s);
  const json::Slice status = bench.node("mine")->status();
  EXPECT_TRUE(status["allocatable"]["example.com/gpu"].equals("2"));
  EXPECT_TRUE(status["capacity"]["example.com/gpu"].equals("2"));
}

TEST(SimulatedPods, GoFromPendingToRunningAsAKubeletWritesIt) {
  LabOptions options = some_nodes(1);
  options.pace.start = {2s, 2s};
  Bench bench(options);
  bench.create(PodText("web"));
  bench.world.run_for(1s);
  const json::Slice creating = bench.pod("web")->status();
  EXPECT_EQ(creating["phase"].text(), "Pending");
  EXPECT_EQ(creating["containerStatuses"][std::size_t{0}]["state"].raw(),
            R"({"waiting":{"reason":"ContainerCreating"}})");
  EXPECT_EQ(creating["hostIP"].text(), "172.16.0.1");
  EXPECT_EQ(creating["qosClass"].text(), "BestEffort");
  EXPECT_FALSE(creating["podIP"]);
  EXPECT_EQ(kube::find_condition(creating, "Ready")["message"].text(),
            "containers with unready status: [main]");

  bench.world.run_for(2s);
  const json::Slice running = bench.pod("web")->status();
  EXPECT_EQ(running["phase"].text(), "Running");
  EXPECT_EQ(running["podIP"].text(), "10.0.0.1");
  EXPECT_EQ(running["observedGeneration"].integer(), 1);
  std::vector<std::string> conditions;
  for (const json::Slice c : running["conditions"].elements())
    conditions.push_back(c["type"].text() + "=" + c["status"].text() + c["reason"].text());
  EXPECT_THAT(conditions,
              testing::ElementsAre("PodReadyToStartContainers=True", "Initialized=True",
                                   "Ready=True", "ContainersReady=True", "PodScheduled=True"));
  const json::Slice main = running["containerStatuses"][std::size_t{0}];
  EXPECT_TRUE(main["ready"].boolean() && main["started"].boolean());
  EXPECT_EQ(main["containerID"].text().size(), std::string("containerd://").size() + 64);
  EXPECT_EQ(main["state"]["running"]["startedAt"].text(), "2026-01-01T00:00:03Z");
}

TEST(SimulatedPods, EndWhenTheirTimeIsOverAndSayHow) {
  struct Row {
    const char* name;
    std::string policy, duration, code, phase, reason;
  };
  const Row rows[] = {
      {"well", "Never", "10s", "0", "Succeeded", "Completed"},
      {"badly", "Never", "10s", "3", "Failed", "Error"},
      {"well-on-failure", "OnFailure", "10s", "0", "Succeeded", "Completed"},
  };
  Bench bench(some_nodes(1));
  for (const Row& row : rows)
    bench.create(PodText(row.name)
                     .policy(row.policy)
                     .note("berth.dev/duration", row.duration)
                     .note("berth.dev/exit-code", row.code));
  bench.world.run_for(9s);
  for (const Row& row : rows) EXPECT_EQ(bench.phase(row.name), "Running") << row.name;
  bench.world.run_for(2s);
  for (const Row& row : rows) {
    EXPECT_EQ(bench.phase(row.name), row.phase) << row.name;
    const json::Slice end =
        bench.pod(row.name)->status()["containerStatuses"][std::size_t{0}]["state"]["terminated"];
    EXPECT_EQ(end["reason"].text(), row.reason) << row.name;
    EXPECT_EQ(end["exitCode"].integer(), std::stoi(row.code)) << row.name;
  }
  EXPECT_EQ(bench.lab->counts().finished, 3u);
  EXPECT_TRUE(bench.world.run_until_idle(1min)) << "who has ended has nothing to wait for";
}

TEST(SimulatedPods, DeletedStopWithinTheirGraceSayHowTheyEndedAndGo) {
  Bench bench(some_nodes(1));
  bench.create(PodText("quick").note("berth.dev/stop-time", "4s"));
  bench.create(PodText("slow").note("berth.dev/stop-time", "10m"));
  bench.create(PodText("held").finalizer("example.com/hold"));
  bench.world.run_for(1s);
  for (const char* name : {"quick", "slow", "held"}) bench.erase(kube::kPod, name, 30);
  bench.world.run_for(3s);
  EXPECT_EQ(bench.phase("quick"), "Running");
  EXPECT_EQ(bench.lab->counts().stopping, 3u);
  bench.world.run_for(2s);
  EXPECT_EQ(bench.phase("quick"), "gone");
  EXPECT_EQ(bench.phase("slow"), "Running");
  EXPECT_EQ(bench.phase("held"), "Succeeded");
  bench.world.run_for(26s);
  EXPECT_EQ(bench.phase("slow"), "gone");
  EXPECT_EQ(std::count(bench.api.requests.begin(), bench.api.requests.end(), "delete held"), 2)
      << "once by the user, once by the kubelet";
}

TEST(SimulatedPods, StopAfterTheirPreStopHooksButWithinTheirGrace) {
  Bench bench(some_nodes(1));
  const auto with_hook = [](std::string_view hook) {
    return fmt::format(
        R"({{"name":"main","image":"i","lifecycle":{{"preStop":{}}}}},{{"name":"other","image":"i"}})",
        hook);
  };
  bench.create(PodText("sleeps").container(with_hook(R"({"sleep":{"seconds":10}})")));
  bench.create(
      PodText("runs").container(with_hook(R"({"exec":{"command":["sh","-c","sleep 20"]}})")));
  bench.create(PodText("asks").container(with_hook(R"({"httpGet":{"path":"/bye","port":80}})")));
  bench.create(PodText("long").container(with_hook(R"({"sleep":{"seconds":100}})")));
  bench.world.run_for(1s);
  for (const char* name : {"sleeps", "runs", "asks", "long"}) bench.erase(kube::kPod, name, 30);
  const auto left = [&](Duration after) {
    bench.world.run_for(after);
    std::string out;
    for (const char* name : {"sleeps", "runs", "asks", "long"})
      if (bench.phase(name) == "Running") out += fmt::format("{} ", name);
    return out;
  };
  EXPECT_EQ(left(2s), "sleeps runs long ");
  EXPECT_EQ(left(7s), "sleeps runs long ");
  EXPECT_EQ(left(4s), "runs long ");
  EXPECT_EQ(left(10s), "long ");
  EXPECT_EQ(left(10s), "");
}

TEST(SimulatedPods, AskAboutTheirStatusWhileAWebhookWantsToHearOfIt) {
  Bench bench(some_nodes(1));
  const auto asked = [&](const char* pod) {
    bench.create(PodText(pod));
    bench.world.run_for(30s);
    EXPECT_EQ(bench.phase(pod), "Running");
    return std::count(bench.api.requests.begin(), bench.api.requests.end(),
                      fmt::format("patch {}/status", pod)) > 0;
  };
  const auto webhook = [&](const char* name, const char* resource) {
    bench.create(
        kube::kValidatingWebhookConfiguration,
        fmt::format(
            R"({{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{{"name":"{}"}},"webhooks":[{{"name":"a.b.c","rules":[{{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["{}"]}}]}}]}})",
            name, resource));
    bench.world.run_for(1s);
  };
  EXPECT_FALSE(asked("alone"));
  webhook("of-pods", "pods");
  EXPECT_FALSE(asked("with-one-about-pods"));
  webhook("of-all", "*/*");
  EXPECT_TRUE(asked("with-one-about-all"));
  bench.erase(kube::kValidatingWebhookConfiguration, "of-all");
  bench.world.run_for(1s);
  EXPECT_FALSE(asked("without-it-again"));
}

TEST(SimulatedPods, TryAgainWhenAWriteWasRefused) {
  LabOptions options = some_nodes(1);
  options.pace.start = {5s, 5s};
  options.always_ask = true;
  Bench bench(options);
  bench.create(PodText("web"));
  bench.world.run_for(4s);
  bench.api.refuse_next = 3;
  bench.world.run_for(2s);
  EXPECT_EQ(bench.phase("web"), "Pending");
  bench.world.run_for(3s);
  EXPECT_EQ(bench.phase("web"), "Running");
  EXPECT_THAT(bench.sink.text(), HasSubstr("refused for a test"));
}

}  // namespace
}  // namespace berth::lab
