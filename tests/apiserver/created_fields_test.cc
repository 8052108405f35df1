// SPDX-License-Identifier: Apache-2.0
// The fields of a new object, found in one pass, are those that a comparison with the empty object
// finds: for every object that the real server has ever given us.
#include "apiserver/apply/created_fields.h"

#include <array>

#include <gtest/gtest.h>

#include "apiserver/apply/layout.h"
#include "apiserver/apply/reset_fields.h"
#include "apiserver/apply/walk.h"
#include "apiserver/edit/conform.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/strategy.h"
#include "golden_file.h"
#include "json/slice.h"

namespace berth::apiserver {
namespace {

std::string by_comparison(const KindRow& row, const json::Value& document, const json::Value& empty,
                          const FieldSet& ignored) {
  json::Value bare = document;
  for (const std::string_view head : {"kind", "apiVersion"}) json::erase(bare.as_object(), head);
  const Comparison full = compared(empty, bare, Type::of(row));
  FieldSet never;
  never.insert(std::array{PathElement::field("metadata")});
  for (const std::string_view name : kNeverManagedMetadata)
    never.insert(std::array{PathElement::field("metadata"), PathElement::field(name)});
  const FieldSet gained = (full.modified | full.added).without_trees(ignored) - never;
  return gained.empty() ? "" : gained.json();
}

TEST(CreatedFields, AreThoseThatDifferFromTheEmptyObject) {
  std::size_t checked = 0, told_apart = 0;
  for (const char* file : {"pods", "others"}) {
    for (const std::string& text : golden_lines(file)) {
      const json::Slice line(text);
      const json::Slice object = line["object"];
      if (line["code"].integer() != 201) continue;
      const auto id =
          kube::find_kind(line["manifest"]["apiVersion"].text(), line["manifest"]["kind"].text());
      ASSERT_TRUE(id);
      const KindRow& row = *find_built_in(*id);
      json::Arena arena;
      const json::Value document = json::parse_good(object.raw(), arena);
      const json::Value empty = zero_of(*row.schema, arena);
      const FieldSet ignored = reset_fields(row, "");
      Edit edit(row.id, document, arena);
      ++checked;
      const std::optional<std::string> fields = created_fields(row, edit, empty, ignored);
      if (!fields) continue;
      ++told_apart;
      EXPECT_EQ(*fields, by_comparison(row, document, empty, ignored)) << line["name"].text();
    }
  }
  EXPECT_GE(checked, 300U);
  EXPECT_GT(told_apart * 100, checked * 95);
}

TEST(CreatedFields, ElementsWithTheSameKeysTakeTheComparison) {
  json::Arena arena;
  const KindRow& row = *find_built_in(kube::kPod);
  Edit edit(
      row.id,
      json::parse_good(
          R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a"},{"name":"a"}]}})", arena),
      arena);
  EXPECT_FALSE(created_fields(row, edit, zero_of(*row.schema, arena), reset_fields(row, "")));
}

}  // namespace
}  // namespace berth::apiserver
