// SPDX-License-Identifier: Apache-2.0
// The bulk of the cases is in tests/parity; here stands what a reader should know.
#include "kube/label_selector.h"

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

LabelSelector parsed(std::string_view text) {
  Result<LabelSelector> selector = LabelSelector::parse(text);
  EXPECT_TRUE(selector) << (selector ? "" : selector.error().message);
  return selector ? *selector : LabelSelector();
}

TEST(LabelSelector, TextIsSortedByKey) {
  EXPECT_EQ(parsed("tier notin (b,,a), app in (c),!x,env==p,n>5").text(),
            "app in (c),env==p,n>5,tier notin (,a,b),!x");
  EXPECT_EQ(parsed("").text(), "");
  EXPECT_EQ(parsed("in in (in,notin)").text(), "in in (in,notin)");
}

TEST(LabelSelector, Matches) {
  const LabelMap labels = {{"app", "web"}, {"n", "7"}, {"empty", ""}};
  for (const char* yes : {"", "app=web", "app", "!db", "db!=x", "db notin (x)", "n>5", "n<8",
                          "empty=", "app in (web,db),n"})
    EXPECT_TRUE(parsed(yes).matches(labels)) << yes;
  for (const char* no :
       {"app!=web", "!app", "db", "db in (x)", "n>7", "app>1", "db<1", "app=web,db"})
    EXPECT_FALSE(parsed(no).matches(labels)) << no;
  EXPECT_FALSE(LabelSelector::nothing().matches(labels));
}

TEST(LabelSelector, AbsentSelectsNothingAndEmptySelectsEverything) {
  EXPECT_TRUE(LabelSelector::from_json(json::Slice())->matches_nothing());
  EXPECT_TRUE(LabelSelector::from_json(json::Slice("null"))->matches_nothing());
  EXPECT_TRUE(LabelSelector::from_json(json::Slice("{}"))->everything());
}

TEST(LabelSelector, SetsOfLabelsAreNotValidated) {
  const LabelSelector selector =
      LabelSelector::from_labels(json::Slice(R"({"b":"not valid!","a":"1"})"));
  EXPECT_EQ(selector.text(), "a=1,b=not valid!");
  EXPECT_TRUE(selector.matches(json::Slice(R"({"a":"1","b":"not valid!","c":""})")));
}

TEST(LabelSelector, CanBeNarrowedUnlessItMatchesNothing) {
  const LabelSelector selector = LabelSelector::parse("b=2")->with(
      {Requirement::exactly("a", "1"), Requirement::exactly("c", "3")});
  EXPECT_EQ(selector.text(), "a=1,b=2,c=3");
  EXPECT_TRUE(LabelSelector::nothing().with({Requirement::exactly("a", "1")}).matches_nothing());
  EXPECT_FALSE(LabelSelector().with({Requirement::exactly("a", "1")}).everything());
}

TEST(LabelSelector, ErrorsTellWhatWasExpected) {
  const std::pair<const char*, const char*> rows[] = {
      {"a=b=c", "found '=', expected: ',' or end of string"},
      {"x in (", "found '', expected: ',', ')' or identifier"},
      {"a,", "found '', expected: identifier after ','"},
      {"!app=web", "found '=', expected: ',' or end of string"},
      {"a>b",
       "values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer"}};
  for (const auto& [text, why] : rows) {
    const auto selector = LabelSelector::parse(text);
    ASSERT_FALSE(selector) << text;
    EXPECT_EQ(selector.error().message,
              fmt::format("invalid label selector \"{}\": {}", text, why));
  }
}

}  // namespace
}  // namespace berth::kube
