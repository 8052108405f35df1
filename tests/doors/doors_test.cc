// SPDX-License-Identifier: Apache-2.0
// What the thesis asks of its extender, told once for each of the two doors.
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "json/yaml.h"
#include "lab.h"
#include "runtime/slots/scheduler_side.h"
#include "scheduler/plugins/registry.h"

namespace berth::doors {
namespace {

using kube::Object;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

std::string filter_body(const Object& pod, std::vector<std::string> nodes) {
  return scheduler::extender_request(
      scheduler::ExtenderArgs{.pod = pod,
                              .names = std::make_shared<const std::vector<std::string>>(nodes)},
      true);
}
std::string preempt_body(const Object& pod,
                         const std::map<std::string, std::vector<std::string>>& victims) {
  scheduler::ExtenderPreemptArgs args{.pod = pod};
  for (const auto& [node, uids] : victims) args.victims[node].uids = uids;
  return scheduler::extender_request(args, true);
}
const std::vector<std::string> kNodes = {"node-0", "node-1", "node-2"};

// All that the ghosts leave is taken.
void fill(Lab& lab) {
  for (int i = 0; i < 3; ++i)
    lab.pod(fmt::format("fill-{}", i), "2500m", fmt::format(R"(,"nodeName":"node-{}")", i));
  lab.run(5s);
}
std::string uid_of_ghost(Lab& lab, const std::string& name) {
  const Object ghost = lab.get(kube::kPod, {"default", name});
  return ghost.valid() ? std::string(ghost.uid()) : "gone";
}

class Doors : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Both, Doors, testing::Values(Way::kPlugin, Way::kExtender),
                         [](const auto& way) {
                           return way.param == Way::kPlugin ? "Plugin" : "Extender";
                         });

TEST_P(Doors, ESI_061_AnExecutorGoesToTheNodeOfItsSlot) {
  Lab lab({.way = GetParam()});
  lab.testbed();
  lab.run(20s);
  lab.granted("a", 3);
  for (const char* name : {"e0", "e1", "e2"}) lab.executor(name, "a");
  lab.run(20s);
  EXPECT_THAT(lab.executors(), SizeIs(3));
  EXPECT_THAT(lab.placement(),
              ElementsAre(": slot 0 on node-0", ": slot 1 on node-1", ": slot 2 on node-2"));
  EXPECT_THAT(lab.wrongs(), IsEmpty());
  EXPECT_EQ(lab.states()[0], "OCCUPIED");
}

TEST_P(Doors, ESI_062_ESI_063_WhereANodeIsFullTheGhostMakesRoomAndNobodyElse) {
  Lab lab({.way = GetParam()});
  lab.testbed();
  lab.run(20s);
  fill(lab);
  lab.granted("a", 3);
  for (const char* name : {"e0", "e1", "e2"}) lab.executor(name, "a");
  lab.run(30s);
  EXPECT_THAT(lab.placement(),
              ElementsAre(": slot 0 on node-0", ": slot 1 on node-1", ": slot 2 on node-2"));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(lab.node_of(fmt::format("fill-{}", i)), fmt::format("node-{}", i));
  EXPECT_THAT(lab.ghosts(), SizeIs(3));
  EXPECT_THAT(lab.wrongs(), IsEmpty());
}

TEST_P(Doors, ESI_064_AsManyPodsAsSlotsGetASlotEach) {
  Lab lab({.way = GetParam()});
  lab.testbed();
  lab.run(20s);
  lab.granted("a", 6);
  for (int i = 0; i < 6; ++i) lab.executor(fmt::format("e{}", i), "a");
  lab.run(30s);
  EXPECT_THAT(lab.placement(),
              ElementsAre(": slot 0 on node-0", ": slot 1 on node-1", ": slot 2 on node-2",
                          ": slot 3 on node-0", ": slot 4 on node-1", ": slot 5 on node-2"));
  EXPECT_THAT(lab.wrongs(), IsEmpty());
  EXPECT_THAT(lab.ghosts(), IsEmpty());
}

TEST_P(Doors, ESI_065_PodsSayWhichSlotTheyHave) {
  Lab lab({.way = GetParam()});
  lab.testbed();
  lab.run(20s);
  lab.granted("a", 4);
  for (int i = 0; i < 4; ++i) lab.executor(fmt::format("e{}", i), "a");
  lab.run(20s);
  std::set<std::string> seen;
  for (const Object& pod : lab.executors())
    seen.insert(pod.label(kube::kTargetNodeLabel) + " " + pod.label(kube::kSlotIdLabel));
  EXPECT_THAT(seen, ElementsAre("node-0 0", "node-0 1", "node-1 0", "node-2 0"));
}

TEST_P(Doors, ESI_066_ExecutorsOutrankGhosts) {
  Lab lab({.way = GetParam()});
  std::map<std::string, std::int64_t> values;
  for (const Object& each : lab.list(kube::kPriorityClass))
    values[std::string(each.name())] = each.member("value").integer().value_or(0);
  EXPECT_GT(values["berth-executor"], values["berth-ghost"]);
  EXPECT_GT(values["berth-ghost"], 0);
  EXPECT_EQ(lab.get(kube::kPriorityClass, {"", "berth-executor"}).member("preemptionPolicy").text(),
            "PreemptLowerPriority");
}

TEST_P(Doors, ESI_067_APodWithoutASlotWaitsAndIsToldWhy) {
  Lab lab({.way = GetParam()});
  lab.testbed();
  lab.run(20s);
  lab.granted("a", 1);
  lab.executor("first", "a");
  lab.run(10s);
  lab.executor("second", "a");
  lab.run(10s);
  EXPECT_EQ(lab.node_of("first"), "node-0");
  EXPECT_EQ(lab.node_of("second"), "");
  EXPECT_THAT(lab.events_of("second", "NoFreeSlot"), Contains(HasSubstr("slot 0 on node-0: ")));
  lab.erase(kube::kPod, {"default", "first"}, 0);
  lab.run(30s);
  EXPECT_EQ(lab.node_of("second"), "node-0");
  EXPECT_THAT(lab.wrongs(), IsEmpty());
}

// Nothing that a scheduler itself would see: only the ledger and the job's order change.
TEST_P(Doors, ESI_124_APodThatWasRefusedGetsTheSlotThatItsJobGetsLater) {
  Lab lab({.way = GetParam()});
  lab.testbed();
  lab.run(20s);
  lab.job("a", "1h", true);
  const auto placed = [](std::string_view slots) {
    return fmt::format(
        R"("slotBased":{{"jobs":[{{"name":{{"name":"a","namespace":"default"}},"slotIds":[{}]}}]}})",
        slots);
  };
  lab.create(fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Scheduling","metadata":{{"name":"s","namespace":"default"}},"spec":{{"testbed":{{"name":"tb","namespace":"default"}},{}}}}})",
      placed("0")));
  lab.run(10s);
  lab.executor("first", "a");
  lab.executor("second", "a");
  lab.run(30s);
  ASSERT_EQ(lab.node_of("first"), "node-0");
  ASSERT_EQ(lab.node_of("second"), "");
  lab.patch(kinds().scheduling, {"default", "s"},
            fmt::format(R"({{"spec":{{{}}}}})", placed("0,4")));
  lab.run(30s);
  EXPECT_EQ(lab.node_of("second"), "node-1");
  EXPECT_EQ(lab.get(kube::kPod, {"default", "first"}).annotation("berth.dev/slot-free"), "");
  EXPECT_THAT(lab.wrongs(), IsEmpty());
}

