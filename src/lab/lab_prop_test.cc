// SPDX-License-Identifier: Apache-2.0
// Whatever happens to nodes and pods: nothing lives on a node that is gone or silent, restarts are
// never taken back, addresses are nobody else's, and every deleted pod goes.
#include <cstdlib>
#include <map>
#include <set>

#include "bench_for_test.h"
#include "kube/pod_view.h"

namespace berth::lab {
namespace {

class Storm {
 public:
  explicit Storm(Seed seed) : bench_(options(seed), seed), chance_(Random(seed).fork("storm")) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      act();
      bench_.world.run_for(std::chrono::milliseconds(chance_.below(20'000)));
      check();
      if (testing::Test::HasFailure()) return;
    }
    settle();
  }
  std::uint64_t hash() const { return bench_.world.log_hash(); }

 private:
  static constexpr std::uint64_t kNodes = 5;
  static LabOptions options(Seed seed) {
    LabOptions options;
    options.nodes = kNodes;
    options.heartbeat = seed % 2 == 0 ? Heartbeat::kPaced : Heartbeat::kOnDemand;
    return options;
  }
  std::string some_node() { return fmt::format("node-{}", chance_.below(kNodes)); }

  void act() {
    const std::string node = some_node();
    switch (chance_.below(10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return create();
      case 4:
      case 5:
        if (!pods_.empty()) {
          const auto at = static_cast<std::ptrdiff_t>(chance_.below(pods_.size()));
          const std::string name = *(pods_.begin() + at);
          if (bench_.pod(name) != nullptr && !bench_.pod(name)->deleting())
            bench_.erase(kube::kPod, name, static_cast<std::int64_t>(chance_.below(20)));
        }
        return;
      case 6:
        bench_.lab->fail_node(node, chance_.chance(0.5) ? Outage::kCrashed : Outage::kCutOff);
        return;
      case 7:
        bench_.lab->recover_node(node);
        return;
      case 8:
        if (bench_.node(node) != nullptr)
          bench_.erase(kube::kNode, node);
        else
          bench_.create(kube::kNode,
                        fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{}}}})", node));
        return;
      default:
        if (!pods_.empty()) bench_.lab->fail_pod({"default", pods_[chance_.below(pods_.size())]});
    }
  }

  void create() {
    PodText pod(fmt::format("p{}", pods_.size()));
    pods_.push_back(fmt::format("p{}", pods_.size()));
    pod.on(some_node());
    const char* const policies[] = {"Always", "OnFailure", "Never"};
    pod.policy(policies[chance_.below(3)]);
    if (chance_.chance(0.3)) pod.note("berth.dev/duration", "5s..40s");
    if (chance_.chance(0.3)) pod.note("berth.dev/crash-after", "2s..10s");
    if (chance_.chance(0.3)) pod.init(R"({"name":"i","image":"i"})");
    if (chance_.chance(0.3)) pod.note("berth.dev/stop-time", "0s..40s");
    bench_.create(pod);
  }

  bool alive(const std::string& node) {
    return bench_.node(node) != nullptr && bench_.lab->is_beating(node);
  }

  void check() {
    std::set<std::string> addresses;
    for (const std::string& name : pods_) {
      const kube::Object* pod = bench_.pod(name);
      if (pod == nullptr) continue;
      const std::string node = pod->member("spec")["nodeName"].text();
      // Who was on a dead node at the last look and still is has been left alone but by users.
      Seen& seen = seen_[name];
      const std::string status(pod->status().raw());
      if (seen.dead && !alive(node)) {
        EXPECT_EQ(status, seen.status) << name << " lived on a dead node";
      }
      seen.dead = !alive(node);
      seen.status = status;
      std::int64_t restarts = 0;
      for (const json::Slice c : pod->status()["containerStatuses"].elements())
        restarts += c["restartCount"].integer().value_or(0);
      EXPECT_GE(restarts, seen.restarts) << name;
      seen.restarts = restarts;
      const std::string address = pod->status()["podIP"].text();
      if (!address.empty() && !kube::PodView(*pod).finished()) {
        EXPECT_TRUE(addresses.insert(address).second) << name << " has another's address";
      }
    }
  }

  void settle() {
    for (std::uint64_t i = 0; i < kNodes; ++i) {
      const std::string node = fmt::format("node-{}", i);
      if (bench_.node(node) == nullptr)
        bench_.create(kube::kNode,
                      fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{}}}})", node));
      bench_.lab->recover_node(node);
    }
    for (const std::string& name : pods_)
      if (bench_.pod(name) != nullptr && !bench_.pod(name)->deleting())
        bench_.erase(kube::kPod, name, 30);
    bench_.world.run_for(1min);
    EXPECT_EQ(bench_.store.count(kube::kPod), 0u);
    EXPECT_EQ(bench_.lab->counts().pods, 0u);
  }

  struct Seen {
    bool dead = false;
    std::string status;
    std::int64_t restarts = 0;
  };
  Bench bench_;
  Random chance_;
  std::vector<std::string> pods_;
  std::map<std::string, Seen> seen_;
};

std::uint64_t seeds() {
  const char* stated = std::getenv("BERTH_SEEDS");
  return stated == nullptr ? 8 : static_cast<std::uint64_t>(std::atoll(stated));
}

TEST(LabProperty, NothingLivesOnDeadNodesAndEveryDeletedPodGoes) {
  for (Seed seed = 1; seed <= seeds(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Storm storm(seed);
    storm.run(80);
    if (HasFailure()) return;
  }
}

TEST(LabProperty, TheSameSeedGivesTheSameHistory) {
  const auto history = [](Seed seed) {
    Storm storm(seed);
    storm.run(60);
    return storm.hash();
  };
  EXPECT_EQ(history(5), history(5));
  EXPECT_NE(history(5), history(6));
}

}  // namespace
}  // namespace berth::lab
