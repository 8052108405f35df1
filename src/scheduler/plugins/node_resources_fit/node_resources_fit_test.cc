// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;

NodeBuilder small(const char* name = "n") {
  return node(name).cpu("10m").memory("20").disk("20").allocatable("example.com/aaa", "5").pods(32);
}
PodBuilder asks(std::string_view cpu, std::string_view memory) {
  return pod("p").cpu(cpu).memory(memory);
}

TEST(NodeResourcesFit, NamesEveryResourceThatIsShort) {
  struct Row {
    const char* name;
    PodBuilder pod;
    PodBuilder there;
    std::string want;
  };
  const auto used = [](const char* cpu, const char* memory) {
    return pod("there").cpu(cpu).memory(memory).on("n");
  };
  const std::string no = "Unschedulable: ", never = "UnschedulableAndUnresolvable: ";
  const Row rows[] = {
      {"nothing asked always fits", pod("p"), used("10m", "20"), ""},
      {"both short", asks("1m", "1"), used("10m", "20"),
       no + "Insufficient cpu, Insufficient memory"},
      {"cpu short", asks("2m", "1"), used("9m", "5"), no + "Insufficient cpu"},
      {"memory short", asks("1m", "2"), used("5m", "19"), no + "Insufficient memory"},
      {"just fits", asks("5m", "1"), used("5m", "19"), ""},
      {"more than the node has", asks("11m", "1"), used("0", "0"), never + "Insufficient cpu"},
      {"one beyond the node, one not", asks("1m", "21"), used("10m", "0"),
       never + "Insufficient cpu, Insufficient memory"},
      {"init containers count by their maximum",
       asks("1m", "1").init_container("{name: i, resources: {requests: {cpu: 8m, memory: 19}}}"),
       used("8m", "19"), no + "Insufficient cpu, Insufficient memory"},
      {"a zero is not asked for", asks("0", "1"), used("10m", "19"), ""},
      {"disk", pod("p").request("ephemeral-storage", "21"), used("0", "0"),
       never + "Insufficient ephemeral-storage"},
      {"an extended resource", pod("p").request("example.com/aaa", "3"),
       PodBuilder(used("0", "0")).request("example.com/aaa", "3"),
       no + "Insufficient example.com/aaa"},
      {"one that no node has", pod("p").request("example.com/bbb", "1"), used("0", "0"),
       never + "Insufficient example.com/bbb"},
      {"none of one that no node has", pod("p").request("example.com/bbb", "0"), used("0", "0"),
       ""},
      {"overhead counts", asks("3m", "1").spec("overhead: {cpu: 3m}"), used("5m", "1"),
       no + "Insufficient cpu"},
  };
  for (const Row& row : rows) {
    PluginBench bench("NodeResourcesFit");
    bench.with(small()).with(row.there);
    EXPECT_EQ(bench.filter(row.pod), (Verdicts{{"n", row.want}})) << row.name;
  }
}

TEST(NodeResourcesFit, CountsPodsWhateverTheyAskFor) {
  PluginBench bench("NodeResourcesFit");
  bench.with(small("n").pods(1)).with(pod("there").cpu("9m").on("n")).with(small("none").pods(0));
  EXPECT_EQ(bench.filter(pod("p")), (Verdicts{{"n", "Unschedulable: Too many pods"},
                                              {"none", "Unschedulable: Too many pods"}}));
  EXPECT_EQ(bench.filter(asks("2m", "1")).at("n"),
            "Unschedulable: Too many pods, Insufficient cpu");
}

TEST(NodeResourcesFit, TheFilterHonoursRequestsAtPodLevelAndTheScorerDoesNot) {
  PluginBench bench("NodeResourcesFit");
  bench.with(node("n").cpu("4000m").memory("10000"));
  const PodPtr p = asks("1000m", "1000").spec("resources: {requests: {cpu: 5000m, memory: 1000}}");
  EXPECT_EQ(bench.filter(p).at("n"), "UnschedulableAndUnresolvable: Insufficient cpu");
  EXPECT_EQ(bench.raw(p).at("n"), (75 + 90) / 2);
}