TEST_P(Doors, ESI_068_PodsWithoutAGrantGoWhereTheyWouldGoAnyway) {
  std::vector<std::string> with;
  {
    Lab lab({.way = GetParam()});
    lab.testbed();
    lab.run(20s);
    for (int i = 0; i < 4; ++i) lab.pod(fmt::format("p{}", i), "1");
    lab.pod("large", "3");  // ghosts do not give way to it
    lab.run(10s);
    for (int i = 0; i < 4; ++i) EXPECT_NE(lab.node_of(fmt::format("p{}", i)), "") << i;
    EXPECT_EQ(lab.node_of("large"), "");
    EXPECT_THAT(lab.ghosts(), SizeIs(6));
  }
}

TEST_P(Doors, ESI_069_AfterARestartSlotsAreWhoseTheyWere) {
  Lab lab({.way = GetParam()});
  lab.testbed();
  lab.run(20s);
  lab.granted("a", 4);
  lab.executor("e0", "a");
  lab.executor("e1", "a");
  lab.run(20s);
  const std::vector<std::string> before = lab.placement();
  ASSERT_THAT(before, SizeIs(2));
  lab.kill_scheduler();
  lab.kill_extender();
  lab.executor("e2", "a");
  lab.executor("e3", "a");
  lab.run(5s);
  if (GetParam() == Way::kExtender) lab.start_extender();
  lab.start_scheduler();
  lab.run(20s);
  const std::vector<std::string> after = lab.placement();
  ASSERT_THAT(after, SizeIs(4));
  for (const std::string& each : before) EXPECT_THAT(after, Contains(each));
  EXPECT_THAT(lab.wrongs(), IsEmpty());
}

