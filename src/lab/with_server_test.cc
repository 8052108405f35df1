// SPDX-License-Identifier: Apache-2.0
// The lab behind the real request path: every status it writes is one that the server takes.
#include "apiserver/serve/test_server.h"
#include "kube/pod_view.h"
#include "kube/time.h"
#include "lab/attach.h"
#include "lab/stages/stages.h"

namespace berth::lab {
namespace {

using apiserver::TestServer;
using testing::Contains;
using testing::ElementsAre;
using testing::StartsWith;

class WithServer : public testing::TestWithParam<bool> {
 protected:
  void start(LabOptions options) {
    options.always_ask = GetParam();
    lab = std::make_unique<Lab>(
        server.scope(),
        LabParts{server.store(), server.server(), Random(1), Logger(log, server.world.clock())},
        std::move(options));
    attach(server.scope(), server.server(), *lab);
    std::optional<Result<Ok>> ready;
    lab->start(server.scope().done<Ok>(1h, [&](Result<Ok> r) { ready = std::move(r); }));
    server.world.run_for(1s);
    ASSERT_TRUE(ready && ready->has_value()) << (ready ? ready->error().message : "not answered");
  }
  void TearDown() override { EXPECT_EQ(log.text(), ""); }
  kube::Object pod(const std::string& name) {
    return server.get(kube::kPod, {"default", name}).value_or(kube::Object());
  }
  void create(std::string_view name, std::string_view metadata, std::string_view spec) {
    const Result<kube::Object> made =
        server.create(kube::kPod, "default", apiserver::pod_json(name, metadata, spec));
    ASSERT_TRUE(made.has_value()) << made.error().message;
  }

