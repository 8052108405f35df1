// SPDX-License-Identifier: Apache-2.0
// Random clusters and queues, and what has to hold of every answer; sums by plain Quantities.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"
#include "policy/scavenge/admit.h"

namespace berth::scavenge {
namespace {

kube::Quantity whole(std::uint64_t amount) {
  return kube::Quantity::of(static_cast<std::int64_t>(amount));
}
kube::Quantity milli(std::uint64_t amount) {
  return kube::Quantity::of(static_cast<std::int64_t>(amount), kube::Quantity::Format::kDecimalSI,
                            -3);
}
kube::ResourceList draw(Random& random, std::uint64_t cores, bool devices) {
  kube::ResourceList list{{"cpu", milli(random.below(cores * 1000) + 1)},
                          {"memory", whole((random.below(cores) + 1) << 30)}};
  if (devices && random.chance(0.2)) list["nvidia.com/gpu"] = whole(1 + random.below(2));
  if (devices && random.chance(0.1)) list["ephemeral-storage"] = whole(random.below(100) << 20);
  return list;
}
AdmitQuestion draw_question(std::uint64_t seed) {
  Random random(seed);
  AdmitQuestion question;
  question.now = {1'700'000'000'000'000'000};
  AdmitRules& rules = question.rules;
  rules.threshold_percent = static_cast<int>(random.below(101));
  rules.scope = static_cast<ThresholdScope>(random.below(3));
  rules.mode = static_cast<ThresholdMode>(random.below(4) == 0);
  rules.starvation = static_cast<Starvation>(random.below(3));
  rules.fair_shares = random.chance(0.3);
  rules.respect_pending = random.chance(0.5);
  rules.most_starts = 1 + random.below(50);
  for (std::uint64_t i = 0, count = random.below(12); i < count; ++i) {
    NodeRoom node{.name = fmt::format("n{}", i)};
    const std::uint64_t cores = 8 + random.below(60);
    node.allocatable = {{"cpu", whole(cores)},
                        {"memory", whole(cores << 31)},
                        {"nvidia.com/gpu", whole(random.below(5))},
                        {"ephemeral-storage", whole(std::uint64_t{1} << 30)}};
    node.used = draw(random, cores, false);
    question.nodes.push_back(std::move(node));
  }
  if (random.chance(0.3)) question.in_flight = draw(random, 20, true);
  if (random.chance(0.3)) question.pending = draw(random, 20, true);
  for (std::uint64_t i = 0, count = random.below(40); i < count; ++i) {
    Waiting job{.uid = fmt::format("{:08x}-{}", random.below(1u << 31), i)};
    job.ns = fmt::format("ns{}", random.below(3));
    job.user = fmt::format("u{}", random.below(3));
    job.interrupted = static_cast<std::int64_t>(random.below(4));
    job.waiting_since = question.now - std::chrono::minutes(random.below(300));
    job.member = draw(random, 1 + random.below(16), true);
    job.members = 1 + static_cast<int>(random.chance(0.3) ? random.below(12) : 0);
    if (random.chance(0.1)) job.not_before = question.now + std::chrono::seconds(random.below(60));
    if (random.chance(0.1)) job.node_names = {"n0", "n3", "gone"};
    question.waiting.push_back(std::move(job));
  }
  if (random.chance(0.5)) question.quotas["ns0"].count = static_cast<std::int64_t>(random.below(4));
  if (random.chance(0.5)) question.quotas["ns1"].most = {{"cpu", whole(random.below(30))}};
  return question;
}
kube::Quantity at(const kube::ResourceList& list, const std::string& resource) {
  const auto found = list.find(resource);
  return found == list.end() ? kube::Quantity() : found->second;
}
kube::Quantity times(const kube::Quantity& quantity, int by) {
  kube::Quantity sum;
  for (int i = 0; i < by; ++i) sum += quantity;
  return sum;
}

TEST(AdmitProperty, R43_NoStartEverGoesAboveTheThreshold) {
  std::size_t starts = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const AdmitQuestion question = draw_question(seed);
    const AdmitAnswer answer = admit(question);
    const bool cluster = question.rules.scope != ThresholdScope::kNode &&
                         question.rules.mode == ThresholdMode::kWithCandidate;
    kube::ResourceList capacity, used = question.in_flight;
    for (const NodeRoom& node : question.nodes) {
      kube::add(capacity, node.allocatable);
      kube::add(used, node.used);
    }
    if (question.rules.respect_pending) kube::add(used, question.pending);
    std::map<std::string, kube::Quantity> cores_of;
    std::map<std::string, std::int64_t> count_of;
    for (const Start& start : answer.starts) {
      ++starts;
      const auto job = std::find_if(question.waiting.begin(), question.waiting.end(),
                                    [&](const Waiting& each) { return each.uid == start.uid; });
      ASSERT_NE(job, question.waiting.end());
      ASSERT_FALSE(job->not_before && *job->not_before > question.now) << "seed " << seed;
      for (const auto& [resource, quantity] : job->member)
        used[resource] += times(quantity, job->members);
      cores_of[job->ns] += times(at(job->member, "cpu"), job->members);
      ++count_of[job->ns];
      if (!cluster) continue;
      for (const std::string resource : {"cpu", "memory", "nvidia.com/gpu"}) {
        if (resource == "nvidia.com/gpu" && job->member.count(resource) == 0) continue;
        ASSERT_LE(times(at(used, resource), 100),
                  times(at(capacity, resource), question.rules.threshold_percent))
            << resource << ", seed " << seed;
      }
    }
    if (const auto quota = question.quotas.find("ns0"); quota != question.quotas.end()) {
      ASSERT_LE(count_of["ns0"], *quota->second.count) << "seed " << seed;
    }
    if (const auto quota = question.quotas.find("ns1"); quota != question.quotas.end()) {
      ASSERT_LE(cores_of["ns1"], at(quota->second.most, "cpu")) << "seed " << seed;
    }
    ASSERT_LE(answer.starts.size(), question.rules.most_starts);
  }
  EXPECT_GT(starts, 1500u);
}

TEST(AdmitProperty, EveryJobIsAnsweredOnce) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const AdmitQuestion question = draw_question(seed);
    const AdmitAnswer answer = admit(question);
    std::set<std::string> uids;
    for (const Start& start : answer.starts) uids.insert(start.uid);
    int turn = 0;
    for (const Wait& wait : answer.waits) {
      uids.insert(wait.uid);
      ASSERT_EQ(wait.turn, ++turn);
      ASSERT_FALSE(wait.message.empty());
    }
    ASSERT_EQ(uids.size(), question.waiting.size()) << "seed " << seed;
    ASSERT_EQ(answer.starts.size() + answer.waits.size(), question.waiting.size());
  }
}