// Pods that nobody placed in slots wait for room everywhere, all the time.
TEST_P(Doors, ESI_030_ForeignPodsDoNotKeepJobsFromTheirSlots) {
  Lab lab({.way = GetParam()});
  lab.testbed();
  lab.run(20s);
  for (int i = 0; i < 30; ++i) lab.pod(fmt::format("foreign-{}", i), "700m");
  lab.job("a", "20s");
  for (int round = 0; round < 3; ++round) {
    const std::string name = fmt::format("s{}", round);
    lab.queue(name, "aaaaaa");
    lab.run(15s);
    EXPECT_THAT(lab.placement(), SizeIs(6)) << "round " << round;
    EXPECT_THAT(lab.wrongs(), IsEmpty()) << "round " << round;
    // A stock scheduler gives the room of an executor that ended to whoever comes first.
    if (GetParam() == Way::kExtender) break;
    lab.run(40s);
    EXPECT_THAT(lab.ghosts(), SizeIs(6)) << "round " << round;
    lab.erase(kinds().scheduling, {"default", name});
    lab.run(20s);
  }
}

// With our scheduler not even for a moment: 2.5 of 4 cores are nobody's, the rest is the slots'.
TEST(Plugin, NoForeignPodIsEverInTheRoomOfASlot) {
  Lab lab;
  lab.testbed();
  lab.run(20s);
  for (int i = 0; i < 30; ++i) lab.pod(fmt::format("foreign-{}", i), "700m");
  lab.run(10s);
  lab.job("a", "3s");
  lab.queue("s", "aaaaaa");
  const auto foreign = [&] {
    std::map<std::string, int> on;
    for (const Object& pod : lab.list(kube::kPod))
      if (pod.name().starts_with("foreign")) on[lab.node_of(pod.name())]++;
    on.erase("");
    return on;
  };
  const auto before = foreign();
  for (int i = 0; i < 15; ++i) {  // executors come, end, and ghosts come back
    EXPECT_EQ(foreign(), before);
    EXPECT_THAT(lab.wrongs(), IsEmpty());
  }
  lab.run(20s);
  EXPECT_EQ(foreign(), before);
  EXPECT_THAT(lab.ghosts(), SizeIs(6));
  // A ghost that somebody deletes comes back into its own room.
  lab.erase(kube::kPod, {"default", "ghostpod-tb-on-node-1-0"}, 0);
  lab.run(10s);
  EXPECT_EQ(foreign(), before);
  EXPECT_EQ(lab.node_of("ghostpod-tb-on-node-1-0"), "node-1");
  // What is no slot's any more is everybody's.
  lab.erase(kinds().testbed, {"default", "tb"});
  lab.run(30s);
  EXPECT_THAT(lab.ghosts(), IsEmpty());
  int after = 0, there = 0;
  for (const auto& [node, count] : foreign()) after += count;
  for (const auto& [node, count] : before) there += count;
  EXPECT_GT(after, there);
}

