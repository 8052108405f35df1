// SPDX-License-Identifier: Apache-2.0
// Whatever the cluster looks like: the plugin names the node that the extender keeps, and neither
// where the other has none.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "client/local_transport.h"
#include "gateway/extender/slot_door.h"
#include "scheduler/plugins/plugin_bench.h"
#include "scheduler/plugins/test_services.h"
#include "seeds.h"

namespace berth::doors {
namespace {

using kube::Object;

// A Testbed as chance has it: nodes that are cordoned, not ready or gone, grants, executors bound
// with and without a word about their slot, promises to pods that are there and that are not.
class RandomBoard {
 public:
  explicit RandomBoard(Random random) : random_(random) {
    nodes = 1 + static_cast<int>(random_.below(6));
    per_node = 1 + static_cast<int>(random_.below(3));
    std::vector<std::string> names;
    for (int i = 0; i < nodes; ++i) {
      names.push_back(fmt::format("\"n{}\"", i));
      if (chance(10)) continue;  // the ledger knows it, the cluster does not
      add(fmt::format(
          R"({{"kind":"Node","apiVersion":"v1","metadata":{{"name":"n{0}","uid":"n{0}"{1},"labels":{{"tb":"{0}"}}}},"spec":{{{2}}},"status":{{"allocatable":{{"cpu":"8","memory":"32Gi","pods":"110"}},"conditions":[{{"type":"Ready","status":"{3}"}}]}}}})",
          i, rv(), chance(10) ? R"("unschedulable":true)" : "", chance(10) ? "False" : "True"));
    }
    add(fmt::format(
        R"({{"kind":"Testbed","apiVersion":"batchjob.gcr.io/v1alpha1","metadata":{{"name":"tb","namespace":"default","uid":"tb"{}}},"spec":{{"nodeLabel":"tb","slotsPerNode":{},"resourcesPerSlot":{{"cpu":"1"}}}}}})",
        rv(), per_node));
    std::map<int, std::vector<int>> slots_of;
    for (int slot = 0; slot < nodes * per_node; ++slot)
      if (const auto job = static_cast<int>(random_.below(4)); job < 3)
        slots_of[job].push_back(slot);
    std::string grants, slots;
    for (const auto& [job, owned] : slots_of) {
      grants += fmt::format(R"({}{{"id":"{}","job":"default/j{}"}})", grants.empty() ? "" : ",",
                            grant(job), job);
      for (const int slot : owned)
        slots += fmt::format(R"({}{{"slot":{},"grant":"{}"}})", slots.empty() ? "" : ",", slot,
                             grant(job));
      add_job(job, owned);
      add_pods(job, owned);
    }
    add(fmt::format(
        R"({{"kind":"SlotLedger","apiVersion":"berth.dev/v1alpha1","metadata":{{"name":"tb","namespace":"default","uid":"l"{}}},"spec":{{"blocks":[{{"class":"default","base":0,"perNode":{},"nodes":[{}]}}],"grants":[{}],"slots":[{}]}}}})",
        rv(), per_node, fmt::join(names, ","), grants, slots));
    board.begin();
  }

  static std::string grant(int job) {
    return fmt::format("{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}-1", job);
  }
  std::vector<std::string> node_names() const {
    std::vector<std::string> names;
    for (int i = 0; i < nodes; ++i) names.push_back(fmt::format("n{}", i));
    return names;
  }

  slots::SlotBoard board;
  std::vector<Object> objects, pending;
  int nodes = 0, per_node = 0;

 private:
  bool chance(std::uint64_t percent) { return random_.below(100) < percent; }
  std::string rv() { return fmt::format(R"(,"resourceVersion":"{}")", ++revision_); }
  Object add(const std::string& json) {
    const auto made = Object::parse(json);
    EXPECT_TRUE(made) << made.error().message;
    board.put(*made);
    objects.push_back(*made);
    return *made;
  }
  void add_job(int job, const std::vector<int>& owned) {
    std::vector<int> ordered;
    for (const int slot : owned)
      if (!chance(15)) ordered.push_back(slot);
    std::string pins;
    for (const int slot : owned)
      if (chance(25))
        pins += fmt::format(R"({}{{"slot":{},"podUid":"p{}-{}"}})", pins.empty() ? "" : ",", slot,
                            job, random_.below(6));
    add(fmt::format(
        R"({{"kind":"BatchJob","apiVersion":"batchjob.gcr.io/v1alpha1","metadata":{{"name":"j{0}","namespace":"default","uid":"{1}"{2}}},"spec":{{{3}"creationRequest":{{"slotIds":[{4}],"testbedName":{{"name":"tb"}},"run":1}}}},"status":{{"run":1,"closedRun":{5},"pins":[{6}]}}}})",
        job, grant(job).substr(0, 12), rv(),
        chance(90) ? R"("activeScheduling":{"name":"s"},)" : "", fmt::join(ordered, ","),
        chance(10) ? 1 : 0, pins));
  }
  void add_pods(int job, const std::vector<int>& owned) {
    for (int i = 0; i < 4; ++i) {
      const bool bound = chance(40);
      const int slot = owned[random_.below(owned.size())];
      const Object pod = add(fmt::format(
          R"({{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"p{0}-{1}","namespace":"default","uid":"p{0}-{1}"{2},"labels":{{"{3}":"tb","{4}":"{5}"}}{6}}},"spec":{{"schedulerName":"default-scheduler",{7}"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"{8}"}}}}}}]}},"status":{{"phase":"Pending"}}}})",
          job, i, rv(), kube::kTestbedLabel, kube::kGrantLabel, grant(job),
          bound && chance(80) ? fmt::format(R"(,"annotations":{{"berth.dev/slot":"{}"}})", slot)
                              : "",
          bound ? fmt::format(R"("nodeName":"n{}",)", slot % nodes) : "", chance(10) ? "2" : "1"));
      if (!bound) pending.push_back(pod);
    }
  }

  Random random_;
  int revision_ = 0;
};