TEST(NodeResourcesFit, IgnoresTheExtendedResourcesItIsToldTo) {
  NodeResourcesFitArgs args;
  args.ignored_resources = {"example.com/one", "cpu"};
  args.ignored_resource_groups = {"group.io"};
  PluginBench bench("NodeResourcesFit", args);
  bench.with(small());
  EXPECT_EQ(bench.filter(pod("p").request("example.com/one", "1")).at("n"), "");
  EXPECT_EQ(bench.filter(pod("p").request("group.io/any", "1")).at("n"), "");
  EXPECT_NE(bench.filter(pod("p").request("example.com/two", "1")).at("n"), "");
  EXPECT_NE(bench.filter(pod("p").cpu("11m")).at("n"), "") << "cpu is no extended resource";
  // k8s 1.36: a hint does not know of them.
  EXPECT_EQ(bench.hint(pod("p").request("example.com/one", "1"),
                       node_event(action::kAdd, nullptr, small())),
            Hint::kSkip);
}

TEST(NodeResourcesFit, WhatIfsCount) {
  PluginBench bench("NodeResourcesFit");
  const PodPtr there = pod("there").cpu("9m").request("example.com/aaa", "5").on("n");
  bench.with(small()).with(there);
  const PodPtr p = pod("p").cpu("5m").request("example.com/aaa", "1");
  EXPECT_EQ(bench.filter(p).at("n"),
            "Unschedulable: Insufficient cpu, Insufficient example.com/aaa");
  EXPECT_EQ(bench.filter_if(p, "n", [&](WhatIf& w, std::uint32_t row) { w.remove(row, there); }),
            "");
  const PodPtr nominated = pod("x").cpu("6m");
  EXPECT_EQ(bench.filter_if(p, "n",
                            [&](WhatIf& w, std::uint32_t row) {
                              w.remove(row, there);
                              w.add(row, nominated);
                            }),
            "Unschedulable: Insufficient cpu");
}

TEST(NodeResourcesFit, AmountsThatDoublesCannotHoldAreExact) {
  PluginBench bench("NodeResourcesFit");
  // 2^60 bytes; one byte decides.
  bench.with(node("n").cpu("4").memory("1152921504606846976"))
      .with(pod("there").memory("1152921504606846970").on("n"))
      .with(node("plain").cpu("4").memory("100"));
  EXPECT_EQ(bench.filter(pod("p").memory("6")).at("n"), "");
  EXPECT_EQ(bench.filter(pod("p").memory("7")).at("n"), "Unschedulable: Insufficient memory");
  EXPECT_EQ(bench.filter(pod("p").memory("101")).at("plain"),
            "UnschedulableAndUnresolvable: Insufficient memory");
}

TEST(NodeResourcesFit, ManyRowsAreJudgedAsOneIs) {
  PluginBench bench("NodeResourcesFit");
  for (int i = 0; i < 150; ++i)
    bench.with(node(fmt::format("n{:03}", i)).cpu(fmt::format("{}m", i * 10)).memory("1Gi"));
  const Verdicts verdicts = bench.filter(pod("p").cpu("700m"));
  for (int i = 0; i < 150; ++i)
    EXPECT_EQ(verdicts.at(fmt::format("n{:03}", i)),
              i < 70 ? "UnschedulableAndUnresolvable: Insufficient cpu" : "");
}

