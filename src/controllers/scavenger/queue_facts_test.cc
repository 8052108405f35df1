// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/queue_facts.h"

#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "controllers/listed.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

const WallTime kNow = *kube::parse_time("2026-01-02T15:04:05Z");

kube::Object object(std::string_view json) {
  auto parsed = kube::Object::parse(json);
  EXPECT_TRUE(parsed.has_value()) << json;
  return *parsed;
}
kube::Object node(std::uint64_t i, std::uint64_t revision, std::uint64_t cores) {
  return object(fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"n{0}","uid":"node-{0}","resourceVersion":"{1}"}},"status":{{"allocatable":{{"cpu":"{2}","memory":"64Gi"}},"conditions":[{{"type":"Ready","status":"True"}}]}}}})",
      i, revision, cores));
}
kube::Object pod(std::uint64_t i, std::uint64_t revision, std::uint64_t on,
                 std::string_view phase) {
  return object(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{0}","namespace":"d","uid":"pod-{0}","resourceVersion":"{1}"}},"spec":{{"nodeName":"n{2}","containers":[{{"name":"c","resources":{{"requests":{{"cpu":"100m","memory":"1Gi"}}}}}}]}},"status":{{"phase":"{3}"}}}})",
      i, revision, on, phase));
}
kube::Object job(std::uint64_t i, std::uint64_t revision, bool waits) {
  return object(fmt::format(
      R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"j{0}","namespace":"d","uid":"job-{0}","resourceVersion":"{1}"}},"spec":{{"image":"i","replicas":2,"resources":{{"requests":{{"cpu":"1","memory":"1Gi"}}}}}},"status":{2}}})",
      i, revision,
      waits ? R"({"waitingSince":"2026-01-02T15:00:00Z"})" : R"({"attempt":1,"phase":"Running"})"));
}

std::string text_of(const QueueSight& sight) {
  std::string out;
  for (const scavenge::NodeRoom& one : sight.question.nodes) {
    out += one.name;
    for (const auto& [name, amount] : one.used) out += fmt::format(" {} {}", name, amount.text());
  }
  for (const auto& [name, amount] : sight.question.in_flight)
    out += fmt::format("\nin flight {} {}", name, amount.text());
  for (const scavenge::Waiting& one : sight.question.waiting)
    out += fmt::format("\n{} {}", one.name, one.members);
  return out;
}

TEST(QueueFacts, WhatWasKeptChangesNoAnswer) {
  const std::vector<kube::KindId> jobs = {kube::scavenger_kinds().job};
  Random random(7);
  Listed all;
  std::uint64_t revision = 0;
  for (std::uint64_t i = 0; i < 10; ++i) all.add(node(i, ++revision, 8));
  QueueFacts kept;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 5; ++i) {
      all.add(pod(random.below(60), ++revision, random.below(12),
                  random.below(3) == 0 ? "Succeeded" : "Running"));
      all.add(job(random.below(20), ++revision, random.below(2) == 0));
      all.add(node(random.below(10), ++revision, 4 + random.below(8)));
    }
    const runtime::View view(all);
    QueueFacts fresh;
    EXPECT_EQ(text_of(kept.look(view, jobs, kNow)), text_of(fresh.look(view, jobs, kNow)));
  }
}

// 5,000 nodes, 50,000 pods, 10,000 jobs: said where BERTH_SCAVENGERS asks for the large counts.
TEST(QueueFacts, ALargeClusterIsLookedAtInAFractionOfASecond) {
  const std::uint64_t scale = std::getenv("BERTH_SCAVENGERS") != nullptr ? 1 : 20;
  Listed all;
  std::uint64_t revision = 0;
  for (std::uint64_t i = 0; i < 5'000 / scale; ++i) all.add(node(i, ++revision, 64));
  for (std::uint64_t i = 0; i < 50'000 / scale; ++i)
    all.add(pod(i, ++revision, i % (5'000 / scale), "Running"));
  for (std::uint64_t i = 0; i < 10'000 / scale; ++i) all.add(job(i, ++revision, true));
  const runtime::View view(all);
  const std::vector<kube::KindId> jobs = {kube::scavenger_kinds().job};
  QueueFacts facts;
  const QueueSight first = facts.look(view, jobs, kNow);
  EXPECT_EQ(first.question.waiting.size(), 10'000 / scale);
  EXPECT_EQ(facts.kept(), 65'000 / scale);
  EXPECT_EQ(text_of(facts.look(view, jobs, kNow)), text_of(first));
}

}  // namespace
}  // namespace berth::controllers
