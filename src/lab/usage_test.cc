// SPDX-License-Identifier: Apache-2.0
#include "lab/usage.h"

#include "apiserver/kinds/registry.h"
#include "bench_for_test.h"
#include "lab/logs.h"
#include "lab/metrics_api.h"

namespace berth::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(UsageModels, SayHowMuchIsUsedWhen) {
  struct Row {
    const char* model;
    Duration age;
    double amount;
  };
  const Row rows[] = {
      {"250m", 1h, 0.25},
      {"1Gi", 1h, 1024.0 * 1024 * 1024},
      {"phases 100m/5m 800m/10m 200m", 1min, 0.1},
      {"phases 100m/5m 800m/10m 200m", 5min, 0.8},
      {"phases 100m/5m 800m/10m 200m", 16min, 0.2},
      {"phases 100m/5m 800m/10m 200m", 16h, 0.2},
      {"phases repeat 100m/5m 800m/10m", 16min, 0.1},
      {"phases repeat 100m/5m 800m/10m", 21min, 0.8},
      {"seasonal base=200m amplitude=100m period=24h", 0s, 0.3},
      {"seasonal base=200m amplitude=100m period=24h", 12h, 0.1},
      {"seasonal base=200m amplitude=100m period=24h peak=6h", 6h, 0.3},
      {"seasonal base=0 amplitude=1 period=24h", 12h, 0},
      {"trace every=1m 100m 300m 200m", 0s, 0.1},
      {"trace every=1m 100m 300m 200m", 30s, 0.2},
      {"trace every=1m 100m 300m 200m", 150s, 0.15},
      {"trace every=1m 100m 300m 200m", 3min, 0.1},
  };
  for (const Row& row : rows) {
    const Result<UsageModel> model = UsageModel::parse(row.model);
    ASSERT_TRUE(model.has_value()) << row.model << model.error().message;
    EXPECT_NEAR(model->at(row.age, World::kNewYear2026 + row.age, Random(1)), row.amount, 1e-6)
        << row.model << " after " << kube::duration_text(row.age);
  }
  const UsageModel noisy = *UsageModel::parse("1 noise=10%");
  double least = 9, most = 0;
  for (int i = 0; i < 200; ++i) {
    const double value = noisy.at(0s, World::kNewYear2026 + i * 15s, Random(1));
    least = std::min(least, value);
    most = std::max(most, value);
  }
  EXPECT_GE(least, 0.9);
  EXPECT_LT(least, 0.95);
  EXPECT_GT(most, 1.05);
  EXPECT_LE(most, 1.1);
  for (const char* wrong :
       {"", "much", "1 2", "phases", "phases 1 2", "phases repeat 1", "phases 1/x",
        "seasonal base=1", "seasonal period=1h", "trace 1 2", "trace every=1m", "1 noise=10",
        "trace every=-1m 1", "seasonal base=1 period=1h peak", "1 noise=nan%",
        "phases repeat 1m/2562047h47m16.854775807s 1m/2562047h47m16.854775807s 1m/2ns"})
    EXPECT_FALSE(UsageModel::parse(wrong).has_value()) << wrong;
}

