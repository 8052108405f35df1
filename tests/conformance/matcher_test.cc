// SPDX-License-Identifier: Apache-2.0
// A suite that cannot fail shows nothing: each rule of the matcher and of the scripts, both ways.
#include "matcher.h"

#include <gtest/gtest.h>

#include "json/yaml.h"
#include "script.h"

namespace berth::conformance {
namespace {

struct Row {
  const char* name;
  const char* expected;
  const char* actual;
  bool same;
};
constexpr Row kRows[] = {
    {"named members", "{a: 1}", R"({"a":1,"b":2})", true},
    {"a member that differs", "{a: 1}", R"({"a":2})", false},
    {"a member that is missing", "{a: 1}", "{}", false},
    {"only these", "{a: 1, <only>: true}", R"({"a":1})", true},
    {"not only these", "{a: 1, <only>: true}", R"({"a":1,"b":2})", false},
    {"absent", "{a: <absent>}", "{}", true},
    {"not absent", "{a: <absent>}", R"({"a":null})", false},
    {"any", "{a: <any>}", R"({"a":null})", true},
    {"not even any", "{a: <any>}", "{}", false},
    {"null", "{a: null}", R"({"a":null})", true},
    {"null is not nothing", "{a: null}", "{}", false},
    {"a number is no string", "{a: 1}", R"({"a":"1"})", false},
    {"a string is no number", "{a: \"1\"}", R"({"a":1})", false},
    {"arrays whole", "{a: [1, 2]}", R"({"a":[1,2]})", true},
    {"arrays in order", "{a: [1, 2]}", R"({"a":[2,1]})", false},
    {"arrays of the same length", "{a: [1]}", R"({"a":[1,2]})", false},
    {"has", "{a: {<has>: [2]}}", R"({"a":[1,2]})", true},
    {"has not", "{a: {<has>: [3]}}", R"({"a":[1,2]})", false},
    {"none", "{a: {<none>: {b: 3}}}", R"({"a":[{"b":1}]})", true},
    {"one too many", "{a: {<none>: {b: 1}}}", R"({"a":[{"b":1}]})", false},
    {"size", "{a: {<size>: 2}}", R"({"a":[1,2]})", true},
    {"another size", "{a: {<size>: 1}}", R"({"a":[1,2]})", false},
    {"a uid", "{a: <uid>}", R"({"a":"11111111-2222-3333-4444-555555555555"})", true},
    {"no uid", "{a: <uid>}", R"({"a":"x"})", false},
    {"a time", "{a: <time>}", R"({"a":"2020-01-01T00:00:00Z"})", true},
    {"no time", "{a: <time>}", R"({"a":"2020-01-01"})", false},
    {"a pattern", "{a: '<re x+>'}", R"({"a":"xxx"})", true},
    {"not the pattern", "{a: '<re x+>'}", R"({"a":"xxy"})", false},
    {"a shape inside of a text", "{a: 'at (<int>).'}", R"({"a":"at (12)."})", true},
    {"another text around it", "{a: 'at (<int>).'}", R"({"a":"at (12)!"})", false},
    {"a larger revision", "{a: <set X>, b: <more X>}", R"({"a":"9","b":"10"})", true},
    {"no larger revision", "{a: <set X>, b: <more X>}", R"({"a":"9","b":"9"})", false},
};

TEST(Matcher, TellsSameFromDifferent) {
  for (const Row& row : kRows) {
    const auto expected = json::yaml_document_to_json(row.expected);
    ASSERT_TRUE(expected) << row.name;
    Variables variables;
    const std::string why = mismatch(json::Slice(*expected), json::Slice(row.actual), variables);
    EXPECT_EQ(why.empty(), row.same) << row.name << ": " << why;
  }
}

TEST(Matcher, WholeComparesWhatIsNotNamedToo) {
  Variables variables;
  EXPECT_NE(mismatch(json::Slice(R"({"a":{}})"), json::Slice(R"({"a":{"b":1}})"), variables,
                     Compare::kWhole),
            "");
}

TEST(Matcher, FillsInWhatItKnowsAndLeavesTheRest) {
  EXPECT_EQ(filled("$NS-$I $patch $UNKNOWN", {{"NS", "here"}, {"I", "3"}}),
            "here-3 $patch $UNKNOWN");
}

TEST(Script, ReadsAConversation) {
  const auto checks = parse_checks(R"(# comment
== First
3x POST pods
> A: b
@pod p$I
=> 404 NotFound  two spaces
< C: d
{details: {}}
UNTIL GET pods
=> 200 "ok"
WATCH w pods?watch=1
EVENT w ADDED
{a: b}
END w
== Second
PATCH json x
[]
=> ?
)");
  ASSERT_TRUE(checks) << checks.error().message;
  ASSERT_EQ(checks->size(), 2U);
  const auto& steps = checks->front().steps;
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_EQ(steps[0].times, 3);
  EXPECT_EQ(steps[0].body, "@pod p$I\n");
  EXPECT_EQ(steps[0].reason, "NotFound");
  EXPECT_EQ(steps[0].message, " two spaces");
  EXPECT_EQ(steps[0].headers.size(), 1U);
  EXPECT_EQ(steps[0].reply_headers.size(), 1U);
  EXPECT_TRUE(steps[1].until);
  EXPECT_EQ(steps[1].text, "ok");
  EXPECT_EQ(steps[2].does, Step::Does::kWatch);
  EXPECT_EQ(steps[3].event, "ADDED");
  EXPECT_EQ(steps[4].does, Step::Does::kEnd);
  EXPECT_TRUE((*checks)[1].steps[0].record);
}

TEST(Script, RefusesWhatItDoesNotUnderstand) {
  EXPECT_FALSE(parse_checks("GET pods\n=> 200\n"));
  EXPECT_FALSE(parse_checks("== A\nFETCH pods\n=> 200\n"));
  EXPECT_FALSE(parse_checks("== A\nGET pods\n"));
  EXPECT_FALSE(parse_checks("== A\nGET pods\n=> fine\n"));
}

TEST(Script, MergesIntoTemplates) {
  const auto templates = parse_templates("thing NAME\n  {name: $NAME, spec: {a: 1}}\n");
  ASSERT_TRUE(templates);
  EXPECT_EQ(body_json("@thing x\nspec: {b: 2}\n", *templates).value_or(""),
            R"({"name":"x","spec":{"a":1,"b":2}})");
  EXPECT_FALSE(body_json("@other x\n", *templates));
}

}  // namespace
}  // namespace berth::conformance