// The whole chain: Schedulings of jobs that run to their end, again and again.
TEST(BothDoors, P_06_PlaceTheSameScenarioAlike) {
  std::vector<std::vector<std::string>> seen[2];
  for (const Way way : {Way::kPlugin, Way::kExtender}) {
    Lab lab({.way = way});
    lab.testbed();
    lab.run(20s);
    fill(lab);
    for (const char* name : {"a", "b", "c"}) lab.job(name, "30s");
    lab.queue("one", "abba");
    lab.run(15s);
    auto& mine = seen[way == Way::kPlugin ? 0 : 1];
    mine.push_back(lab.placement());
    EXPECT_THAT(lab.wrongs(), IsEmpty());
    lab.run(60s);
    lab.erase(kinds().scheduling, {"default", "one"});
    lab.run(20s);
    lab.queue("two", "ccabca");
    lab.run(15s);
    mine.push_back(lab.placement());
    EXPECT_THAT(lab.wrongs(), IsEmpty());
    lab.run(90s);
    EXPECT_THAT(lab.executors(), IsEmpty());
  }
  EXPECT_EQ(seen[0], seen[1]);
  ASSERT_THAT(seen[0], SizeIs(2));
  EXPECT_THAT(seen[0][0], ElementsAre("a: slot 0 on node-0", "a: slot 3 on node-0",
                                      "b: slot 1 on node-1", "b: slot 2 on node-2"));
  EXPECT_THAT(seen[0][1], SizeIs(6));
}

TEST(BothDoors, ESI_060_OnlyExecutorsReachTheExtender) {
  Lab lab({.way = Way::kExtender, .managed = true});
  lab.testbed();
  lab.run(20s);
  lab.granted("a", 1);
  lab.pod("ordinary", "1");
  lab.run(10s);
  EXPECT_NE(lab.node_of("ordinary"), "");
  EXPECT_THAT(lab.access_log, IsEmpty()) << "neither ordinary pods nor ghosts";
  lab.executor("e", "a");
  lab.run(10s);
  EXPECT_EQ(lab.node_of("e"), "node-0");
  EXPECT_THAT(lab.access_log, Contains("filter e"));
}

TEST(BothDoors, ESI_060_ExecutorsThatRequestASlotComeToItAndRun) {
  Lab lab({.way = Way::kExtender, .managed = true});
  lab.testbed();
  lab.run(20s);
  lab.job("a");
  lab.queue("s", "aaaa");
  lab.run(30s);
  EXPECT_THAT(lab.placement(), ElementsAre("a: slot 0 on node-0", "a: slot 1 on node-1",
                                           "a: slot 2 on node-2", "a: slot 3 on node-0"));
  ASSERT_THAT(lab.executors(), SizeIs(4));
  for (const Object& pod : lab.executors()) {
    EXPECT_EQ(pod.status()["phase"].text(), "Running") << pod.status().raw();
    EXPECT_EQ(
        pod.member("spec")["containers"][std::size_t{0}]["resources"]["requests"]["berth.dev/slot"]
            .text(),
        "1");
  }
}

