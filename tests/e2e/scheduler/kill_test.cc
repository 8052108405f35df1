// SPDX-License-Identifier: Apache-2.0
// The scheduler is killed with -9 again and again while it works. Whatever it was doing: after the
// last start every pod is bound exactly once, none is lost, and no node holds more than it can.
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/random.h"
#include "cluster.h"
#include "scale.h"

namespace berth::e2e {
namespace {

// Nodes that the pods fill to the last core, so that one pod counted twice or forgotten shows.
std::string node_json(int i, int pods_each) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{0}","labels":{{"kubernetes.io/hostname":"node-{0}"}}}},"status":{{"allocatable":{{"cpu":"{1}","memory":"64Gi","pods":"{1}"}},"capacity":{{"cpu":"{1}","memory":"64Gi","pods":"{1}"}},"conditions":[{{"type":"Ready","status":"True","reason":"Fake","message":""}}]}}}})",
      i, pods_each);
}

std::string pod_json(int i) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{}","namespace":"default"}},"spec":{{"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"1"}}}}}}]}}}})",
      i);
}

TEST(Kill, EveryPodIsBoundExactlyOnce) {
  const int kills = scaled(10, 100), pods = scaled(300, 2000), pods_each = 20;
  BERTH_CLUSTER(cluster, {.controllers = {}, .kwok = false});
  std::vector<NewObject> nodes;
  for (int i = 0; i < pods / pods_each; ++i)
    nodes.push_back({kube::kNode, "", node_json(i, pods_each)});
  auto made = cluster.create_all(std::move(nodes));
  ASSERT_TRUE(made) << made.error().message;
  PodHistory history(cluster.admin());

  const std::uint64_t seed = Random::from_entropy().next();
  Random random(seed);
  // Pods arrive in as many batches as there are kills, so that there is always work to be torn
  // away from.
  int created = 0, interrupted = 0;
  std::unique_ptr<Child> scheduler;
  for (int kill = 0; kill <= kills; ++kill) {
    std::vector<NewObject> batch;
    for (const int until = pods * (kill + 1) / (kills + 1); created < until; ++created)
      batch.push_back({kube::kPod, "default", pod_json(created)});
    made = cluster.create_all(std::move(batch));
    ASSERT_TRUE(made) << made.error().message;
    auto started = cluster.start_scheduler(subject());
    ASSERT_TRUE(started) << started.error().message;
    scheduler = std::move(*started);
    if (kill == kills) break;
    // From the first bind of this process on, at some moment of the binds that follow: mostly
    // within the first milliseconds.
    const std::size_t before = history.bound();
    ASSERT_TRUE(
        eventually(std::chrono::seconds(60),
                   [&] { return history.bound() > before || static_cast<int>(before) == created; }))
        << "nothing is bound after start " << kill << "\n"
        << scheduler->log_tail(30);
    std::this_thread::sleep_for(
        std::chrono::microseconds(random.below(std::uint64_t{1} << random.below(16))));
    scheduler->signal(SIGKILL);
    ASSERT_TRUE(scheduler->wait(std::chrono::seconds(10)));
    interrupted += static_cast<int>(history.bound()) < created;
  }
  EXPECT_TRUE(eventually(std::chrono::seconds(120),
                         [&] { return static_cast<int>(history.bound()) == pods; }))
      << history.bound() << " of " << pods << " pods are bound\n"
      << scheduler->log_tail(30);

  const Verdict verdict = check_placement(cluster.state());
  fmt::print("seed {}: {} kills of {}, {} of them in the middle of work; {}", seed, kills,
             name_of(subject()), interrupted, verdict.text());
  EXPECT_TRUE(verdict.violations.empty()) << verdict.text();
  EXPECT_EQ(static_cast<int>(verdict.bound), pods);
  EXPECT_EQ(static_cast<int>(history.lives().size()), pods) << "none lost, none made twice";
  EXPECT_EQ(bound_other_than_once(history.lives()), "");
  EXPECT_EQ(history.gaps(), 0u);
  EXPECT_GT(interrupted, kills / 10) << "the kills came too late to tell anything";
}

}  // namespace
}  // namespace berth::e2e