  StringSink log;
  std::unique_ptr<Lab> lab;  // outlives the server's scope
  TestServer server;
};

INSTANTIATE_TEST_SUITE_P(Ways, WithServer, testing::Bool(),
                         [](const auto& row) { return row.param ? "Asked" : "Straight"; });

LabOptions options_for(std::size_t nodes) {
  LabOptions options;
  options.nodes = nodes;
  options.pace = kAtOnce;
  return options;
}

TEST_P(WithServer, NodesAreReadyAndPodsRunEndAndGo) {
  start(options_for(3));
  EXPECT_EQ(server.list(kube::kNode)->items.size(), 3u);
  create("web", "", R"(,"nodeName":"node-1")");
  create("job", R"(,"annotations":{"berth.dev/duration":"10s"})",
         R"(,"nodeName":"node-1","restartPolicy":"Never")");
  server.world.run_for(1s);
  EXPECT_EQ(pod("web").status()["phase"].text(), "Running") << pod("web").json();
  EXPECT_EQ(pod("web").status()["qosClass"].text(), "BestEffort");
  EXPECT_EQ(pod("web").status()["podIP"].text(), "10.0.1.1");
  server.world.run_for(15s);
  EXPECT_EQ(pod("job").status()["phase"].text(), "Succeeded");
  ASSERT_TRUE(server.erase(kube::kPod, {"default", "web"}).has_value());
  server.world.run_for(35s);
  EXPECT_FALSE(pod("web").valid());
}

// "Reason FIELDPATH message xCOUNT", in the order of what was told.
std::vector<std::string> told(TestServer& server, std::string_view kind = "Pod") {
  std::vector<std::string> out;
  const auto events = server.list(kube::kCoreEvent);
  for (const kube::Object& event : events->items) {
    const json::Slice about = event.member("involvedObject");
    if (!about["kind"].equals(kind)) continue;
    EXPECT_EQ(event.member("source")["component"].text(), "kubelet") << event.json();
    EXPECT_EQ(event.member("source")["host"].text(), "node-0") << event.json();
    out.push_back(fmt::format("{} {} {} x{}", event.member("reason").text(),
                              about["fieldPath"].text(), event.member("message").text(),
                              event.member("count").integer().value_or(0)));
  }
  return out;
}

TEST_P(WithServer, EventsTellWhatKubeletsTell) {
  LabOptions options = options_for(1);
  options.events = true;
  start(std::move(options));
  create("web", R"(,"annotations":{"berth.dev/crash-after":"30s","berth.dev/crash-times":"2"})",
         R"(,"nodeName":"node-0")");
  server.world.run_for(2min);
  const std::string uid(pod("web").uid());
  ASSERT_TRUE(server.erase(kube::kPod, {"default", "web"}).has_value());
  lab->set_health("node-0", Health::kNotReady);
  server.world.run_for(2min);
  EXPECT_THAT(told(server),
              ElementsAre("Pulling spec.containers{c} Pulling image \"i\" x3",
                          "Pulled spec.containers{c} Successfully pulled image \"i\" in 730ms "
                          "(730ms including waiting). Image size: 88838020 bytes. x3",
                          "Created spec.containers{c} Container created x3",
                          "Started spec.containers{c} Container started x3",
                          "BackOff spec.containers{c} Back-off restarting failed container c in "
                          "pod web_default(" +
                              uid + ") x1",
                          "Killing spec.containers{c} Stopping container c x1"));
  EXPECT_THAT(told(server, "Node"),
              Contains("NodeNotReady  Node node-0 status is now: NodeNotReady x1"));
}

TEST_P(WithServer, EventsTellOfHelpersDeadlinesAndRejections) {
  LabOptions options = options_for(1);
  options.events = true;
  options.check_fit = true;
  start(std::move(options));
  create("long", "",
         R"(,"nodeName":"node-0","activeDeadlineSeconds":20,"initContainers":[{"name":"h",)"
         R"("image":"help:1","restartPolicy":"Always"}])");
  server.world.run_for(1min);
  EXPECT_THAT(
      told(server),
      ElementsAre("Pulled spec.initContainers{h} Container image \"help:1\" already present on "
                  "machine and can be accessed by the pod x1",
                  "Created spec.initContainers{h} Container created x1",
                  "Started spec.initContainers{h} Container started x1",
                  "Pulling spec.containers{c} Pulling image \"i\" x1",
                  StartsWith("Pulled spec.containers{c} Successfully pulled image"),
                  "Created spec.containers{c} Container created x1",
                  "Started spec.containers{c} Container started x1",
                  "DeadlineExceeded  Pod was active on the node longer than the specified "
                  "deadline x1",
                  "Killing spec.initContainers{h} Stopping container h x1",
                  "Killing spec.containers{c} Stopping container c x1"));
  create("vast", "", R"(,"nodeName":"node-0","resources":{"requests":{"cpu":"1000"}})");
  server.world.run_for(1s);
  EXPECT_THAT(told(server), Contains(StartsWith("OutOfcpu  Node didn't have enough resource: cpu, "
                                                "requested: 1000")));
}

TEST_P(WithServer, EventsAreFewHoweverManyPodsStart) {
  LabOptions options = options_for(20);
  options.events = true;
  start(std::move(options));
  for (int i = 0; i < 1000; ++i)
    create(fmt::format("pod-{}", i), "", fmt::format(R"(,"nodeName":"node-{:02}")", i % 20));
  server.world.run_for(1s);
  EXPECT_EQ(lab->counts().running, 1000u);
  const std::size_t at_once = server.list(kube::kCoreEvent)->items.size();
  EXPECT_GT(at_once, 500u);
  EXPECT_LT(at_once, 700u);
  // Later there is room again.
  server.world.run_for(1min);
  create("late", "", R"(,"nodeName":"node-00")");
  server.world.run_for(1s);
  EXPECT_EQ(server.list(kube::kCoreEvent)->items.size(), at_once + 4);
}

TEST_P(WithServer, ConditionsStandInTheOrderOfKubelets) {
  start(options_for(1));
  create("web", "", "");
  ASSERT_TRUE(server
                  .post(kube::kPod, {"default", "web"}, "binding",
                        R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"web"},)"
                        R"("target":{"kind":"Node","name":"node-0"}})")
                  .has_value());
  server.world.run_for(1s);
  std::string types;
  for (const json::Slice each : pod("web").status()["conditions"].elements())
    types += each["type"].text() + " ";
  EXPECT_EQ(types, "PodReadyToStartContainers Initialized Ready ContainersReady PodScheduled ");
}

TEST_P(WithServer, AUserReadsLogsAndUsage) {
  start(options_for(1));
  create("web", R"(,"annotations":{"berth.dev/log":"hello","kwok.x-k8s.io/usage-cpu":"2"})",
         R"(,"nodeName":"node-0")");
  server.world.run_for(1s);
  kube::ApiRequest request = TestServer::ask(kube::Verb::kGet, kube::kPod, {"default", "web"});
  request.subresource = "log";
  EXPECT_EQ(*server.text(std::move(request)), "hello\n");
  const auto kind = kube::find_resource("metrics.k8s.io", "v1beta1", "nodes");
  ASSERT_TRUE(kind.has_value());
  const Result<kube::ObjectList> usage = server.list(*kind);
  ASSERT_TRUE(usage.has_value()) << usage.error().message;
  EXPECT_EQ(usage->items.at(0).member("usage")["cpu"].text(), "2000000000n");
}