TEST(Plugin, ESI_060_TheSchedulerThatIsDeployedHasIt) {
  std::ifstream file(BERTH_SOURCE_DIR "/deploy/scheduler.yaml");
  const auto documents = json::yaml_to_json(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_TRUE(documents) << documents.error().message;
  std::vector<scheduler::PluginInfo> infos;
  for (const auto& plugin : scheduler::all_plugins()) infos.push_back(plugin.info);
  scheduler::SchedulerConfig wanted = scheduler::default_config(infos);
  scheduler::enable_slots(wanted.profiles.front().spec);
  std::size_t compared = 0;
  for (const json::YamlDocument& document : *documents) {
    const json::Slice object(document.json);
    if (!object["kind"].equals("ConfigMap")) continue;
    const auto config =
        scheduler::read_config(object["data"]["scheduler.yaml"].text(), infos, "scheduler.yaml");
    ASSERT_TRUE(config) << config.error().message;
    const auto& points = config->profiles.front().spec.points;
    for (std::size_t i = 0; i < points.size(); ++i, ++compared) {
      std::vector<scheduler::PluginId> has, should;
      for (const auto& entry : points[i]) has.push_back(entry.plugin);
      for (const auto& entry : wanted.profiles.front().spec.points[i])
        should.push_back(entry.plugin);
      EXPECT_EQ(has, should) << "at point " << i;
    }
  }
  EXPECT_GT(compared, 0u);
}

// What kube-scheduler has to be told, as a command prints it.
TEST(ExtenderConfig, ESI_060_SaysWhichPodsAreAskedAbout) {
  EXPECT_EQ(runtime::kube_scheduler_config({.url = "http://127.0.0.1:9443/slots"}),
            "apiVersion: kubescheduler.config.k8s.io/v1\n"
            "kind: KubeSchedulerConfiguration\n"
            "extenders:\n"
            "- urlPrefix: http://127.0.0.1:9443/slots\n"
            "  filterVerb: filter\n"
            "  preemptVerb: preempt\n"
            "  nodeCacheCapable: true\n"
            "  httpTimeout: 2s\n"
            "  # While it is away this scheduler's pods wait.\n"
            "  ignorable: false\n"
            "- urlPrefix: http://127.0.0.1:9443/scavengers\n"
            "  preemptVerb: preempt\n"
            "  nodeCacheCapable: true\n"
            "  httpTimeout: 1s\n"
            "  # While it is away scavengers are interrupted in the scheduler's own order.\n"
            "  ignorable: true\n");
  std::vector<scheduler::PluginInfo> infos;
  for (const auto& plugin : scheduler::all_plugins()) infos.push_back(plugin.info);
  const auto config =
      scheduler::read_config(runtime::kube_scheduler_config({.ca_file = "/ca.crt",
                                                             .cert_file = "/tls.crt",
                                                             .key_file = "/tls.key",
                                                             .scheduler_name = "external-scheduler",
                                                             .managed = true}),
                             infos, "printed");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->profiles.front().spec.scheduler_name, "external-scheduler");
  ASSERT_THAT(config->extenders, SizeIs(1));
  EXPECT_TRUE(config->extenders[0].enable_https);
  EXPECT_EQ(config->extenders[0].tls.ca_file, "/ca.crt");
  EXPECT_EQ(config->extenders[0].managed_resources.front().name, "berth.dev/slot");
  EXPECT_FALSE(config->extenders[0].ignorable);
}

// What only the extender has.
class Extender : public testing::Test {
 protected:
  Extender() : lab({.way = Way::kNone}) {
    lab.start_extender();
    lab.run(1s);
  }
  // Ghosts are bound by hand: nobody schedules here.
  void testbed(int slots) {
    lab.testbed();
    lab.run(20s);
    for (const Object& ghost : lab.ghosts()) lab.bind(ghost, ghost.label(kube::kTargetNodeLabel));
    lab.run(10s);
    lab.granted("a", slots);
  }
  Lab lab;
};

TEST_F(Extender, ESI_061_ESI_062_EveryNodeIsKeptOrSaidToHaveFailed) {
  testbed(2);
  const Object pod = lab.executor("e", "a");
  auto reply = lab.post("/slots/filter", filter_body(pod, {"node-0", "node-1", "node-2", "x"}));
  ASSERT_EQ(reply.status, 200) << reply.body;
  const json::Slice all(reply.body);
  EXPECT_EQ(all["NodeNames"].raw(), R"(["node-0"])");
  EXPECT_TRUE(all["FailedNodes"]["node-1"]) << "it has the grant's other slot";
  EXPECT_EQ(all["FailedNodes"].size(), 1u);
  EXPECT_TRUE(all["FailedAndUnresolvableNodes"]["node-2"]);
  EXPECT_TRUE(all["FailedAndUnresolvableNodes"]["x"]);
  EXPECT_EQ(all["Error"].text(), "");
  reply = lab.post("/slots/filter", filter_body(pod, {"node-1", "node-2"}));
  EXPECT_EQ(json::Slice(reply.body)["NodeNames"].raw(), "[]") << "the promise does not wander";
}

