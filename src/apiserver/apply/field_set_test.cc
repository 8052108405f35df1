// SPDX-License-Identifier: Apache-2.0
#include "apiserver/apply/field_set.h"

#include <gtest/gtest.h>

namespace berth::apiserver {
namespace {

FieldSet set(std::string_view json) {
  json::Arena arena;
  const Result<FieldSet> read = FieldSet::parse(*json::parse(json, arena));
  EXPECT_TRUE(read.has_value()) << json;
  return read.value_or(FieldSet());
}

TEST(FieldSet, IsWrittenAsItWasRead) {
  for (const std::string_view text : {
           R"({})",
           R"({"f:a":{}})",
           R"({"f:a":{".":{},"f:b":{}},"f:c":{}})",
           R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{}}}}})",
           R"({"f:l":{"v:1":{},"v:2.5":{},"v:\"x\"":{},"v:true":{}}})",
           R"({"f:p":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{}},"i:3":{}})",
       })
    EXPECT_EQ(set(text).json(), text);
}

TEST(FieldSet, RefusesWhatIsNoFieldsV1) {
  json::Arena arena;
  for (const std::string_view text :
       {R"([])", R"("x")", R"({"x":{}})", R"({"fspec":{}})", R"({"k:{":{}})", R"({"k:1":{}})",
        R"({"i:x":{}})", R"({"f:a":3})"})
    EXPECT_FALSE(FieldSet::parse(*json::parse(text, arena))) << text;
  EXPECT_EQ(set(R"({"z:new":{"f:a":{}},"f:b":{}})").json(), R"({"f:b":{}})");
}

TEST(FieldSet, ANodeThatHoldsNothingIsAMember) {
  EXPECT_EQ(set(R"({"f:a":{".":{}}})").json(), R"({"f:a":{}})");
  EXPECT_EQ(set(R"({"f:a":{"z:b":{}}})").json(), R"({"f:a":{}})");
}

TEST(FieldSet, TakesAwayFieldsButNotWhatIsBelowThem) {
  const FieldSet both = set(R"({"f:a":{".":{},"f:b":{}}})");
  EXPECT_EQ((both - set(R"({"f:a":{}})")).json(), R"({"f:a":{"f:b":{}}})");
  EXPECT_EQ((both - set(R"({"f:a":{"f:b":{}}})")).json(), R"({"f:a":{}})");
  EXPECT_EQ(both.without_trees(set(R"({"f:a":{}})")).json(), "{}");
}

TEST(FieldSet, SetOperationsAgree) {
  const FieldSet a = set(R"({"f:a":{"f:x":{},"f:y":{}},"f:b":{}})");
  const FieldSet b = set(R"({"f:a":{".":{},"f:y":{}},"f:c":{"v:1":{}}})");
  EXPECT_EQ((a & b).json(), R"({"f:a":{"f:y":{}}})");
  EXPECT_EQ((a - b) | (a & b), a);
  EXPECT_EQ((a | b) - b, a - b);
  EXPECT_EQ((a | b).size(), 5U);
  EXPECT_EQ(((a - b) & b).json(), "{}");
}

TEST(FieldSet, MembersAreVisitedBeforeWhatIsBelow) {
  std::string order;
  set(R"({"f:a":{"f:x":{}},"f:b":{},"f:c":{"k:{\"n\":\"q\"}":{}}})").each([&](FieldPath path) {
    order += shown(path) + " ";
  });
  EXPECT_EQ(order, ".b .a.x .c[n=\"q\"] ");
}

TEST(FieldSet, NumbersAreEqualWhateverTheirSpelling) {
  EXPECT_EQ(set(R"({"v:1":{}})"), set(R"({"v:1.0":{}})"));
  EXPECT_EQ(set(R"({"k:{\"b\":1,\"a\":2}":{}})"), set(R"({"k:{\"a\":2,\"b\":1}":{}})"));
}

}  // namespace
}  // namespace berth::apiserver
