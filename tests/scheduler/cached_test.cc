// SPDX-License-Identifier: Apache-2.0
// Decisions from cached shapes, inside the scheduler. That they are the plain path's is checked at
// each of them; a difference ends the process.
#include <gmock/gmock.h>

#include "lab.h"
#include "scheduler/explain/case.h"

namespace berth::scheduler::stories {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kHits = "berth_shape_cache_hits_total";
constexpr const char* kBuilds = "berth_shape_cache_builds_total";

void cached(AppOptions& options) { options.mode = DecideMode::kCached; }

void two_profiles(SchedulerConfig& config) {
  config.profiles.push_back(config.profiles.front());
  config.profiles.back().spec.scheduler_name = "second";
}

void submit(Lab& lab, const std::string& prefix, int count, const std::string& cpu = "1",
            const std::string& more = "", const std::string& scheduler = "default-scheduler") {
  for (int i = 0; i < count; ++i) lab.pod(fmt::format("{}-{}", prefix, i), cpu, more, scheduler);
  lab.run();
}

int on(Lab& lab, const std::string& node) {
  int count = 0;
  for (const auto& [key, pod] : lab.server.objects.all(kube::kPod))
    count += pod.member("spec")["nodeName"].text() == node;
  return count;
}

TEST(Cached, TheSecondPodOfAShapeBuildsACacheAndTheOthersUseIt) {
  Lab lab(nullptr, cached);
  lab.node("n1");
  lab.node("n2");
  lab.run();
  submit(lab, "web", 6);
  EXPECT_EQ(on(lab, "n1"), 3);
  EXPECT_EQ(on(lab, "n2"), 3);
  EXPECT_EQ(lab.metric(kBuilds), 1);
  EXPECT_EQ(lab.metric(kHits), 4);
}

TEST(Cached, ProfilesHaveCachesOfTheirOwnAndSeeEachOthersPods) {
  Lab lab(two_profiles, cached);
  lab.node("n1");
  lab.node("n2");
  lab.run();
  for (int i = 0; i < 4; ++i) {
    submit(lab, fmt::format("a{}", i), 1);
    submit(lab, fmt::format("b{}", i), 1, "1", "", "second");
  }
  EXPECT_EQ(on(lab, "n1"), 4);
  EXPECT_EQ(on(lab, "n2"), 4);
  EXPECT_EQ(lab.metric(kBuilds), 2);
  EXPECT_EQ(lab.metric(kHits), 4);
}

TEST(Cached, NodesMayComeAndGo) {
  Lab lab(nullptr, cached);
  lab.node("n1");
  lab.run();
  submit(lab, "first", 3);
  lab.node("n2");
  lab.run();
  submit(lab, "second", 3);
  EXPECT_EQ(on(lab, "n2"), 3) << "it was emptier";
  lab.server.objects.remove(kube::kNode, {"", "n1"});
  lab.run();
  submit(lab, "third", 2);
  EXPECT_EQ(on(lab, "n1"), 3);
  EXPECT_EQ(on(lab, "n2"), 4) << "one did not fit any more";
  lab.node("n1");  // with the pods that are still there
  lab.run(20s);
  EXPECT_EQ(on(lab, "n1"), 4);
}

TEST(Cached, ARefusalIsReusedWhileNothingChanges) {
  Lab lab(nullptr, cached);
  lab.node("n1", "1");
  lab.run();
  submit(lab, "big", 6, "3");
  for (int i = 0; i < 6; ++i)
    EXPECT_THAT(lab.server.events_of(fmt::format("big-{}", i)),
                ElementsAre(HasSubstr("0/1 nodes are available: 1 Insufficient cpu.")));
  EXPECT_EQ(lab.metric(R"(berth_shape_cache_fallbacks_total{reason="diagnosis"})"), 1);
  lab.node("n2", "20");
  lab.run(20s);
  EXPECT_EQ(on(lab, "n2"), 6);
}

TEST(Cached, APromisedNodeIsKeptForWhomItWasPromisedTo) {
  Lab lab(nullptr, cached);
  lab.node("n1", "2");
  lab.run();
  submit(lab, "low", 2, "1", R"(,"terminationGracePeriodSeconds":30)");
  lab.replica.wire.delay = [](const kube::ApiRequest& request) {  // the victims stay for a while
    return request.verb == kube::Verb::kDelete ? 10s : 0s;
  };
  lab.pod("high", "2", R"(,"priority":100)");
  lab.run(100ms);
  lab.remove_pod("low-0");
  submit(lab, "late", 4);  // one would fit, were it not for the promise
  for (int i = 0; i < 4; ++i) EXPECT_EQ(lab.node_of(fmt::format("late-{}", i)), "");
  lab.run(30s);
  EXPECT_EQ(lab.node_of("high"), "n1");
}

TEST(Cached, APodThatWaitsHoldsItsPlaceAndOneThatIsRefusedFreesIt) {
  Lab lab(nullptr, cached);
  tester.permit = [](const Pod& pod) {
    return pod.name == "waits" ? PermitResult{Status{Code::kWait}, 5s} : PermitResult{};
  };
  lab.node("n1", "3");
  lab.run();
  submit(lab, "early", 2);
  lab.pod("waits");
  lab.run();
  EXPECT_EQ(lab.scheduler().cluster().assumed_count(), 1u);
  submit(lab, "late", 1);
  EXPECT_EQ(lab.node_of("late-0"), "") << "there is no room";
  lab.run(5s);  // its time is up
  EXPECT_EQ(lab.node_of("late-0"), "n1");
  EXPECT_EQ(lab.scheduler().cluster().recount(), "");
}

void with_liar(SchedulerConfig& config) {
  const auto liar = static_cast<PluginId>(all_plugins().size() + 2);
  config.profiles.front().spec.points[static_cast<std::size_t>(Point::kScore)].push_back(
      {liar, 100});
}

// What a mismatch leaves behind.
struct Told {
  std::vector<std::pair<std::string, std::string>> cases;
  auto hook() {
    return [this](const std::string& pod, std::string text) {
      cases.emplace_back(pod, std::move(text));
    };
  }
};

TEST(Cached, AWrongDecisionIsReplacedToldAndWrittenDown) {
  Told told;
  Lab lab(with_liar, [&](AppOptions& options) {
    options.mode = DecideMode::kCachedCold;
    options.verify_decisions = 2;
    options.mismatch = told.hook();
  });
  lab.server.objects.set(kube::kService, {"default", "web"}, R"("spec":{"selector":{"a":"b"}})");
  lab.node("n1");
  lab.node("n2", "4", R"("taints":[{"key":"k","value":"two\nlines","effect":"PreferNoSchedule"}])");
  lab.run();
  favourite = "n1";
  submit(lab, "first", 1);
  favourite = "n2";
  lab.pod("second");
  lab.run();
  EXPECT_EQ(lab.node_of("second"), "n2") << "the plain answer";
  EXPECT_EQ(lab.metric("berth_decision_mismatch_total"), 1);
  EXPECT_THAT(lab.replica.log.text(), HasSubstr("a cached decision was wrong"));
  ASSERT_THAT(told.cases, SizeIs(1));
  EXPECT_EQ(told.cases[0].first, "default/second");

  const std::string& text = told.cases[0].second;
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "a case is a line";
  Result<Case> problem = read_case(text);
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->id, "mismatch default/second");
  EXPECT_EQ(problem->pending->text(), "default/second");
  EXPECT_FALSE(problem->pending->assigned());
  problem->cluster->begin_cycle();
  EXPECT_THAT(problem->cluster->node_order(), ElementsAre("n1", "n2"));
  EXPECT_EQ(problem->cluster->pod_count(), 1u);
  EXPECT_EQ(problem->cluster->pods_on(problem->cluster->node_id("n1"))[0]->name, "first-0");
  EXPECT_TRUE(problem->nominated.empty());
  EXPECT_THAT(text, HasSubstr(R"("selector":{"a":"b"})"));
}