TEST_F(Extender, ESI_063_PreemptsTheGhostOfTheSlotWhoeverIsOffered) {
  testbed(2);
  const Object pod = lab.executor("e", "a");
  const auto reply = lab.post(
      "/slots/preempt", preempt_body(pod, {{"node-0", {"foreign"}}, {"node-2", {"another"}}}));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(
      reply.body,
      fmt::format(
          R"({{"NodeNameToMetaVictims":{{"node-0":{{"Pods":[{{"UID":"{}"}}],"NumPDBViolations":0}}}}}})",
          uid_of_ghost(lab, "ghostpod-tb-on-node-0-0")));
}

TEST_F(Extender, ESI_063_WhereTheGhostIsGoneTheTrespassersGo) {
  testbed(2);
  const Object pod = lab.executor("e", "a");
  lab.post("/slots/filter", filter_body(pod, kNodes));
  lab.run(2s);
  lab.erase(kube::kPod, {"default", "ghostpod-tb-on-node-0-0"}, 0);
  const std::string other = uid_of_ghost(lab, "ghostpod-tb-on-node-0-1");
  // A scheduler that has not heard of the ghost's end offers whoever it would evict instead.
  auto reply = lab.post("/slots/preempt", preempt_body(pod, {{"node-0", {"innocent", other}}}));
  EXPECT_EQ(reply.body, R"({"NodeNameToMetaVictims":{}})") << "the room is there";
  lab.pod("trespasser", "3", R"(,"nodeName":"node-0")");
  const std::string uid(lab.get(kube::kPod, {"default", "trespasser"}).uid());
  reply = lab.post("/slots/preempt", preempt_body(pod, {{"node-0", {uid, other}}}));
  EXPECT_EQ(
      reply.body,
      fmt::format(
          R"({{"NodeNameToMetaVictims":{{"node-0":{{"Pods":[{{"UID":"{}"}}],"NumPDBViolations":0}}}}}})",
          uid));
}

TEST_F(Extender, APromiseMovesOnceToANodeThatRoomCanBeMadeOn) {
  testbed(2);
  const Object pod = lab.executor("e", "a");
  lab.post("/slots/filter", filter_body(pod, kNodes));
  const auto reply = lab.post("/slots/preempt", preempt_body(pod, {{"node-1", {"x"}}}));
  EXPECT_TRUE(json::Slice(reply.body)["NodeNameToMetaVictims"]["node-1"]) << reply.body;
  const auto again = lab.post("/slots/filter", filter_body(pod, kNodes));
  EXPECT_EQ(json::Slice(again.body)["NodeNames"].raw(), R"(["node-1"])");
  const kube::BatchJobView job(lab.get(kinds().batch_job, {"default", "a"}));
  ASSERT_THAT(job.pins(), SizeIs(1));
  EXPECT_EQ(job.pins()[0].slot, 1);
}

TEST_F(Extender, ESI_064_AHundredEqualCallsAreOnePromise) {
  testbed(6);
  const Object pod = lab.executor("e", "a");
  std::vector<std::string> replies;
  lab.world.loop("scheduler").post([&] {
    for (int i = 0; i < 100; ++i)
      lab.extender->answer(
          {.method = "POST",
           .target = i % 2 == 0 ? "/slots/filter" : "/slots/preempt",
           .body = i % 2 == 0 ? filter_body(pod, kNodes)
                              : preempt_body(pod, {{"node-0", {"x"}}, {"node-1", {"y"}}})},
          [&](const net::HttpResponse& response) { replies.push_back(response.body); });
  });
  lab.run(5s);
  ASSERT_THAT(replies, SizeIs(100));
  EXPECT_EQ(std::set<std::string>(replies.begin(), replies.end()).size(), 2u);
  EXPECT_EQ(lab.extender->door().pins_written(), 1u);
  const kube::BatchJobView job(lab.get(kinds().batch_job, {"default", "a"}));
  ASSERT_THAT(job.pins(), SizeIs(1));
  EXPECT_EQ(job.pins()[0].pod_uid, pod.uid());
}