TEST_P(WithServer, EverySortOfPodIsTaken) {
  start(options_for(1));
  create("all", R"(,"annotations":{"berth.dev/crash-after":"3s","berth.dev/duration.i":"1s"})",
         R"(,"nodeName":"node-0","initContainers":[{"name":"i","image":"i"},)"
         R"({"name":"s","image":"i","restartPolicy":"Always"}],)"
         R"("readinessGates":[{"conditionType":"x/y"}],)"
         R"("volumes":[{"name":"v","emptyDir":{}}],"hostNetwork":true)");
  create("deadline", "", R"(,"nodeName":"node-0","activeDeadlineSeconds":5)");
  server.world.run_for(1min);
  EXPECT_EQ(pod("all").status()["containerStatuses"][std::size_t{0}]["restartCount"].integer(), 3);
  EXPECT_EQ(pod("deadline").status()["reason"].text(), "DeadlineExceeded");
  EXPECT_EQ(lab->counts().refused, 0u);
}

TEST_P(WithServer, NodesThatFailSaySo) {
  start(options_for(2));
  lab->set_health("node-0", Health::kMemoryPressure);
  lab->set_health("node-1", Health::kNotReady);
  server.world.run_for(1s);
  const auto says = [&](const char* node, const char* type) {
    return kube::find_condition(server.get(kube::kNode, {"", node})->status(), type)["status"]
        .text();
  };
  EXPECT_EQ(says("node-0", "MemoryPressure"), "True");
  EXPECT_EQ(says("node-0", "Ready"), "True");
  EXPECT_EQ(says("node-1", "Ready"), "False");
}

// The straight way gives what the request path gives.
TEST_P(WithServer, LeasesOnDemandLookAsIfTheyHadBeenWrittenAllAlong) {
  LabOptions options = options_for(1);
  options.heartbeat = Heartbeat::kOnDemand;
  start(options);
  const auto ask = [&](std::string user, kube::Verb verb, std::string name) {
    return server.call_from_outside(
        std::move(user), TestServer::ask(verb, kube::kLease, {"kube-node-lease", std::move(name)}));
  };
  server.world.run_for(1h);
  const std::uint64_t first = lab->counts().renewals;
  EXPECT_FALSE(ask("", kube::Verb::kGet, "node-0"));
  EXPECT_EQ(lab->counts().renewals, first) << "nobody looked who may";
  const auto lease = ask("tester", kube::Verb::kGet, "node-0");
  ASSERT_TRUE(lease);
  EXPECT_LT(
      server.world.clock().wall() -
          *kube::parse_time(std::get<kube::Object>(lease->body).member("spec")["renewTime"].text()),
      10s);
  EXPECT_EQ(lab->counts().renewals, first + 1);
  {
    const auto watch = ask("tester", kube::Verb::kWatch, "");
    ASSERT_TRUE(watch);
    server.world.run_for(100s);
    EXPECT_EQ(lab->counts().renewals, first + 11);
  }
  server.world.run_for(100s);
  EXPECT_EQ(lab->counts().renewals, first + 11) << "nobody watches any more";
}

TEST(StatusForms, AreTheSameOnceWritten) {
  const auto history = [](bool ask) {
    TestServer server;
    StringSink log;
    LabOptions options = options_for(1);
    options.always_ask = ask;
    options.pace = {};
    Lab lab(server.scope(),
            LabParts{server.store(), server.server(), Random(1), Logger(log, server.world.clock())},
            options);
    lab.start(server.scope().done<Ok>(1h, [](Result<Ok>) {}));
    server.world.run_for(1s);
    std::vector<std::string> all;
    const std::string spec =
        R"(,"nodeName":"node-0","initContainers":[{"name":"i","image":"i"},)"
        R"({"name":"s","image":"i","restartPolicy":"Always"}],)"
        R"("readinessGates":[{"conditionType":"x/y"}],"volumes":[{"name":"v","emptyDir":{}}])";
    EXPECT_TRUE(server
                    .create(kube::kPod, "default",
                            apiserver::pod_json(
                                "p", R"(,"annotations":{"berth.dev/crash-after":"3s..9s"})", spec))
                    .has_value());
    for (int i = 0; i < 120; ++i) {
      server.world.run_for(500ms);
      const kube::Object pod = *server.get(kube::kPod, {"default", "p"});
      all.emplace_back(pod.status().raw());
    }
    EXPECT_EQ(log.text(), "");
    server.scope().close({}, [] {});
    server.world.run_until_idle(1h);
    return all;
  };
  const std::vector<std::string> asked = history(true), straight = history(false);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    json::Arena arena;  // the order of members may differ
    ASSERT_TRUE(
        json::equal(json::parse_good(asked[i], arena), json::parse_good(straight[i], arena)))
        << asked[i] << "\n"
        << straight[i];
  }
}

}  // namespace
}  // namespace berth::lab