// The order in which jobs and namespaces are handed over is chance; the answer is not.
TEST(AdmitProperty, TheOrderOfTheListDoesNotMatter) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    AdmitQuestion question = draw_question(seed);
    const AdmitAnswer one = admit(question);
    std::reverse(question.waiting.begin(), question.waiting.end());
    const AdmitAnswer other = admit(question);
    ASSERT_EQ(one.starts.size(), other.starts.size()) << "seed " << seed;
    for (std::size_t i = 0; i < one.starts.size(); ++i)
      ASSERT_EQ(one.starts[i].uid, other.starts[i].uid) << "seed " << seed;
    for (std::size_t i = 0; i < one.waits.size(); ++i)
      ASSERT_EQ(one.waits[i].uid, other.waits[i].uid) << "seed " << seed;
  }
}

// Nobody else could have started: what waits for room does not pass once the starts are counted.
TEST(AdmitProperty, AskedAgainNothingMoreStarts) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    AdmitQuestion question = draw_question(seed);
    question.rules.most_starts = 1000;
    question.rules.scope = ThresholdScope::kCluster;
    question.rules.mode = ThresholdMode::kWithCandidate;
    question.rules.starvation = Starvation::kNone;
    const AdmitAnswer first = admit(question);
    std::set<std::string> started;
    for (const Start& start : first.starts) started.insert(start.uid);
    std::vector<Waiting> left;
    for (const Waiting& job : question.waiting) {
      if (started.count(job.uid) == 0) {
        left.push_back(job);
        continue;
      }
      for (const auto& [resource, quantity] : job.member) {
        question.in_flight[resource] += times(quantity, job.members);
        question.running[job.ns][resource] += times(quantity, job.members);
      }
      ++question.running_count[job.ns];
    }
    question.waiting = left;
    const AdmitAnswer second = admit(question);
    for (const Start& start : second.starts) {
      // Unbound members have no node yet, so a fit is an estimate; the threshold is not.
      const auto wait = std::find_if(first.waits.begin(), first.waits.end(),
                                     [&](const Wait& each) { return each.uid == start.uid; });
      ASSERT_EQ(wait->reason, WaitReason::kNoFit) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace berth::scavenge