TEST_F(Extender, ESI_064_SixPodsAtOnceGetSixSlotsInFewWrites) {
  testbed(6);
  std::vector<Object> pods;
  for (int i = 0; i < 6; ++i) pods.push_back(lab.executor(fmt::format("e{}", i), "a"));
  std::set<std::string> kept;
  lab.world.loop("scheduler").post([&] {
    for (const Object& pod : pods)
      lab.extender->answer(
          {.method = "POST", .target = "/slots/filter", .body = filter_body(pod, kNodes)},
          [&, pod](const net::HttpResponse& response) {
            kept.insert(std::string(pod.name()) +
                        std::string(json::Slice(response.body)["NodeNames"].raw()));
          });
  });
  lab.run(5s);
  EXPECT_THAT(kept, SizeIs(6));
  EXPECT_LE(lab.extender->door().pins_written(), 2u);
  std::set<int> slots;
  const kube::BatchJobView job(lab.get(kinds().batch_job, {"default", "a"}));
  for (const kube::Pin& pin : job.pins()) slots.insert(pin.slot);
  EXPECT_THAT(slots, ElementsAre(0, 1, 2, 3, 4, 5));
}

// Two schedulers, or one that has given up waiting, ask for one pod and offer different nodes.
TEST_F(Extender, ESI_064_APodGetsOneSlotWhateverNodesAreOffered) {
  testbed(3);
  const Object pod = lab.executor("e", "a"), other = lab.executor("other", "a");
  lab.post("/slots/filter", filter_body(pod, kNodes));
  lab.world.loop("scheduler").post([&] {
    const auto ask = [&](const char* verb, std::string body) {
      lab.extender->answer({.method = "POST", .target = verb, .body = std::move(body)},
                           [](const net::HttpResponse&) {});
    };
    ask("/slots/filter", filter_body(other, kNodes));  // keeps the door busy
    ask("/slots/preempt", preempt_body(pod, {{"node-1", {"x"}}}));
    ask("/slots/preempt", preempt_body(pod, {{"node-2", {"x"}}}));
  });
  lab.run(5s);
  const kube::BatchJobView job(lab.get(kinds().batch_job, {"default", "a"}));
  EXPECT_THAT(job.pins(), SizeIs(2)) << "one for each of the two";
}

TEST_F(Extender, ESI_065_APromiseIsShownOnTheGhost) {
  testbed(1);
  const Object pod = lab.executor("e", "a");
  lab.post("/slots/filter", filter_body(pod, kNodes));
  lab.run(2s);
  const Object ghost = lab.get(kube::kPod, {"default", "ghostpod-tb-on-node-0-0"});
  ASSERT_TRUE(ghost.valid());
  EXPECT_EQ(ghost.label(kube::kPreemptedByLabel), "e");
  EXPECT_EQ(lab.states()[0], "RESERVED");
}

TEST_F(Extender, ESI_067_WithoutASlotTheAnswerIsEmptyAndNoError) {
  testbed(1);
  const Object first = lab.executor("first", "a"), second = lab.executor("second", "a");
  lab.post("/slots/filter", filter_body(first, kNodes));
  const auto filtered = lab.post("/slots/filter", filter_body(second, kNodes));
  EXPECT_EQ(filtered.status, 200);
  EXPECT_EQ(json::Slice(filtered.body)["NodeNames"].raw(), "[]");
  const auto preempted = lab.post("/slots/preempt", preempt_body(second, {{"node-0", {"x"}}}));
  EXPECT_EQ(preempted.status, 200);
  EXPECT_EQ(preempted.body, R"({"NodeNameToMetaVictims":{}})");
  lab.run(2s);
  EXPECT_THAT(lab.events_of("second", "NoFreeSlot"), Not(IsEmpty()));
}

