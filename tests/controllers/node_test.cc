// SPDX-License-Identifier: Apache-2.0
// Nodes that fail, and what becomes of their pods.
#include <gmock/gmock.h>

#include "controllers/node_lifecycle/heartbeats.h"
#include "controllers/registry.h"
#include "kube/time.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Controllers watchers(Heartbeats* heartbeats = nullptr) {
  return [heartbeats] {
    return *make_controllers({"node-lifecycle-controller", "taint-eviction-controller",
                              "pod-garbage-collector-controller"},
                             {.heartbeats = heartbeats});
  };
}

std::string ready(Lab& lab, const std::string& node) {
  for (const json::Slice one : lab.get(kube::kNode, {"", node}).status()["conditions"].elements())
    if (one["type"].equals("Ready")) return one["status"].text();
  return "";
}

// What kubelets do: a Lease every ten seconds for as long as there is a lab, a status when they
// come.
struct Kubelets {
  explicit Kubelets(Lab& in) : lab(in) { beat(lab, alive_); }
  void join(const std::string& name, const std::string& zone = "") {
    ASSERT_TRUE(lab.create(fmt::format(
        R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}","labels":{{"topology.kubernetes.io/zone":"{}"}}}},"spec":{{}}}})",
        name, zone)));
    speak(name);
    alive().insert(name);
  }
  void speak(const std::string& name) { post(lab, name); }
  std::set<std::string>& alive() { return *alive_; }
  Lab& lab;

 private:
  using Names = std::shared_ptr<std::set<std::string>>;
  static void write(Lab& lab, KindId kind, const Key& key, std::string patch) {
    kube::ApiRequest request;
    request.verb = kube::Verb::kPatch;
    request.kind = kind;
    request.ns = key.ns;
    request.name = key.name;
    request.subresource = "status";
    request.body.bytes = std::make_shared<const std::string>(std::move(patch));
    lab.server.handle(std::move(request), {});
  }
  static void post(Lab& lab, const std::string& name) {
    write(
        lab, kube::kNode, {"", name},
        fmt::format(
            R"({{"status":{{"conditions":[{{"type":"Ready","status":"True","reason":"KubeletReady","lastHeartbeatTime":"{0}","lastTransitionTime":"{0}"}}]}}}})",
            kube::time_text(lab.world.clock().wall())));
  }
  static void beat(Lab& lab, const Names& names) {
    for (const std::string& name : *names) {
      lab.server.set(kube::kLease, {"kube-node-lease", name},
                     fmt::format(R"("spec":{{"holderIdentity":"{}","renewTime":"{}"}})", name,
                                 kube::micro_time_text(lab.world.clock().wall())));
      // What was said of it in its absence is put right.
      if (ready(lab, name) != "True") post(lab, name);
      for (const Object& pod : lab.list(kube::kPod))
        if (pod.member("spec")["nodeName"].equals(name) &&
            pod.status()["phase"].equals("Running") &&
            !pod.status()["conditions"][std::size_t{0}]["status"].equals("True"))
          write(lab, kube::kPod, pod.key(), running_status(lab.world.clock().wall()));
    }
    Executor& api = lab.world.loop("api");
    api.at(
        api.clock().now() + 10s, [&lab, names] { beat(lab, names); }, Timer::kBackground);
  }
  Names alive_ = std::make_shared<std::set<std::string>>();
};
void pod(Lab& lab, const std::string& name, const std::string& node, int seconds) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"nodeName":"{}","terminationGracePeriodSeconds":1,"containers":[{{"name":"main"}}],)"
      R"("tolerations":[{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":{}}}]}}}})",
      name, node, seconds)));
}
std::vector<std::string> taints(Lab& lab, const std::string& node) {
  std::vector<std::string> all;
  const Object object = lab.get(kube::kNode, {"", node});
  for (const json::Slice one : object.member("spec")["taints"].elements())
    all.push_back(fmt::format("{}:{}", one["key"].text().substr(19), one["effect"].text()));
  return all;
}

TEST(NodeStory, ASilentNodeIsUnknownAndThenLosesItsPods) {
  Lab lab({.controllers = watchers()});
  Kubelets kubelets(lab);
  for (const char* name : {"a", "b", "c"}) kubelets.join(name);
  pod(lab, "stays", "a", 300);
  pod(lab, "goes", "a", 30);
  lab.run(5min);
  EXPECT_EQ(ready(lab, "a"), "True");
  EXPECT_THAT(taints(lab, "a"), IsEmpty());
  kubelets.alive().erase("a");
  lab.run(40s);
  EXPECT_EQ(ready(lab, "a"), "True");
  lab.run(20s);
  EXPECT_EQ(ready(lab, "a"), "Unknown");
  EXPECT_THAT(taints(lab, "a"), ElementsAre("unreachable:NoSchedule", "unreachable:NoExecute"));
  EXPECT_THAT(lab.get(kube::kPod, {"default", "stays"}).status().raw(),
              HasSubstr(R"("type":"Ready","status":"False")"));
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("goes", "stays"));
  lab.run(1min);
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("stays"));
  kubelets.alive().insert("a");
  kubelets.speak("a");
  lab.run(10s);
  EXPECT_THAT(taints(lab, "a"), IsEmpty());
  lab.run(10min);
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("stays")) << "it came back in time";
  EXPECT_THAT(lab.events(), Contains("NodeNotReady: Node a status is now: NodeNotReady"));
  EXPECT_THAT(lab.events(),
              Contains("TaintManagerEviction: Marking for deletion Pod default/goes"));
  EXPECT_THAT(lab.events(),
              Contains("TaintManagerEviction: Cancelling deletion of Pod default/stays"));
}

