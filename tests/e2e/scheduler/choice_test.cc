// SPDX-License-Identifier: Apache-2.0
// Pod by pod from the same state: the node that the scheduler takes must be one of those that
// kube-scheduler's own code finds best, and victims must be those that it would choose. The oracle
// (oracle/) is asked afterwards, with the states as the API server told them before each pod.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"
#include "kube/names.h"
#include "scale.h"

namespace berth::e2e {
namespace {

// Keys of a case, and what to make of them.
struct Part {
  const char* key;
  kube::KindId kind;
  bool kept;  // told to the oracle in each state
};
const std::vector<Part>& parts() {
  static const std::vector<Part> all{{"namespaces", kube::kNamespace, true},
                                     {"services", kube::kService, true},
                                     {"replicationControllers", kube::kReplicationController, true},
                                     {"replicaSets", kube::kReplicaSet, true},
                                     {"statefulSets", kube::kStatefulSet, true},
                                     {"nodes", kube::kNode, true},
                                     {"pods", kube::kPod, true}};
  return all;
}

std::string run(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr) << command;
  if (pipe == nullptr) return out;
  std::vector<char> buffer(1 << 16);
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    out.append(buffer.data(), got);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// The last node made and a pod that only it takes: when that pod is bound, the scheduler has seen
// everything before.
constexpr const char* kLastNode =
    R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"sentinel","labels":{"sentinel":"yes"}},"spec":{"taints":[{"key":"sentinel","effect":"NoSchedule"}]},"status":{"allocatable":{"cpu":"1","memory":"1Gi","pods":"10"},"capacity":{"cpu":"1","memory":"1Gi","pods":"10"}}})";
constexpr const char* kLastPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"sentinel","namespace":"default"},"spec":{"terminationGracePeriodSeconds":0,"nodeSelector":{"sentinel":"yes"},"tolerations":[{"key":"sentinel","operator":"Exists"}],"containers":[{"name":"c","image":"i"}]}})";

// What happened to one pod.
struct Decision {
  std::string id;
  std::string node = "";  // when it stayed pending
  std::set<std::string> victims = {};
};

class Choice : public ::testing::Test {
 protected:
  void judge(const json::Slice& answer, const Decision& decision);
  Decision place(Cluster&, const std::string& id, const std::string& pod);
  void fill(Cluster&, PodHistory&, json::Slice problem);
  void started(Cluster& cluster, const kube::Key& pod) {
    // Running since ever later seconds, so that no two pods started at once.
    const int at = ++started_;
    const auto patched = cluster.admin().patch(
        kube::kPod, pod,
        fmt::format(
            R"({{"status":{{"phase":"Running","startTime":"2026-01-01T{:02}:{:02}:{:02}Z"}}}})",
            at / 3600 % 24, at / 60 % 60, at % 60),
        kube::PatchType::kMerge, "status");
    ASSERT_TRUE(patched) << patched.error().message;
  }

  int started_ = 0;
  std::string states_;  // the oracle's questions, a line each
};

void Choice::fill(Cluster& cluster, PodHistory& history, json::Slice problem) {
  for (const Part& part : parts()) {
    std::vector<NewObject> objects;
    for (json::Slice object : problem[part.key].elements()) {
      const std::string ns = object["metadata"]["namespace"].text();
      if (part.kind == kube::kNamespace &&
          cluster.admin().get(part.kind, {"", object["metadata"]["name"].text()}))
        continue;
      objects.push_back({part.kind, ns, std::string(object.raw())});
    }
    if (part.kind == kube::kNode) objects.push_back({kube::kNode, "", kLastNode});
    const auto made = cluster.create_all(std::move(objects));
    ASSERT_TRUE(made) << made.error().message;
  }
  for (json::Slice pod : problem["pods"].elements())
    started(cluster, {pod["metadata"]["namespace"].text(), pod["metadata"]["name"].text()});
  ASSERT_TRUE(cluster.admin().create(kube::kPod, "default", kLastPod));
  ASSERT_TRUE(eventually(std::chrono::seconds(30),
                         [&] {
                           const auto lives = history.by_key();
                           const auto found = lives.find("default/sentinel");
                           return found != lives.end() && !found->second.gone &&
                                  !found->second.node.empty();
                         }))
      << "the scheduler does nothing\n"
      << cluster.log_tails();
  started(cluster, {"default", "sentinel"});
}

