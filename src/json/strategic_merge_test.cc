// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/patch.h"
#include "json/test_schema.h"

namespace berth::json {
namespace {

std::string merged(std::string_view document, std::string_view patch,
                   const Message& message = test::kPod) {
  const auto result = strategic_merge_patch(document, patch, message);
  return result ? *result : "error: " + result.error().message;
}

struct Row {
  const char* name;
  const char* original;
  const char* patch;
  const char* result;
};

void check(std::initializer_list<Row> rows, const Message& message) {
  for (const Row& row : rows)
    EXPECT_EQ(merged(row.original, row.patch, message), row.result) << row.name;
}

TEST(StrategicMerge, MergesListsByTheirKeys) {
  check(
      {
          {"an item is merged, another kept",
           R"({"containers":[{"name":"a","image":"1"},{"name":"b"}]})",
           R"({"containers":[{"name":"a","image":"2"}]})",
           R"({"containers":[{"name":"a","image":"2"},{"name":"b"}]})"},
          {"a new item comes first", R"({"containers":[{"name":"a"}]})",
           R"({"containers":[{"name":"b"}]})", R"({"containers":[{"name":"b"},{"name":"a"}]})"},
          {"numbers are keys too",
           R"({"containers":[{"name":"a","ports":[{"containerPort":80}]}]})",
           R"({"containers":[{"name":"a","ports":[{"containerPort":80,"protocol":"UDP"}]}]})",
           R"({"containers":[{"name":"a","ports":[{"containerPort":80,"protocol":"UDP"}]}]})"},
          {"lists without a key are replaced", R"({"tolerations":[{"key":"a"}]})",
           R"({"tolerations":[{"key":"b"}]})", R"({"tolerations":[{"key":"b"}]})"},
          {"null removes", R"({"nodeSelector":{"a":"1","b":"2"},"restartPolicy":"Never"})",
           R"({"nodeSelector":{"a":null,"c":null},"restartPolicy":null})",
           R"({"nodeSelector":{"b":"2"}})"},
      },
      test::kPodSpec);
}

TEST(StrategicMerge, ObeysDirectives) {
  check(
      {
          {"delete an item", R"({"volumes":[{"name":"a"},{"name":"b"}]})",
           R"({"volumes":[{"$patch":"delete","name":"a"}]})", R"({"volumes":[{"name":"b"}]})"},
          {"replace a list", R"({"volumes":[{"name":"a"},{"name":"b"}]})",
           R"({"volumes":[{"name":"c"},{"$patch":"replace"}]})", R"({"volumes":[{"name":"c"}]})"},
          {"replace a map", R"({"nodeSelector":{"a":"1"}})",
           R"({"nodeSelector":{"$patch":"replace","b":"2"}})", R"({"nodeSelector":{"b":"2"}})"},
          {"a deleted map stays, empty", R"({"nodeSelector":{"a":"1"}})",
           R"({"nodeSelector":{"$patch":"delete"}})", R"({"nodeSelector":{}})"},
          {"a directive on what is not there adds nothing", R"({})",
           R"({"nodeSelector":{"$patch":"delete"}})", R"({})"},
          {"retainKeys clears the rest", R"({"volumes":[{"name":"a","emptyDir":{}}]})",
           R"({"volumes":[{"$retainKeys":["name","hostPath"],"name":"a","hostPath":{"path":"/"}}]})",
           R"({"volumes":[{"name":"a","hostPath":{"path":"/"}}]})"},
          {"retainKeys stays in a new item", R"({"volumes":[{"name":"a"}]})",
           R"({"volumes":[{"$retainKeys":["name"],"name":"b"}]})",
           R"({"volumes":[{"$retainKeys":["name"],"name":"b"},{"name":"a"}]})"},
          {"order is set", R"({"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]})",
           R"({"$setElementOrder/containers":[{"name":"c"},{"name":"a"}]})",
           R"({"containers":[{"name":"b"},{"name":"c"},{"name":"a"}]})"},
          {"order with new items", R"({"containers":[{"name":"a"},{"name":"x"}]})",
           R"({"$setElementOrder/containers":[{"name":"n"},{"name":"a"}],"containers":[{"name":"n"}]})",
           R"({"containers":[{"name":"n"},{"name":"a"},{"name":"x"}]})"},
          {"a new item takes a deleted one's place in the order",
           R"({"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]})",
           R"({"$setElementOrder/containers":[{"name":"n"}],"containers":[{"$patch":"delete","name":"b"},{"name":"n"}]})",
           R"({"containers":[{"name":"a"},{"name":"c"},{"name":"n"}]})"},
      },
      test::kPodSpec);
  check(
      {
          {"primitives are merged as a set", R"({"finalizers":["a","b"]})",
           R"({"finalizers":["c","b"]})", R"({"finalizers":["c","a","b"]})"},
          {"primitives are deleted", R"({"finalizers":["a","b","c"]})",
           R"({"$deleteFromPrimitiveList/finalizers":["b","x"]})", R"({"finalizers":["a","c"]})"},
          {"nothing to delete from", R"({})", R"({"$deleteFromPrimitiveList/finalizers":["b"]})",
           R"({})"},
      },
      test::kMeta);
}

