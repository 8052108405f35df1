// SPDX-License-Identifier: Apache-2.0
// Schemas that somebody made to hurt.
#include <gtest/gtest.h>

#include "apiserver/kinds/extensions/schema_check.h"
#include "apiserver/kinds/extensions/structural.h"
#include "apiserver/kinds/extensions/value_check.h"

namespace berth::apiserver {
namespace {

TEST(SchemaBounds, APatternTakesTimeLinearInItsText) {
  const Result<Pattern> evil = Pattern::compile("^(a+)+$");
  ASSERT_TRUE(evil.has_value());
  EXPECT_FALSE(evil->found_in(std::string(100'000, 'a') + "!"));
}

TEST(SchemaBounds, ManyWrongValuesMakeAnAnswerOfBoundedSize) {
  json::Arena arena;
  std::string list = "[1";
  for (int i = 0; i < 20'000; ++i) list += ",1";
  Findings many;
  check_value(
      *json::parse(list + "]", arena),
      *read_structural(Peek(*json::parse(R"({"type":"array","items":{"type":"string"}})", arena))),
      "", many);
  EXPECT_LE(many.size(), 1'000U);
}

TEST(SchemaBounds, PatternsTogetherHaveALimit) {
  json::Arena arena;
  std::string properties;
  for (int i = 0; i < 400; ++i)
    properties += fmt::format(R"({}"p{}":{{"type":"string","pattern":"(ab{}){{1000}}"}})",
                              i == 0 ? "" : ",", i, i);
  const std::string schema = fmt::format(R"({{"type":"object","properties":{{{}}}}})", properties);
  Findings findings;
  check_schema(Peek(*json::parse(schema, arena)), "spec.validation.openAPIV3Schema", false,
               findings);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.causes()[0].message, "Forbidden: its patterns are too large together");
}

}  // namespace
}  // namespace berth::apiserver