Decision Choice::place(Cluster& cluster, const std::string& id, const std::string& pod) {
  Decision out{.id = id};
  const std::string ns = json::Slice(pod)["metadata"]["namespace"].text();
  // As the server will default it.
  const auto pending = cluster.admin().create(kube::kPod, ns, pod, {.dry_run = true});
  EXPECT_TRUE(pending) << pending.error().message << "\n" << pod;
  if (!pending) return out;
  states_ += fmt::format(R"({{"id":"{}","pending":{})", id, pending->json());
  std::set<std::string> before;
  for (const Part& part : parts()) {
    const auto listed = cluster.admin().list_all(part.kind, "");
    states_ += fmt::format(R"(,"{}":[)", part.key);
    const char* comma = "";
    for (const kube::Object& object : listed->items) {
      if (part.kind == kube::kPod) before.insert(object.key().text());
      states_ += comma + object.json();
      comma = ",";
    }
    states_ += "]";
  }
  states_ += "}\n";

  const auto made = cluster.admin().create(kube::kPod, ns, pod);
  EXPECT_TRUE(made) << made.error().message;
  if (!made) return out;
  const bool settled = eventually(std::chrono::seconds(60), [&] {
    const auto now = cluster.admin().get(kube::kPod, made->key());
    if (!now) return false;
    out.node = now->member("spec")["nodeName"].text();
    if (!out.node.empty()) return true;
    if (!now->status()["nominatedNodeName"].text().empty()) return false;
    for (json::Slice condition : now->status()["conditions"].elements())
      if (condition["type"].equals("PodScheduled") && condition["reason"].equals("Unschedulable"))
        return true;
    return false;
  });
  EXPECT_TRUE(settled) << id << ": neither bound nor refused\n" << cluster.log_tails();
  if (out.node.empty())
    EXPECT_TRUE(cluster.admin().erase(kube::kPod, made->key(), {.grace_period_seconds = 0}));
  else
    started(cluster, made->key());
  std::set<std::string> after;
  const auto left_over = cluster.admin().list_all(kube::kPod, "");
  for (const kube::Object& left : left_over->items) after.insert(left.key().text());
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::inserter(out.victims, out.victims.end()));
  return out;
}

void Choice::judge(const json::Slice& answer, const Decision& decision) {
  SCOPED_TRACE(decision.id);
  ASSERT_EQ(answer["error"].text(), "");
  std::set<std::string> best;
  std::int64_t top = -1;
  for (auto [node, total] : answer["totals"].members()) {
    const std::int64_t score = total.integer().value_or(0);
    if (score > top) best.clear();
    top = std::max(top, score);
    if (score == top) best.insert(std::string(node));
  }
  for (json::Slice node : answer["preemption"]["ties"].elements()) best.insert(node.text());
  if (best.empty()) {
    EXPECT_EQ(decision.node, "") << "kube-scheduler finds no node";
    EXPECT_TRUE(decision.victims.empty());
    return;
  }
  EXPECT_TRUE(best.count(decision.node) > 0)
      << (decision.node.empty() ? "stayed pending" : decision.node) << " is not one of "
      << fmt::format("{}", fmt::join(best, ", "));
  std::set<std::string> victims;
  for (json::Slice candidate : answer["preemption"]["candidates"].elements())
    if (candidate["node"].text() == decision.node)
      for (json::Slice victim : candidate["victims"].elements()) victims.insert(victim.text());
  EXPECT_EQ(decision.victims, victims);
}

TEST_F(Choice, IsAlwaysOneOfTheBestNodes) {
  const std::string folder = std::string(BERTH_SOURCE_DIR) + "/tests/e2e/scheduler/oracle/";
  const std::vector<std::string> where = lines_of(run(folder + "build"));
  if (where.empty()) GTEST_SKIP() << "the oracle is not there: `make real` builds it with Go 1.26";
  const std::string oracle = where.back();
  BERTH_CLUSTER(cluster, {.controllers = {}, .kwok = false});
  PodHistory history(cluster.admin());
  auto scheduler = cluster.start_scheduler(
      subject(), {.config = "parallelism: 1\npercentageOfNodesToScore: 100\n"
                            "podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1\n"});
  ASSERT_TRUE(scheduler) << scheduler.error().message;

  constexpr int kPodsEach = 10;
  const int clusters = scaled(1, 10);  // of each profile
  const std::uint64_t seed = nightly() ? Random::from_entropy().below(1'000'000) : 4;
  fmt::print("seed {}\n", seed);
  std::vector<Decision> decisions;
  for (const char* profile : {"basic", "affinity", "spread", "preempt", "services"}) {
    const auto problems = lines_of(
        run(fmt::format("{} generate {} {} {}", oracle, profile, clusters * kPodsEach, seed)));
    for (int i = 0; i < clusters && !HasFatalFailure(); ++i) {
      const auto at = [&](int j) {
        return json::Slice(problems[static_cast<std::size_t>(i * kPodsEach + j)]);
      };
      fill(cluster, history, at(0));
      for (int j = 0; j < kPodsEach && !HasFatalFailure(); ++j) {
        std::string pod(at(j)["pending"].raw());
        const std::string from = R"("name":"pending")";
        pod.replace(pod.find(from), from.size(), fmt::format(R"("name":"pending-{}")", j));
        decisions.push_back(place(cluster, fmt::format("{}-{}-{}", profile, i, j), pod));
      }
      cluster.wipe();
      ASSERT_TRUE(eventually(std::chrono::seconds(30), [&] { return history.there() == 0; }));
    }
  }
  ASSERT_FALSE(HasFatalFailure()) << cluster.log_tails();

  const auto questions = cluster.plane().folder().write("states.jsonl", states_);
  const auto answers = lines_of(run(oracle + " answer " + questions.string()));
  ASSERT_EQ(answers.size(), decisions.size());
  int pending = 0, preempting = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    judge(json::Slice(answers[i]), decisions[i]);
    pending += decisions[i].node.empty();
    preempting += !decisions[i].victims.empty();
  }
  fmt::print("{} decisions of {}: {} stayed pending, {} preempted\n", decisions.size(),
             name_of(subject()), pending, preempting);
  EXPECT_GT(preempting, 0) << "too tame a choice of states";
  EXPECT_LT(pending, static_cast<int>(decisions.size()) / 2);
}

}  // namespace
}  // namespace berth::e2e