TEST(NodeStory, WhereAllNodesFallSilentNothingIsRemoved) {
  Lab lab({.controllers = watchers()});
  Kubelets kubelets(lab);
  for (const char* name : {"a", "b", "c", "d"}) kubelets.join(name);
  pod(lab, "p", "a", 0);
  lab.run(1min);
  const std::set<std::string> all = std::exchange(kubelets.alive(), {});
  lab.run(1h);
  for (const std::string& name : all) {
    EXPECT_EQ(ready(lab, name), "Unknown");
    EXPECT_THAT(taints(lab, name), ElementsAre("unreachable:NoSchedule"));
  }
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("p"));
}

TEST(NodeStory, NodesAreGivenUpOneByOne) {
  Lab lab({.controllers = watchers()});
  Kubelets kubelets(lab);
  for (int i = 0; i < 12; ++i) kubelets.join(fmt::format("n{:02}", i));
  lab.run(1min);
  for (int i = 0; i < 4; ++i) kubelets.alive().erase(fmt::format("n{:02}", i));
  const auto given_up = [&] {
    int count = 0;
    for (int i = 0; i < 4; ++i)
      count += static_cast<int>(taints(lab, fmt::format("n{:02}", i)).size()) - 1;
    return count;
  };
  lab.run(54s);
  EXPECT_EQ(given_up(), 1);
  lab.run(10s);
  EXPECT_EQ(given_up(), 2);
  lab.run(30s);
  EXPECT_EQ(given_up(), 4);
}

TEST(NodeStory, PodsOfANodeThatIsGoneGo) {
  Lab lab({.controllers = watchers()});
  lab.nodes_work = false;
  Kubelets kubelets(lab);
  kubelets.join("a");
  kubelets.join("b");
  pod(lab, "p", "a", 300);
  pod(lab, "q", "b", 300);
  lab.run(1min);
  lab.erase(kube::kNode, {"", "a"});
  kubelets.alive().erase("a");
  lab.run(30s);
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("p", "q"));
  lab.run(20s);
  EXPECT_THAT(lab.names(kube::kPod), ElementsAre("q"));
  EXPECT_THAT(lab.events(),
              Contains("RemovingNode: Node a event: Removing Node a from Controller"));
}

// Nodes that are simulated say themselves when they fall silent.
class Simulated final : public Heartbeats {
 public:
  std::optional<WallTime> silent_since(const std::string& node) const override {
    const auto found = silent.find(node);
    return found == silent.end() ? std::nullopt : std::optional(found->second);
  }
  void subscribe(std::function<void(const std::string&)> changed) override {
    changed_ = std::move(changed);
  }
  void fall_silent(const std::string& node, WallTime last) {
    silent[node] = last;
    changed_(node);
  }
  std::map<std::string, WallTime> silent;

 private:
  std::function<void(const std::string&)> changed_;
};

TEST(NodeStory, BothSourcesOfHeartbeatsEndInTheSameMoment) {
  const auto moment = [](bool simulated) {
    Simulated heartbeats;
    Lab lab({.controllers = watchers(simulated ? &heartbeats : nullptr)});
    Kubelets kubelets(lab);
    for (const char* name : {"a", "b", "c"}) kubelets.join(name);
    lab.run(95s);
    const WallTime last = lab.world.clock().wall() - 5s;
    kubelets.alive().erase("a");
    if (simulated) heartbeats.fall_silent("a", last);
    while (ready(lab, "a") == "True") EXPECT_TRUE(lab.world.step());
    return lab.world.clock().wall() - last;
  };
  EXPECT_EQ(moment(true), Duration(50s));
  EXPECT_EQ(moment(false), moment(true));
}

void failures(Lab& lab) {
  Kubelets kubelets(lab);
  for (const char* name : {"a", "b", "c"}) kubelets.join(name);
  pod(lab, "p", "a", 30);
  pod(lab, "q", "b", 30000);
  pod(lab, "orphan", "gone", 3000);
  lab.run(3min);
  kubelets.alive().erase("a");
  lab.run(10min);
  ASSERT_TRUE(lab.patch(kube::kNode, {"", "b"}, R"({"spec":{"unschedulable":true}})"));
  lab.run(5min);
}
TEST(NodeCrashSweep, EndsTheSameWhereverItIsKilled) { crash_sweep({watchers(), failures}); }
TEST(NodeFaultSweep, EndsTheSameWhateverTheWireDoes) { fault_sweep({watchers(), failures}); }

}  // namespace
}  // namespace berth::controllers::stories
