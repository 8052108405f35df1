// SPDX-License-Identifier: Apache-2.0
#include "gateway/observe/explanation.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/observe/picture_for_test.h"
#include "json/slice.h"
#include "scheduler/plugins/registry.h"

namespace berth::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ExplanationTest : public ::testing::Test {
 protected:
  std::string text(const kube::Object& pod) {
    const std::vector<scheduler::ProfileSpec> profiles{scheduler::default_profile()};
    Result<std::string> said = explain({picture.snapshot, pod, profiles, attempts});
    EXPECT_TRUE(said) << said.error().message;
    return said.value_or("{}");
  }
  json::Slice explained(const kube::Object& pod) {
    last = text(pod);
    return json::Slice(last);
  }
  // What the changes say, "kind: words -> nodes".
  std::vector<std::string> changes(const kube::Object& pod) {
    std::vector<std::string> all;
    const json::Slice said = explained(pod);
    for (const json::Slice change : said["changes"].elements()) {
      std::string words;
      for (const json::Slice part : change["says"].elements())
        words += part["text"].text() + part["name"].text();
      std::string nodes;
      for (const json::Slice node : change["fits"].elements()) nodes += " " + node.text();
      all.push_back(fmt::format("{}: {} ->{}", change["kind"].text(), words, nodes));
    }
    return all;
  }
  static std::vector<std::int64_t> integers(json::Slice list) {
    std::vector<std::int64_t> all;
    for (const json::Slice one : list.elements()) all.push_back(one.integer().value_or(-99));
    return all;
  }
  static json::Slice filter(json::Slice said, std::string_view plugin) {
    for (const json::Slice one : said["filters"].elements())
      if (one["plugin"].equals(plugin)) return one;
    return {};
  }

  TestPicture picture;
  std::vector<DecisionRecord> attempts;
  std::string last;
};

TEST_F(ExplanationTest, AsksEveryFilterAboutEveryNodeAndNotOnlyTheFirst) {
  picture.node("open", 4);
  picture.node("tainted", 1, R"("taints":[{"key":"k","value":"v","effect":"NoSchedule"}])");
  const json::Slice said = explained(TestPicture::pod("p", "2"));
  EXPECT_EQ(said["outcome"].text(), "fits");
  EXPECT_EQ(said["chosen"].text(), "open");
  EXPECT_THAT(integers(filter(said, "TaintToleration")["verdict"]), ElementsAre(0, Not(0)));
  EXPECT_THAT(integers(filter(said, "NodeResourcesFit")["verdict"]), ElementsAre(0, Not(0)))
      << "the taint alone would have ended a decision";
  const std::vector<std::int64_t> first = integers(said["first"]);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0], -1);
  EXPECT_EQ(said["filters"][static_cast<std::size_t>(first[1])]["plugin"].text(),
            "TaintToleration");
  EXPECT_THAT(integers(said["feasible"]), ElementsAre(0));
}

TEST_F(ExplanationTest, TakesAPlacedPodOffItsNodeBeforeItJudges) {
  picture.node("only", 4);
  picture.run("p", "3", "only");
  const kube::Object placed = TestPicture::pod("p", "3", R"("nodeName":"only")");
  const json::Slice said = explained(placed);
  EXPECT_EQ(said["outcome"].text(), "fits") << last;
  EXPECT_EQ(said["pod"]["phase"].text(), "placed");
  EXPECT_EQ(said["free"][std::size_t{0}]["resource"].text(), "cpu");
  EXPECT_THAT(integers(said["free"][std::size_t{0}]["amount"]), ElementsAre(4000));
  EXPECT_NE(picture.snapshot.cluster->pod("u-p"), nullptr) << "the snapshot is left alone";
}

TEST_F(ExplanationTest, NamesTheLeastThatMayBeAskedFor) {
  picture.node("a", 4);
  picture.node("b", 4);
  picture.run("x", "1", "a");
  picture.run("y", "2", "b");
  EXPECT_THAT(
      changes(TestPicture::pod("p", "3500m")),
      ElementsAre("ask-less: Ask for 3 cores instead of 3.5 -> a", "wait: Wait for x to end -> a",
                  "node: Add a node like a -> the new node"));
  const json::Slice first = json::Slice(last)["changes"][std::size_t{0}];
  EXPECT_EQ(first["patch"].text(),
            R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"3000m"}}}]}})");
  EXPECT_EQ(first["cost"].text(), "1 field, 0.5 cores less");
}