TEST(NodeResourcesFit, QueuesWhenRoomMayHaveCome) {
  PluginBench bench("NodeResourcesFit");
  const PodPtr p = asks("4m", "1");
  const auto sized = [](const char* cpu, int pods) {
    return small().cpu(cpu).pods(pods).compile();
  };
  const PodPtr big = pod("o").cpu("8m").memory("8").on("x"),
               less_cpu = pod("o").cpu("4m").memory("8").on("x"),
               less_disk = pod("o").cpu("8m").memory("8").on("x");
  struct Row {
    const char* name;
    Change change;
    Hint want;
  };
  const Row rows[] = {
      {"a pod with a node goes", pod_event(action::kDelete, big, nullptr), Hint::kQueue},
      {"a nominated pod goes", pod_event(action::kDelete, pod("o").nominated("x"), nullptr),
       Hint::kQueue},
      {"a pending pod goes", pod_event(action::kDelete, pod("o"), nullptr), Hint::kSkip},
      {"own requests shrink", pod_event(action::kUpdatePodScaleDown, asks("5m", "1"), p),
       Hint::kQueue},
      {"another's cpu shrinks", pod_event(action::kUpdatePodScaleDown, big, less_cpu),
       Hint::kQueue},
      {"another's nothing shrinks", pod_event(action::kUpdatePodScaleDown, big, less_disk),
       Hint::kSkip},
      {"a pending pod shrinks",
       pod_event(action::kUpdatePodScaleDown, pod("o").cpu("8m"), pod("o").cpu("1m")), Hint::kSkip},
      {"a large node comes", node_event(action::kAdd, nullptr, sized("10m", 1)), Hint::kQueue},
      {"a small node comes", node_event(action::kAdd, nullptr, sized("3m", 1)), Hint::kSkip},
      {"a node without room for pods comes", node_event(action::kAdd, nullptr, sized("10m", 0)),
       Hint::kSkip},
      {"a node grows", node_event(action::kUpdateNodeAllocatable, sized("4m", 1), sized("5m", 1)),
       Hint::kQueue},
      {"a node takes more pods",
       node_event(action::kUpdateNodeAllocatable, sized("5m", 1), sized("5m", 2)), Hint::kQueue},
      {"a node shrinks", node_event(action::kUpdateNodeAllocatable, sized("9m", 1), sized("5m", 1)),
       Hint::kSkip},
      {"a node grows, but not enough",
       node_event(action::kUpdateNodeAllocatable, sized("1m", 1), sized("3m", 1)), Hint::kSkip},
  };
  for (const Row& row : rows) EXPECT_EQ(bench.hint(p, row.change), row.want) << row.name;
  EXPECT_EQ(bench.hint(pod("q").memory("1"), pod_event(action::kUpdatePodScaleDown, big, less_cpu)),
            Hint::kSkip)
      << "cpu that shrinks is of no use to a pod that asks for none";
}

TEST(NodeResourcesFit, QueuesWhenADeviceClassStandsForWhatThePodAsksFor) {
  PluginBench bench("NodeResourcesFit");
  const auto device_class = [](const char* name, const char* resource) {
    const std::string spec =
        *resource != '\0' ? fmt::format(R"({{"extendedResourceName":"{}"}})", resource) : "{}";
    return *kube::Object::parse(fmt::format(
        R"({{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{{"name":"{}"}},"spec":{}}})",
        name, spec));
  };
  const auto event = [](EventAction what, const kube::Object& before, const kube::Object& after) {
    return Change{.event = {EventResource::kDeviceClass, what}, .before = before, .after = after};
  };
  const PodPtr p = pod("p").request("example.com/gpu", "1");
  const PodPtr q = pod("q").request("deviceclass.resource.kubernetes.io/gpus", "1");
  const kube::Object none, gpus = device_class("gpus", "example.com/gpu"),
                           plain = device_class("gpus", ""), tpus = device_class("x", "a.io/tpu");
  EXPECT_EQ(bench.hint(p, event(action::kAdd, none, gpus)), Hint::kQueue);
  EXPECT_EQ(bench.hint(p, event(action::kAdd, none, tpus)), Hint::kSkip);
  EXPECT_EQ(bench.hint(p, event(action::kUpdate, plain, gpus)), Hint::kQueue);
  EXPECT_EQ(bench.hint(p, event(action::kUpdate, gpus, gpus)), Hint::kSkip);
  EXPECT_EQ(bench.hint(p, event(action::kUpdate, gpus, plain)), Hint::kSkip);
  EXPECT_EQ(bench.hint(q, event(action::kAdd, none, plain)), Hint::kQueue);
  EXPECT_EQ(bench.hint(q, event(action::kUpdate, gpus, plain)), Hint::kSkip);
}

}  // namespace
}  // namespace berth::scheduler