TEST(StrategicMerge, RefusesWhatTheRealOneRefuses) {
  check(
      {
          {"unknown directive", R"({"nodeSelector":{}})", R"({"nodeSelector":{"$patch":"merge"}})",
           "error: unknown patch type: merge in map: map[$patch:merge]"},
          {"no merge key", R"({"volumes":[{"name":"a"}]})", R"({"volumes":[{"emptyDir":{}}]})",
           "error: {\"emptyDir\":{}} does not contain declared merge key: name"},
          {"mixed list", R"({"volumes":[{"name":"a"}]})", R"({"volumes":["a"]})",
           "error: list element types are not identical"},
          {"unknown field, both objects", R"({"unknown":{"a":1}})", R"({"unknown":{"b":1}})",
           "error: unable to find api field \"unknown\" in PodSpec"},
          {"an object inside of a string map", R"({"nodeSelector":{"a":{}}})",
           R"({"nodeSelector":{"a":{}}})",
           "error: cannot merge into \"a\": what holds it is not an API object"},
          {"order does not match", R"({"containers":[{"name":"a"}]})",
           R"({"$setElementOrder/containers":[{"name":"a"},{"name":"b"}],"containers":[{"name":"b"},{"name":"a"}]})",
           "error: the order in the patch's list does not match its $setElementOrder"},
          {"retainKeys does not name a member", R"({"volumes":[{"name":"a"}]})",
           R"({"volumes":[{"$retainKeys":["name"],"name":"a","emptyDir":{}}]})",
           "error: invalid patch format of retainKeys"},
          {"a key that is an object", R"({"volumes":[{"name":"a"}]})",
           R"({"volumes":[{"name":{"x":1}}]})",
           "error: {\"x\":1} cannot tell elements of a list apart"},
          {"not an object", R"([])", R"({})",
           "error: a strategic merge patch and what it changes are objects"},
      },
      test::kPodSpec);
}

TEST(StrategicMerge, AddsUnknownFieldsAndTakesNullForNothing) {
  EXPECT_EQ(merged(R"({"a":1})", R"({"b":{"c":null,"d":[{"e":null}]}})"),
            R"({"a":1,"b":{"d":[{}]}})");
  EXPECT_EQ(merged("null", R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(merged(R"({"a":1})", "null"), R"({"a":1})");
}

TEST(StrategicMerge, ReadsTheOrderOfAListWithDuplicatesAsGoLeavesIt) {
  check(
      {
          {"room for one more", R"({"finalizers":["b","d","d"]})", R"({"finalizers":["c"]})",
           R"({"finalizers":["b","d","c"]})"},
          {"no room for two", R"({"finalizers":["b","d","d"]})", R"({"finalizers":["c","e"]})",
           R"({"finalizers":["c","e","b","d"]})"},
          {"no duplicates", R"({"finalizers":["a","b","d"]})", R"({"finalizers":["c"]})",
           R"({"finalizers":["c","a","b","d"]})"},
          {"with an order", R"({"finalizers":["d","d","c"]})",
           R"({"$setElementOrder/finalizers":["b"],"finalizers":["b"]})",
           R"({"finalizers":["d","b","c"]})"},
      },
      test::kMeta);
}

TEST(StrategicMerge, TakesAPointerForAList) {
  static constexpr Field kFields[] = {
      {.name = "replicas", .type = FieldType::kInteger, .optional = true}, test::number("size")};
  static constexpr Message kScale{"Scale", kFields};
  EXPECT_EQ(merged(R"({"replicas":[1]})", R"({"replicas":[2]})", kScale), R"({"replicas":[2]})");
  EXPECT_EQ(merged(R"({"size":[1]})", R"({"size":[2]})", kScale),
            "error: \"size\" of Scale is not a list");
}

TEST(StrategicMerge, StaysFastOnLongLists) {
  std::string original = R"({"containers":[)";
  std::string patch = original;
  for (int i = 0; i < 20'000; ++i) {
    const std::string comma = i == 0 ? "" : ",";
    original += comma + R"({"name":"a)" + std::to_string(i) + "\"}";
    patch += comma + R"({"name":"a)" + std::to_string(40'000 - 2 * i) + "\"}";
  }
  EXPECT_TRUE(strategic_merge_patch(original + "]}", patch + "]}", test::kPodSpec));
}

}  // namespace
}  // namespace berth::json