TEST(UsageRules, TakeWhatAnnotationsSayThenRulesThenHalfOfTheRequests) {
  UsageRules rules;
  const Result<Ok> fine = rules.add(R"(
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterResourceUsage
metadata: {name: some}
spec:
  selector: {matchNamespaces: [default], matchNames: [ruled]}
  usages:
  - usage:
      cpu:
        expression: |
          "x/cpu" in pod.metadata.annotations
          ? Quantity(pod.metadata.annotations["x/cpu"])
          : Quantity("7m")
      memory: {value: 3Mi}
)",
                                    "usage.yaml");
  ASSERT_TRUE(fine.has_value()) << fine.error().message;
  struct Row {
    const char* name;
    PodText pod;
    double cores, mebibytes;
  };
  const Row rows[] = {
      {"plain", PodText("plain"), 0.001, 1},
      {"ruled", PodText("ruled"), 0.007, 3},
      {"by its own annotation", PodText("ruled").note("x/cpu", "9m"), 0.009, 3},
      {"kwok",
       PodText("p")
           .note("kwok.x-k8s.io/usage-cpu", "20m")
           .note("kwok.x-k8s.io/usage-memory", "5Mi"),
       0.02, 5},
      {"ours first",
       PodText("p").note("kwok.x-k8s.io/usage-cpu", "20m").note("berth.dev/usage-cpu", "30m"), 0.03,
       1},
      {"the container's",
       PodText("p").note("berth.dev/usage-cpu", "30m").note("berth.dev/usage-cpu.main", "40m"),
       0.04, 1},
      {"requests",
       PodText("p").container(
           R"({"name":"main","image":"i","resources":{"requests":{"cpu":"1","memory":"64Mi"}}})"),
       0.5, 32},
  };
  for (const Row& row : rows) {
    const kube::Object pod = kube::Object::parse(kube::kPod, row.pod.json()).value();
    const Usage usage =
        rules.usage(pod, pod.member("spec")["containers"][std::size_t{0}], {}, {}, Random(1));
    EXPECT_NEAR(usage.cores, row.cores, 1e-9) << row.name;
    EXPECT_NEAR(usage.bytes / 1048576, row.mebibytes, 1e-6) << row.name;
  }
  const Result<Ok> refused = rules.add(
      "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: ClusterResourceUsage\nspec:\n  usages:\n  - "
      "usage:\n"
      "      cpu: {expression: 'Rand()'}\n",
      "usage.yaml");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message,
              HasSubstr("usage.yaml:6: spec.usages[0].usage.cpu: only a value"));
}

TEST(MetricsApi, ShowsWhatRunningPodsAndTheirNodesUse) {
  Bench bench(some_nodes(2));
  bench.create(PodText("a")
                   .note("kwok.x-k8s.io/usage-cpu", "100m")
                   .note("kwok.x-k8s.io/usage-memory", "10Mi"));
  bench.create(PodText("b")
                   .note("kwok.x-k8s.io/usage-cpu", "50m")
                   .note("kwok.x-k8s.io/usage-memory", "5Mi"));
  bench.create(PodText("done").policy("Never").note("berth.dev/duration", "100ms"));
  bench.world.run_for(1s);
  apiserver::KindRegistry kinds;
  kinds.serve("metrics.k8s.io", metrics_kinds(*bench.lab));
  const apiserver::KindRow* nodes = kinds.now()->find("metrics.k8s.io", "v1beta1", "nodes");
  const apiserver::KindRow* pods = kinds.now()->find("metrics.k8s.io", "v1beta1", "pods");
  ASSERT_NE(nodes, nullptr);
  ASSERT_NE(pods, nullptr);
  std::vector<std::string> told;
  for (const kube::Object& each : nodes->computed->list(""))
    told.push_back(std::string(each.name()) + " " + std::string(each.member("usage").raw()));
  for (const kube::Object& each : pods->computed->list("default"))
    told.push_back(std::string(each.name()) + " " + std::string(each.member("containers").raw()));
  EXPECT_THAT(told,
              ElementsAre(R"(node-0 {"cpu":"150000000n","memory":"15360Ki"})",
                          R"(node-1 {"cpu":"0n","memory":"0Ki"})",
                          R"(a [{"name":"main","usage":{"cpu":"100000000n","memory":"10240Ki"}}])",
                          R"(b [{"name":"main","usage":{"cpu":"50000000n","memory":"5120Ki"}}])"));
  EXPECT_TRUE(pods->computed->get("default", "a").has_value());
  EXPECT_FALSE(pods->computed->get("default", "done").has_value());
  EXPECT_TRUE(pods->computed->list("elsewhere").empty());
  bench.lab->fail_node("node-0");
  EXPECT_FALSE(nodes->computed->get("", "node-0").has_value());
  EXPECT_EQ(nodes->computed->list("").size(), 1u);
}