TEST(Cached, WhatIsAssumedOrPromisedIsPartOfTheWrittenCase) {
  Told told;
  Lab lab(with_liar, [&](AppOptions& options) {
    options.mode = DecideMode::kCachedCold;
    options.verify_decisions = 3;
    options.mismatch = told.hook();
  });
  tester.permit = [](const Pod& pod) {
    return pod.name == "waits" ? PermitResult{Status{Code::kWait}, 5min} : PermitResult{};
  };
  lab.replica.wire.delay = [](const kube::ApiRequest& request) {
    return request.verb == kube::Verb::kDelete ? 10s : 0s;
  };
  lab.node("n1");
  lab.node("n2", "3");
  lab.node("n3");
  lab.run();
  favourite = "n3";
  lab.pod("victim", "4");
  lab.run();
  favourite = "n1";
  lab.pod("waits", "1", R"(,"priority":50)");
  lab.run();
  lab.pod("high", "4", R"(,"priority":40)");
  lab.run();
  favourite = "n2";
  lab.pod("web", "1", R"(,"priority":50)");
  lab.run();
  ASSERT_THAT(told.cases, SizeIs(1));
  Result<Case> problem = read_case(told.cases[0].second);
  ASSERT_TRUE(problem) << problem.error().message;
  ClusterState& cluster = *problem->cluster;
  ASSERT_THAT(cluster.pods_on(cluster.node_id("n1")), SizeIs(1));
  EXPECT_EQ(cluster.pods_on(cluster.node_id("n1"))[0]->name, "waits");
  EXPECT_THAT(problem->nominated.nodes(), ElementsAre("n3"));
}

TEST(Cached, NothingIsKeptForCasesThatNobodyWants) {
  Told told;
  Lab lab(nullptr, [&](AppOptions& options) {
    options.mismatch = told.hook();
    options.verify_decisions = 0;
  });
  lab.node("n1");
  submit(lab, "web", 3);
  const NodeId n1 = lab.scheduler().cluster().node_id("n1");
  EXPECT_FALSE(lab.scheduler().cluster().node(n1).document.valid());
  EXPECT_FALSE(lab.scheduler().cluster().pods_on(n1)[0]->document.valid());
  EXPECT_THAT(told.cases, IsEmpty());
}

}  // namespace
}  // namespace berth::scheduler::stories