TEST_F(Extender, ESI_068_APodThatIsNotOursComesBackAsItWent) {
  testbed(1);
  lab.pod("foreign", "1");
  const Object pod = lab.get(kube::kPod, {"default", "foreign"});
  const auto filtered = lab.post("/slots/filter", filter_body(pod, kNodes));
  EXPECT_EQ(json::Slice(filtered.body)["NodeNames"].raw(), R"(["node-0","node-1","node-2"])");
  EXPECT_EQ(json::Slice(filtered.body)["FailedNodes"].raw(), "{}");
  const auto preempted = lab.post("/slots/preempt", preempt_body(pod, {{"node-1", {"a", "b"}}}));
  EXPECT_EQ(
      preempted.body,
      R"({"NodeNameToMetaVictims":{"node-1":{"Pods":[{"UID":"a"},{"UID":"b"}],"NumPDBViolations":0}}})");
}

TEST_F(Extender, ESI_069_ARestartKeepsWhatWasPromised) {
  testbed(6);
  const Object first = lab.executor("first", "a"), second = lab.executor("second", "a");
  lab.post("/slots/filter", filter_body(first, kNodes));
  const auto before = lab.post("/slots/filter", filter_body(second, kNodes));
  lab.kill_extender();
  lab.start_extender();
  lab.run(2s);
  const auto after = lab.post("/slots/filter", filter_body(second, kNodes));
  EXPECT_EQ(after.body, before.body);
  EXPECT_EQ(json::Slice(after.body)["NodeNames"].raw(), R"(["node-1"])");
}

TEST_F(Extender, WholeNodesComeBackWhole) {
  testbed(2);
  const Object pod = lab.executor("e", "a");
  scheduler::ExtenderArgs args{.pod = pod};
  std::vector<std::string> names;
  for (const Object& node : lab.list(kube::kNode)) {
    names.emplace_back(node.name());
    args.nodes.push_back(node);
  }
  args.names = std::make_shared<const std::vector<std::string>>(names);
  const auto reply = lab.post("/slots/filter", scheduler::extender_request(args, false));
  const json::Slice all(reply.body);
  ASSERT_EQ(all["Nodes"]["items"].size(), 1u) << reply.body;
  EXPECT_EQ(all["Nodes"]["items"][std::size_t{0}].raw(), args.nodes[0].json());
  EXPECT_TRUE(all["NodeNames"].is_null());
}

TEST_F(Extender, AnswersBadRequestsWithWhatIsWrongAndSaysHowItIs) {
  EXPECT_EQ(lab.post("/slots/filter", "{}").status, 400);
  EXPECT_EQ(lab.post("/slots/filter", R"({"Pod":[]})").status, 400);
  EXPECT_THAT(lab.post("/slots/preempt", R"({"Pod":null})").body, HasSubstr("Pod"));
  EXPECT_EQ(lab.post("/slots/bind", "{}").status, 404);
  EXPECT_EQ(lab.post("/healthz", "").status, 405);
  const auto get = [&](std::string path) {
    net::HttpResponse answer;
    lab.extender->answer({.target = std::move(path)},
                         [&](net::HttpResponse response) { answer = std::move(response); });
    return answer;
  };
  EXPECT_EQ(get("/healthz").body, "ok");
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_THAT(get("/metrics").body, HasSubstr("berth_extender_requests_total"));
}

TEST(ExtenderService, SaysThatItIsNotReadyBeforeItKnowsTheCluster) {
  Lab lab({.way = Way::kNone});
  lab.start_extender();
  net::HttpResponse answer;
  lab.extender->answer({.target = "/readyz"},
                       [&](net::HttpResponse response) { answer = std::move(response); });
  EXPECT_EQ(answer.status, 503);
}

}  // namespace
}  // namespace berth::doors