TEST_F(ExplanationTest, OffersATolerationOnlyWhereItHelps) {
  picture.node("db", 4, R"("taints":[{"key":"dedicated","value":"db","effect":"NoSchedule"}])");
  picture.node("small", 1, R"("taints":[{"key":"other","effect":"NoSchedule"}])");
  EXPECT_THAT(changes(TestPicture::pod("p", "2")),
              ElementsAre("tolerate: Tolerate dedicated=db:NoSchedule -> db"));
  EXPECT_THAT(json::Slice(last)["changes"][std::size_t{0}]["patch"].text(),
              HasSubstr(R"("key":"dedicated")"));
}

TEST_F(ExplanationTest, OffersToUncordonAndGivesTheCommand) {
  picture.node(
      "resting", 4,
      R"("unschedulable":true,"taints":[{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}])");
  EXPECT_THAT(changes(TestPicture::pod("p", "2")),
              ::testing::Contains("uncordon: Uncordon resting -> resting"));
  EXPECT_THAT(last, HasSubstr(R"("command":"kubectl uncordon resting")"));
}

TEST_F(ExplanationTest, OffersToDropASelectorThatNoNodeMeets) {
  picture.node("a", 4);
  EXPECT_THAT(changes(TestPicture::pod("p", "2", R"("nodeSelector":{"disk":"ssd"})")),
              ::testing::Contains("selector: Drop its node selector -> a"));
}

TEST_F(ExplanationTest, OffersNothingThatWasTriedInVain) {
  picture.node("a", 1, R"("taints":[{"key":"k","value":"v","effect":"NoSchedule"}])");
  EXPECT_THAT(changes(TestPicture::pod("p", "64")), IsEmpty())
      << "neither a toleration alone nor less cpu alone would do";
}

TEST_F(ExplanationTest, SaysWhyNothingWasLookedAt) {
  const json::Slice said = explained(TestPicture::pod("p", "1"));
  EXPECT_EQ(said["outcome"].text(), "refused");
  EXPECT_THAT(integers(said["first"]), IsEmpty());
}

TEST_F(ExplanationTest, ANodeIsShownWithItsPods) {
  const kube::Object a = picture.node("a", 4, R"("unschedulable":true)");
  picture.run("x", "1500m", "a");
  const Result<std::string> said = node_detail(picture.snapshot, a);
  ASSERT_TRUE(said);
  const json::Slice node(*said);
  EXPECT_TRUE(node["ready"].boolean());
  EXPECT_TRUE(node["cordoned"].boolean());
  EXPECT_EQ(node["kubelet"].text(), "v1.36.4");
  EXPECT_EQ(node["pods"].size(), 1u);
  EXPECT_EQ(node["pods"][std::size_t{0}]["cpu"].integer(), 1500);
  EXPECT_EQ(node["pods"][std::size_t{0}]["memory"].integer(), 1024);
}

TEST_F(ExplanationTest, PodsAreFoundByAPartOfTheirNameTheNearestFirst) {
  picture.node("a", 8);
  picture.run("my-web", "1", "a");
  picture.run("web-1", "1", "a");
  picture.run("db", "1", "a");
  EXPECT_EQ(find_pods(picture.snapshot, "web", 5),
            R"([{"kind":"pod","namespace":"d","name":"web-1","note":"in d, running on a"},)"
            R"({"kind":"pod","namespace":"d","name":"my-web","note":"in d, running on a"}])");
}

// The page's types are held against this file: ui/src/api/types.test.ts.
TEST_F(ExplanationTest, LooksAsThePageExpects) {
  picture.node("a", 4);
  picture.node("b", 2, R"("taints":[{"key":"k","effect":"NoSchedule"}])", "b");
  picture.run("x", "2", "a");
  DecisionRecord attempt;
  attempt.id = 7;
  attempt.ns = "d";
  attempt.name = "p";
  attempt.uid = "u-p";
  attempt.outcome = DecisionRecord::Outcome::kUnschedulable;
  attempt.nodes = 2;
  attempt.attempt = 1;
  attempt.rejected = {{"NodeResourcesFit", 1}, {"TaintToleration", 1}};
  attempt.message = "0/2 nodes are available";
  attempt.stages = {{"Filter", 12us}};
  attempts = {attempt};
  const std::string said = text(TestPicture::pod("p", "3"));
  std::ifstream file("ui/fixtures/explanation.json");
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(said + "\n", golden.str())
      << "if this is meant, write it to ui/fixtures/explanation.json";
}

}  // namespace
}  // namespace berth::gateway
