// SPDX-License-Identifier: Apache-2.0
// testdata/values.jsonl holds what the real code (Go's time, apimachinery's validation, fields and
// intstr, component-helpers' nodeaffinity, core/v1's tolerations) said about random inputs.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/cursor.h"
#include "kube/field_selector.h"
#include "kube/int_or_string.h"
#include "kube/names.h"
#include "kube/node_selector.h"
#include "kube/taint.h"
#include "kube/time.h"

namespace berth::kube {
namespace {

void check_time(json::Slice c) {
  const auto time = parse_time(c["in"].text());
  ASSERT_EQ(time.has_value(), c["valid"].boolean());
  if (!time) return;
  EXPECT_EQ(std::to_string(time->unix_nanos), c["nanos"].text());
  EXPECT_EQ(time_text(*time), c["text"].text());
  EXPECT_EQ(micro_time_text(*time), c["micro"].text());
}

void check_duration(json::Slice c) {
  const auto duration = parse_duration(c["in"].text());
  ASSERT_EQ(duration.has_value(), c["valid"].boolean());
  if (!duration) return;
  EXPECT_EQ(std::to_string(duration->count()), c["nanos"].text());
  EXPECT_EQ(duration_text(*duration), c["text"].text());
}

void check_name(json::Slice c) {
  const std::string name = c["in"].text();
  EXPECT_EQ(joined(check_dns_label(name)), c["label"].text());
  EXPECT_EQ(joined(check_dns_subdomain(name)), c["subdomain"].text());
  EXPECT_EQ(joined(check_dns_1035_label(name)), c["dns1035"].text());
  EXPECT_EQ(joined(check_qualified_name(name)), c["qualified"].text());
  EXPECT_EQ(joined(check_label_value(name)), c["value"].text());
}

void check_field_selector(json::Slice c) {
  const auto selector = FieldSelector::parse(c["in"].text());
  ASSERT_EQ(selector.has_value(), c["valid"].boolean());
  if (!selector) return;
  EXPECT_EQ(selector->text(), c["text"].text());
  EXPECT_EQ(selector->everything(), c["everything"].boolean());
  const auto value_of = [&](std::string_view field) { return c["fields"][field].text(); };
  EXPECT_EQ(selector->matches(value_of), c["matches"].boolean());
}

void check_node_selector(json::Slice c) {
  const std::string name = c["name"].text();
  const Result<bool> matches = NodeSelector::from_json(c["selector"]).matches(c["labels"], name);
  EXPECT_EQ(!matches, c["error"].boolean());
  if (matches) {
    EXPECT_EQ(*matches, c["matches"].boolean());
  }
  const auto preferred = PreferredNodeTerms::from_json(c["preferred"]);
  ASSERT_EQ(preferred.has_value(), c["preferredValid"].boolean());
  if (preferred) {
    EXPECT_EQ(preferred->score(c["labels"], name), c["score"].integer());
  }
}

void check_toleration(json::Slice c) {
  const auto wrapped = [](json::Slice one) { return "[" + std::string(one.raw()) + "]"; };
  const std::string tolerations = wrapped(c["toleration"]), taints = wrapped(c["taint"]);
  EXPECT_EQ(tolerates(tolerations_of(json::Slice(tolerations)),
                      taints_of(json::Slice(taints)).at(0), c["comparisons"].boolean()),
            c["tolerates"].boolean());
}

void check_int_or_string(json::Slice c) {
  const auto value = IntOrString::from_json(c["in"]);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->text(), c["text"].text());
  EXPECT_EQ(value->json(), c["in"].raw());
  EXPECT_EQ(value->number(), c["number"].integer());
  const std::int64_t total = c["total"].integer().value_or(0);
  const auto up = value->scaled(total, true), down = value->scaled(total, false);
  ASSERT_EQ(up.has_value(), c["valid"].boolean());
  if (!up) return;
  EXPECT_EQ(*up, c["up"].integer());
  EXPECT_EQ(*down, c["down"].integer());
}

TEST(RealAnswers, AreOursToo) {
  const std::map<std::string, void (*)(json::Slice), std::less<>> checks = {
      {"time", check_time},           {"duration", check_duration},
      {"name", check_name},           {"field", check_field_selector},
      {"node", check_node_selector},  {"toleration", check_toleration},
      {"intstr", check_int_or_string}};
  std::map<std::string, int> seen;
  std::ifstream file("src/kube/testdata/values.jsonl");
  for (std::string line; std::getline(file, line);) {
    SCOPED_TRACE(line);
    ASSERT_TRUE(json::check(line));
    const json::Slice c(line);
    ASSERT_TRUE(checks.contains(c["kind"].text()));
    checks.at(c["kind"].text())(c);
    ++seen[c["kind"].text()];
  }
  EXPECT_EQ(seen.size(), checks.size());
}

}  // namespace
}  // namespace berth::kube
