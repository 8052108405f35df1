// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/random.h"
#include "json/patch.h"
#include "json/value.h"

namespace berth::json {
namespace {

std::string merged(std::string_view document, std::string_view patch) {
  const auto result = merge_patch(document, patch);
  return result ? *result : "error: " + result.error().message;
}

TEST(MergePatch, FollowsTheRfc) {
  const char* const rows[][3] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const auto& row : rows) EXPECT_EQ(merged(row[0], row[1]), row[2]) << row[0] << row[1];
}

TEST(MergePatch, HasTheOdditiesOfKubernetes) {
  EXPECT_EQ(merged(R"({})", R"({"a":[{"b":null,"c":1},null]})"), R"({"a":[{"c":1},null]})");
  EXPECT_EQ(merged(R"({"a":{}})", R"({"a":[{"b":null}]})"), R"({"a":[{"b":null}]})");
  EXPECT_EQ(merged(R"({"a":"foo"})", "null"), "error: a merge patch is an object");
  EXPECT_EQ(merged(R"({"a":"foo"})", "\"bar\""), "error: a merge patch is an object");
  EXPECT_EQ(merged("null", "{}"), "error: null cannot be patched");
  EXPECT_EQ(merge_patch("{}", "{").error().reason, Reason::kBadRequest);
}

TEST(MergePatchBetween, SaysOnlyWhatDiffers) {
  EXPECT_EQ(merge_patch_between(R"({"a":1,"b":{"c":[1],"d":2},"e":{}})",
                                R"({"b":{"c":[1,2],"d":2},"e":{},"f":"x"})")
                .value(),
            R"({"a":null,"b":{"c":[1,2]},"f":"x"})");
  EXPECT_EQ(merge_patch_between(R"({"a":1,"b":2})", R"({"b":2,"a":1})").value(), "{}");
  EXPECT_FALSE(merge_patch_between("[]", "{}"));
}

// Documents over few names and values, so that two of them have much in common. No nulls: a merge
// patch cannot set one.
Value random_value(Random& random, int depth, Arena& arena) {
  switch (random.below(depth > 0 ? 6 : 4)) {
    case 0:
      return Value(random.chance(0.5), arena.storage());
    case 1:
      return Value(static_cast<std::int64_t>(random.below(3)), arena.storage());
    case 2:
      return Value(0.5, arena.storage());
    case 3:
      return Value(random.chance(0.5) ? "x" : "y", arena.storage());
    case 4: {
      List list(arena.storage());
      for (std::uint64_t i = random.below(3); i > 0; --i)
        list.push_back(random_value(random, depth - 1, arena));
      return list;
    }
    default: {
      Dict dict(arena.storage());
      for (const char* name : {"a", "b", "c", "é\"/"})
        if (random.chance(0.5)) dict.emplace(name, random_value(random, depth - 1, arena));
      return dict;
    }
  }
}

TEST(MergePatchBetween, LeadsFromAnyDocumentToAnyOther) {
  Random random(20260101);
  for (int i = 0; i < 2000; ++i) {
    Arena arena;
    Value from(Dict(arena.storage()));
    Value to(Dict(arena.storage()));
    for (Value* document : {&from, &to})
      for (const char* name : {"p", "q", "r"})
        if (random.chance(0.7))
          document->get_object().emplace(name, random_value(random, 4, arena));
    const std::string patch = merge_patch_between(print(from), print(to)).value();
    const std::string result = merge_patch(print(from), patch).value();
    ASSERT_TRUE(equal(parse_good(result, arena), to))
        << "case " << i << ": " << print(from) << " to " << print(to) << " by " << patch;
    ASSERT_EQ(patch == "{}", equal(from, to));
    ASSERT_EQ(merge_patch(result, patch).value(), result) << "a merge patch is idempotent";
  }
}

}  // namespace
}  // namespace berth::json