std::string by_plugin(RandomBoard& scene, const Object& pod) {
  scheduler::test::TestServices services;
  services.board = &scene.board;
  scheduler::test::PluginBench bench("Slots", {}, &services);
  for (const Object& object : scene.objects)
    if (object.kind() == kube::kNode) bench.with(*scheduler::Node::compile(object));
  scheduler::PodCompiler compiler;
  const auto attempt = bench.attempt(*compiler.compile(pod));
  const auto prepared = bench.profile().prepare(attempt->cycle);
  if (!prepared.status.ok() || !prepared.named) return "";
  return prepared.named->front();
}

// A server of BatchJobs: takes pins where the revision is right, and refuses every third at first,
// as if somebody else had written meanwhile.
class Jobs final : public kube::ApiHandler {
 public:
  explicit Jobs(const std::vector<Object>& objects) {
    for (const Object& object : objects)
      if (object.kind() == kube::thesis_kinds().batch_job) jobs_[object.key()] = object;
  }
  void handle(kube::ApiRequest request, Done<kube::ApiReply> done) override {
    Object& job = jobs_[{request.ns, request.name}];
    if (request.verb == kube::Verb::kGet) return done(told(job));
    const json::Slice patch(*request.body.bytes);
    if (++writes_ % 3 == 0) job = *job.next(job.revision() + 100);
    if (patch["metadata"]["resourceVersion"].text() != std::to_string(job.revision()))
      return done(tl::unexpected(
          Error{.reason = Reason::kConflict, .message = "another revision", .code = 409}));
    const std::string status =
        fmt::format(R"({{"run":1,"closedRun":{},"pins":{}}})", *job.status()["closedRun"].integer(),
                    patch["status"]["pins"].raw());
    job = *job.next(job.revision() + 100, {.status = status});
    done(told(job));
  }

 private:
  static kube::ApiReply told(const Object& job) {
    kube::ApiReply reply;
    reply.body = job;
    return reply;
  }
  std::map<kube::Key, Object> jobs_;
  int writes_ = 0;
};

// With the promise written, and once more: the second answer must be the first.
std::string by_extender(RandomBoard& scene, Jobs& server, const Object& pod) {
  World world(Seed{1});
  Scope scope(world.loop("door"), "door");
  client::LocalTransport transport(world.loop("server"), server, {});
  client::Api api(scope, transport, Random(1));
  std::vector<std::string> kept;
  {
    Metrics metrics;
    gateway::SlotDoor door(scope, api, scene.board, nullptr, metrics);
    for (int i = 0; i < 2; ++i) {
      door.filter(
          {.pod = pod,
           .names = std::make_shared<const std::vector<std::string>>(scene.node_names())},
          scope.done<scheduler::ExtenderFilterResult>(
              kNoLimit, [&](Result<scheduler::ExtenderFilterResult> result) {
                EXPECT_TRUE(result);
                EXPECT_LE(result->kept.size(), 1u);
                EXPECT_EQ(result->kept.size() + result->failed.size() + result->unresolvable.size(),
                          static_cast<std::size_t>(scene.nodes))
                    << "every node stands in one of the three lists";
                kept.push_back(result->kept.empty() ? "" : result->kept.front().name);
              }));
      world.run_for(1min);
    }
    scope.close(0s, [] {});
    world.run_for(1min);
  }
  EXPECT_EQ(kept.size(), 2u);
  if (kept.size() < 2) return "?";
  EXPECT_EQ(kept[0], kept[1]) << "a promise does not wander";
  return kept.front();
}

TEST(DoorsProperty, P_06_BothNameTheSameNodeWhateverTheClusterLooksLike) {
  std::size_t given = 0, refused = 0;
  for (const Seed seed : faults::seeds_to_try()) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomBoard scene{Random(seed)};
    Jobs server(scene.objects);
    for (const Object& pod : scene.pending) {
      const std::string node = by_plugin(scene, pod);
      (node.empty() ? refused : given) += 1;
      ASSERT_EQ(node, by_extender(scene, server, pod)) << pod.name();
    }
  }
  if (std::getenv("BERTH_SEED") != nullptr) return;
  EXPECT_GT(given, 20u);
  EXPECT_GT(refused, 20u);
}

}  // namespace
}  // namespace berth::doors
