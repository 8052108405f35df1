// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/patch.h"

namespace berth::json {
namespace {

std::string patched(std::string_view document, std::string_view patch) {
  const auto result = json_patch(document, patch);
  return result ? *result : "error: " + result.error().message;
}

TEST(JsonPatch, AppliesTheSixOperations) {
  const char* const doc = R"({"a":{"b":[1,2,3]},"c":"x"})";
  const std::pair<const char*, const char*> rows[] = {
      {R"([{"op":"add","path":"/a/b/1","value":9}])", R"({"a":{"b":[1,9,2,3]},"c":"x"})"},
      {R"([{"op":"add","path":"/a/b/-","value":{"k":null}}])",
       R"({"a":{"b":[1,2,3,{"k":null}]},"c":"x"})"},
      {R"([{"op":"add","path":"/c","value":"y"}])", R"({"a":{"b":[1,2,3]},"c":"y"})"},
      {R"([{"op":"remove","path":"/a/b/0"}])", R"({"a":{"b":[2,3]},"c":"x"})"},
      {R"([{"op":"remove","path":"/a"}])", R"({"c":"x"})"},
      {R"([{"op":"replace","path":"/a/b/2","value":[]}])", R"({"a":{"b":[1,2,[]]},"c":"x"})"},
      {R"([{"op":"replace","path":"","value":{"n":1}}])", R"({"n":1})"},
      {R"([{"op":"move","from":"/a/b/0","path":"/d"}])", R"({"a":{"b":[2,3]},"c":"x","d":1})"},
      {R"([{"op":"copy","from":"/a/b","path":"/d"}])",
       R"({"a":{"b":[1,2,3]},"c":"x","d":[1,2,3]})"},
      {R"([{"op":"test","path":"/a","value":{"b":[1,2,3]}},{"op":"remove","path":"/a"}])",
       R"({"c":"x"})"},
      {"[]", doc},
      {"null", doc},
  };
  for (const auto& [patch, result] : rows) EXPECT_EQ(patched(doc, patch), result) << patch;
}

TEST(JsonPatch, ReadsPointersAsKubernetesDoes) {
  const std::pair<const char*, const char*> rows[] = {
      {R"([{"op":"add","path":"/a~1b/m~0n","value":1}])", R"({"a/b":{"m~n":1},"l":[1,2]})"},
      {R"([{"op":"add","path":"/l/-1","value":3}])", R"({"a/b":{},"l":[1,2,3]})"},
      {R"([{"op":"remove","path":"/l/-2"}])", R"({"a/b":{},"l":[2]})"},
      {R"([{"op":"replace","path":"/l/+1","value":5}])", R"({"a/b":{},"l":[1,5]})"},
      {R"([{"op":"replace","path":"/new","value":5}])", R"({"a/b":{},"l":[1,2],"new":5})"},
      {R"([{"op":"add","path":"ignored/new"}])", R"({"a/b":{},"l":[1,2],"new":null})"},
      {R"([{"op":"copy","from":"/missing","path":"/new"}])", R"({"a/b":{},"l":[1,2],"new":null})"},
      {R"([{"op":"test","path":"/missing","value":null}])", R"({"a/b":{},"l":[1,2]})"},
  };
  for (const auto& [patch, result] : rows)
    EXPECT_EQ(patched(R"({"a/b":{},"l":[1,2]})", patch), result) << patch;
}

TEST(JsonPatch, RefusesWithOneLineThatNamesTheOperation) {
  const std::pair<const char*, const char*> rows[] = {
      {R"([{"op":"add","path":"/x/y","value":1}])",
       "error: JSON patch operation 0: add \"/x/y\": the parent is missing"},
      {R"([{"op":"remove","path":"/x"}])",
       "error: JSON patch operation 0: remove \"/x\": there is nothing to remove"},
      {R"([{"op":"test","path":"/a","value":1},{"op":"test","path":"/a","value":1.0}])",
       "error: JSON patch operation 1: test \"/a\": the test failed"},
      {R"([{"op":"add","path":"/l/3","value":1}])",
       "error: JSON patch operation 0: add \"/l/3\": there is no such index"},
      {R"([{"op":"replace","path":"/l/-","value":1}])",
       "error: JSON patch operation 0: replace \"/l/-\": there is no such index"},
      {R"([{"op":"add","path":"","value":{}}])",
       "error: JSON patch operation 0: add \"\": the parent is missing"},
      {R"([{"op":"move","from":"/l","path":"/l/0"}])",
       "error: JSON patch operation 0: move \"/l/0\": the parent is missing"},
      {R"([{"op":"merge","path":"/a"}])",
       "error: JSON patch operation 0: there is no operation \"merge\""},
      {R"([{"op":"add"}])", "error: JSON patch operation 0: add needs a path"},
      {R"([{"op":"move","path":"/a"}])", "error: JSON patch operation 0: move needs a from"},
      {R"([null])", "error: JSON patch operation 0: there is no operation \"unknown\""},
      {R"([1])", "error: each operation of a JSON patch is an object"},
      {R"({})", "error: a JSON patch is an array of operations"},
      {R"([)", "error: line 1, column 2: expected ',' or ']'"},
  };
  for (const auto& [patch, result] : rows)
    EXPECT_EQ(patched(R"({"a":1,"l":[1,2]})", patch), result) << patch;
}

TEST(JsonPatch, BoundsOperationsCopiesAndDepth) {
  std::string many = "[";
  for (int i = 0; i <= 10'000; ++i)
    many += std::string(i == 0 ? "" : ",") + R"({"op":"test","path":"/a","value":1})";
  EXPECT_EQ(json_patch(R"({"a":1})", many + "]").error().reason, Reason::kRequestEntityTooLarge);
  many.erase(many.rfind(",{"));
  EXPECT_EQ(patched(R"({"a":1})", many + "]"), R"({"a":1})");

  std::string doubling = "[";
  for (int i = 0; i < 30; ++i)
    doubling += std::string(i == 0 ? "" : ",") + R"({"op":"copy","from":"/a","path":"/a/-"})";
  EXPECT_THAT(patched(R"({"a":["0123456789"]})", doubling + "]"),
              testing::HasSubstr("copies add up to more than 3145728 bytes"));

  std::string nesting = "[";
  for (int i = 0; i < 200; ++i)
    nesting += std::string(i == 0 ? "" : ",") + R"({"op":"move","from":"/a","path":"/b/c"},)" +
               R"({"op":"move","from":"/b","path":"/a"},{"op":"add","path":"/b","value":{}})";
  EXPECT_THAT(patched(R"({"a":1,"b":{}})", nesting + "]"), testing::HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace berth::json
