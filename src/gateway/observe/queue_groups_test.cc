// SPDX-License-Identifier: Apache-2.0
#include "gateway/observe/queue_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/observe/picture_for_test.h"
#include "gateway/observe/tap.h"
#include "json/slice.h"

namespace berth::gateway {
namespace {

using ::testing::ElementsAre;

class QueueGroupsTest : public ::testing::Test {
 protected:
  QueueChange change(const std::string& name, Waiting place, const std::string& owner = "",
                     const std::string& cause = "", std::int64_t since = 1000) {
    const std::string owners =
        owner.empty()
            ? ""
            : fmt::format(
                  R"(,"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{}","uid":"o-{}","controller":true}}])",
                  owner, owner);
    auto pod = compiler.compile(TestPicture::object(
        kube::kPod,
        fmt::format(R"({{"metadata":{{"name":"{}","namespace":"d","uid":"u-{}"{}}},"spec":{{}}}})",
                    name, name, owners)));
    EXPECT_TRUE(pod);
    QueueChange made;
    made.pod = *pod;
    made.place = place;
    made.cause = cause;
    made.plugin = cause.empty() ? "" : "NodeResourcesFit";
    made.attempts = 2;
    made.since = {.unix_nanos = since * 1'000'000};
    return made;
  }
  void take(std::vector<QueueChange> changes, bool whole = false) {
    Batch batch;
    batch.queue = std::move(changes);
    batch.queue_whole = whole;
    groups.take(batch);
  }
  // "place name x count: cause".
  std::vector<std::string> rows() {
    text = groups.json();
    std::vector<std::string> all;
    for (const json::Slice group : json::Slice(text)["groups"].elements())
      all.push_back(fmt::format("{} {} x{}: {}", group["place"].text(), group["name"].text(),
                                group["count"].integer().value_or(0), group["cause"].text()));
    return all;
  }

  scheduler::PodCompiler compiler;
  QueueGroups groups;
  std::string text;
};

TEST_F(QueueGroupsTest, PodsOfOneOwnerAndOneCauseShareARow) {
  take({change("w-1", Waiting::kUnschedulable, "w", "no cpu", 3),
        change("w-2", Waiting::kUnschedulable, "w", "no cpu", 2),
        change("w-3", Waiting::kUnschedulable, "w", "no memory", 1),
        change("alone", Waiting::kUnschedulable, "", "no cpu", 4),
        change("w-4", Waiting::kActive, "w")});
  EXPECT_THAT(rows(), ElementsAre("active w-4 x1: ", "unschedulable w-3 x1: no memory",
                                  "unschedulable w x2: no cpu", "unschedulable alone x1: no cpu"));
  EXPECT_EQ(json::Slice(text)["groups"][std::size_t{2}]["pod"].text(), "w-2")
      << "who has waited longest";
  EXPECT_EQ(json::Slice(text)["oldest"].integer(), 1);
}

TEST_F(QueueGroupsTest, APodThatMovesIsInOnePlaceAndOneThatLeavesInNone) {
  take({change("a", Waiting::kActive), change("b", Waiting::kGated)});
  take({change("a", Waiting::kUnschedulable, "", "no cpu"), change("b", Waiting::kGone)});
  EXPECT_THAT(rows(), ElementsAre("unschedulable a x1: no cpu"));
  take({change("c", Waiting::kActive)}, true);
  EXPECT_THAT(rows(), ElementsAre("active c x1: "));
}

TEST_F(QueueGroupsTest, AClaimThatIsMissingIsWhatAPodWaitsFor) {
  QueueChange missing = change("a", Waiting::kUnschedulable, "",
                               R"(Persistentvolumeclaim "data" not found on 3 nodes)");
  missing.plugin = "VolumeRestrictions";  // who looks first
  take({missing});
  text = groups.json();
  EXPECT_EQ(json::Slice(text)["groups"][std::size_t{0}]["waitsFor"].text(),
            "that claim to be created");
}

TEST_F(QueueGroupsTest, TheCauseIsWhatKeepsMostNodesAwayAndHowManyMore) {
  using Refusal = scheduler::AttemptReport::Refusal;
  const std::vector<Refusal> refused = {{"NodeResourcesFit", "Insufficient cpu", 131},
                                        {"TaintToleration", "node(s) had untolerated taint", 2},
                                        {"NodeUnschedulable", "node(s) were unschedulable", 1}};
  const scheduler::PodPtr pod = change("a", Waiting::kActive).pod;
  const auto cause = [&](std::size_t first, std::size_t last) {
    return cause_of({.pod = *pod, .refused = std::span(refused).subspan(first, last - first)});
  };
  EXPECT_EQ(cause(0, 3), "Insufficient cpu on 131, 2 other causes");
  EXPECT_EQ(cause(1, 3), "Had untolerated taint on 2, 1 other cause");
  EXPECT_EQ(cause(0, 1), "Insufficient cpu on 131 nodes");
  EXPECT_EQ(cause(2, 3), "Were unschedulable on 1 node");
}

TEST_F(QueueGroupsTest, TooManyGroupsAreCountedAndNotSent) {
  std::vector<QueueChange> many;
  for (std::size_t i = 0; i < QueueGroups::kMostGroups + 7; ++i)
    many.push_back(change(fmt::format("p{}", i), Waiting::kActive));
  take(std::move(many));
  EXPECT_EQ(rows().size(), QueueGroups::kMostGroups);
  EXPECT_EQ(json::Slice(text)["more"].integer(), 7);
}

TEST_F(QueueGroupsTest, MovesAreKeptNewestFirstAndNotForever) {
  for (std::uint32_t i = 0; i < 30; ++i) {
    Batch batch;
    batch.moves = {{{}, "NodeAdd", i, 40, "d/p"}};
    groups.take(batch);
  }
  text = groups.json();
  const json::Slice moves = json::Slice(text)["moves"];
  EXPECT_EQ(moves.size(), QueueGroups::kMostMoves);
  EXPECT_EQ(moves[std::size_t{0}]["woken"].integer(), 29);
}

}  // namespace
}  // namespace berth::gateway
