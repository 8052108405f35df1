// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

using testing::ElementsAre;
using testing::Pair;

Labels labels(std::string_view json) { return Labels::from_json(json::Slice(json)); }

TEST(Labels, AreSortedAndTheLastOfEqualKeysCounts) {
  EXPECT_THAT(labels(R"({"b":"1","a":"2","b":"3","c":"4","b":"5"})").pairs(),
              ElementsAre(Pair("a", "2"), Pair("b", "5"), Pair("c", "4")));
  EXPECT_TRUE(labels("{}").empty());
  EXPECT_TRUE(labels("null").empty());
  EXPECT_TRUE(labels("").empty());
}

TEST(Labels, AreFoundByKey) {
  const Labels some = labels(R"({"a":"1","b":"","d":"4"})");
  EXPECT_EQ(some.find("a"), "1");
  EXPECT_EQ(some.find("b"), "");
  EXPECT_EQ(some.find("c"), std::nullopt);
  EXPECT_EQ(some.find("e"), std::nullopt);
  EXPECT_TRUE(some.has("d"));
  EXPECT_FALSE(some.has(""));
}

TEST(Labels, AnswerSelectors) {
  const Labels some = labels(R"({"app":"web","tier":"2"})");
  const auto selects = [&](std::string_view text) {
    return matches(*kube::LabelSelector::parse(text), some);
  };
  EXPECT_TRUE(selects("app=web,tier>1"));
  EXPECT_FALSE(selects("app=web,!tier"));
  EXPECT_TRUE(selects("none notin (x)"));
  EXPECT_TRUE(selects(""));
  EXPECT_FALSE(matches(kube::LabelSelector::nothing(), some));
  EXPECT_TRUE(matches(kube::Requirement::exactly("app", "web"), some));
  EXPECT_FALSE(matches(kube::Requirement::exactly("app", "db"), some));
}

TEST(Labels, AnswerNodeSelectors) {
  const Labels some = labels(R"({"zone":"a"})");
  const auto selects = [&](std::string_view terms) {
    const std::string text = R"({"nodeSelectorTerms":)" + std::string(terms) + "}";
    return matches(kube::NodeSelector::from_json(json::Slice(text)), some, "n1");
  };
  EXPECT_TRUE(selects(R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]}])"));
  EXPECT_TRUE(
      selects(R"([{},{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}])"));
  EXPECT_FALSE(
      selects(R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n2"]}]}])"));
  EXPECT_FALSE(selects(R"([{"matchExpressions":[{"key":"zone","operator":"Huh"}]}])"));
  EXPECT_FALSE(selects("[]"));
}

}  // namespace
}  // namespace berth::scheduler
