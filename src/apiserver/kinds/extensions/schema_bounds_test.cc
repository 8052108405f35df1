// SPDX-License-Identifier: Apache-2.0
// Schemas that somebody made to hurt.
#include <gtest/gtest.h>

#include "apiserver/kinds/extensions/schema_check.h"
#include "apiserver/kinds/extensions/shaping.h"
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

// What a document against a schema comes to.
std::vector<std::string> complaints(const std::string& document, const std::string& schema) {
  json::Arena arena;
  Findings found;
  check_value(*json::parse(document, arena), *read_structural(Peek(*json::parse(schema, arena))),
              "", found);
  std::vector<std::string> out;
  for (const auto& cause : found.causes()) out.push_back(cause.message);
  return out;
}

std::string list_of(int count, const std::string& element) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ",", fmt::format(fmt::runtime(element), i));
  return "[" + out + "]";
}

TEST(SchemaBounds, ManyValuesTimesManyBranchesEndSoon) {
  const struct {
    const char* name;
    std::string document, schema;
  } cases[] = {
      {"an enumeration", list_of(50'000, R"("x{}")"),
       fmt::format(R"({{"type":"array","items":{{"type":"string","enum":{}}}}})",
                   list_of(50'000, R"("v{}")"))},
      {"patterns", list_of(20'000, R"("x{}")"),
       fmt::format(R"({{"type":"array","items":{{"type":"string","anyOf":{}}}}})",
                   list_of(3'000, R"({{"pattern":"^v{}$"}})"))},
      {"patterns over a long text", "\"" + std::string(2'000'000, 'a') + "\"",
       fmt::format(R"({{"type":"string","anyOf":{}}})",
                   list_of(3'000, R"({{"pattern":"^v{}$"}})"))},
      {"required fields", list_of(100'000, "{{}}"),
       fmt::format(R"({{"type":"array","items":{{"type":"object","required":{}}}}})",
                   list_of(20'000, R"("r{}")"))},
  };
  for (const auto& [name, document, schema] : cases) {
    SCOPED_TRACE(name);
    const std::vector<std::string> said = complaints(document, schema);
    ASSERT_FALSE(said.empty());
    EXPECT_EQ(
        said.back(),
        "Invalid value: \"\": checking it against the schema takes more steps than are allowed");
    std::size_t bytes = 0;
    for (const std::string& each : said) bytes += each.size();
    EXPECT_LT(bytes, std::size_t{4} << 20);
  }
}

TEST(SchemaBounds, LargeButHonestDocumentsAreChecked) {
  EXPECT_EQ(complaints(list_of(100'000, "{}"), R"({"type":"array","items":{"type":"integer"}})"),
            std::vector<std::string>());
}

TEST(SchemaBounds, DefaultsStopWhereNothingCouldBeStored) {
  json::Arena arena;
  json::Value document = *json::parse(list_of(100'000, "{{}}"), arena);
  fill_presets(
      document,
      *read_structural(Peek(*json::parse(
          fmt::format(
              R"({{"type":"array","items":{{"type":"object","properties":{{"a":{{"type":"string","default":"{}"}}}}}}}})",
              std::string(1'000, 'y')),
          arena))));
  std::size_t filled = 0;
  for (const json::Value& each : document.get_array()) filled += each.get_object().size();
  EXPECT_GT(filled, 3'200u) << "more than an object may have";
  EXPECT_LT(filled, 10'000u);
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