TEST(Logs, AreWhatContainersPrintedOrWhyThereIsNothing) {
  Bench bench(some_nodes(1));
  bench.create(PodText("echo").policy("Never").container(
      R"({"name":"main","image":"i","command":["sh","-c","echo one; echo two; sleep 5"]})"));
  bench.create(PodText("said")
                   .note("berth.dev/log", "{n}: {pod}/{container}")
                   .note("berth.dev/log-every", "1s"));
  bench.create(PodText("many")
                   .container(R"({"name":"a","image":"i"})")
                   .container(R"({"name":"b","image":"i"})")
                   .init(R"({"name":"i","image":"i","command":["sleep","infinity"]})"));
  bench.create(
      PodText("crash").note("berth.dev/crash-after", "1s").note("berth.dev/log", "run {time}"));
  bench.world.run_for(10s);
  const auto log = [&](std::string_view pod, std::string_view query) {
    const Result<kube::ApiReply> reply =
        answer_log(*bench.pod(pod), fmt::format("/x/log?{}", query), bench.world.clock().wall());
    return reply ? std::get<std::string>(reply->body) : "error: " + reply.error().message;
  };
  EXPECT_EQ(log("echo", ""), "one\ntwo\n");
  EXPECT_EQ(log("echo", "tailLines=1"), "two\n");
  EXPECT_EQ(log("echo", "limitBytes=5"), "one\nt");
  EXPECT_EQ(log("echo", "timestamps=true&tailLines=1"), "2026-01-01T00:00:01.000000Z two\n");
  EXPECT_EQ(log("said", "tailLines=2"), "9: said/main\n10: said/main\n");
  EXPECT_EQ(log("said", "sinceSeconds=2"), "9: said/main\n10: said/main\n");
  EXPECT_EQ(log("many", ""),
            "error: a container name must be specified for pod many, choose one of: "
            "[a b] or one of the init containers: [i]");
  EXPECT_EQ(log("many", "container=c"), "error: container c is not valid for pod many");
  EXPECT_EQ(log("many", "container=a"),
            "error: container \"a\" in pod \"many\" is waiting to start: PodInitializing");
  EXPECT_EQ(log("many", "container=i"), "");
  EXPECT_EQ(log("said", "previous=true"),
            "error: previous terminated container \"main\" in pod \"said\" not found");
  EXPECT_EQ(log("crash", "previous=true"), "run 2026-01-01T00:00:02Z\n");
  EXPECT_THAT(log("echo", "tailLines=x"), HasSubstr("invalid syntax"));
}

TEST(Logs, KeepTheirNewestPartWhateverIsPrinted) {
  Bench bench(some_nodes(1));
  const auto talker = [&](const char* name, std::string text) {
    bench.create(
        PodText(name).note("berth.dev/log", std::move(text)).note("berth.dev/log-every", "1ms"));
  };
  talker("loud", "{n} " + std::string(200'000, 'x'));
  std::string names;
  for (int i = 0; i < 40'000; ++i) names += "{pod}";
  talker("long", names + " {n}");
  talker("terse", "{n}");
  bench.world.run_for(1h);
  const auto log = [&](std::string_view pod, std::string_view query) {
    const Result<kube::ApiReply> reply =
        answer_log(*bench.pod(pod), fmt::format("/x/log?{}", query), bench.world.clock().wall());
    return reply ? std::get<std::string>(reply->body) : "error: " + reply.error().message;
  };
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  const std::string loud = log("loud", "");
  EXPECT_GE(loud.size(), 10U << 20);
  EXPECT_LT(loud.size(), 11U << 20);
  const std::string last = log("terse", "tailLines=1");  // they have run as long
  EXPECT_EQ(loud.rfind(last.substr(0, last.size() - 1) + " "),
            loud.rfind('\n', loud.size() - 2) + 1);
  EXPECT_EQ(lines(log("loud", "tailLines=3")), 3);
  EXPECT_EQ(lines(log("loud", "sinceTime=2026-01-01T00:59:59.99Z")) > 0, true);
  EXPECT_EQ(log("loud", "limitBytes=100").size(), 100U);
  EXPECT_LT(log("long", "timestamps=true").size(), 11U << 20);
  EXPECT_EQ(lines(log("terse", "")), 10'000);
  EXPECT_EQ(lines(log("terse", "sinceSeconds=9223372036854775807")), 10'000);
}

}  // namespace
}  // namespace berth::lab
