// SPDX-License-Identifier: Apache-2.0
#include "json/yaml.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "json/slice.h"
#include "json/value.h"

namespace berth::json {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string read(std::string_view text, const YamlLimits& limits = {}) {
  const auto documents = yaml_to_json(text, limits);
  if (!documents) return "error: " + documents.error().message;
  std::string all;
  for (const YamlDocument& document : *documents) all += (all.empty() ? "" : " | ") + document.json;
  return all;
}

// Each line of the file was answered by the real sigs.k8s.io/yaml v1.6.0 (YAMLToJSON).
TEST(Yaml, ReadsAsKubernetesDoes) {
  std::ifstream file("src/json/testdata/yaml.jsonl");
  int rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    const Slice row(line);
    const auto documents = yaml_to_json(row["yaml"].text());
    ASSERT_EQ(documents.has_value(), row["valid"].boolean()) << line;
    if (!documents) {
      EXPECT_THAT(documents.error().message,
                  testing::MatchesRegex("line [0-9]+, column [0-9]+: .+"));
      EXPECT_EQ(documents.error().message.find('\n'), std::string::npos);
      continue;
    }
    Arena arena;
    const std::string json = documents->empty() ? "null" : documents->front().json;
    EXPECT_TRUE(equal(parse_good(json, arena), parse_good(row["json"].raw(), arena)))
        << line << "\ngives " << json;
  }
  EXPECT_GT(rows, 300);
}

TEST(Yaml, ReadsStreams) {
  const auto documents = yaml_to_json(
      "# a comment\n---\na: 1\n---\n# nothing\n---\nnull\n---\n\nb: 2\n...\n---\n- c\n");
  ASSERT_TRUE(documents) << documents.error().message;
  std::vector<std::pair<std::string, std::size_t>> seen;
  for (const auto& document : *documents) seen.emplace_back(document.json, document.line);
  EXPECT_THAT(seen, ElementsAre(std::pair(R"({"a":1})", 3), std::pair(R"({"b":2})", 10),
                                std::pair(R"(["c"])", 13)));
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read("a: 1\nb: 2\n"), R"({"a":1,"b":2})");
}

TEST(Yaml, PassesJsonThroughUnchanged) {
  EXPECT_EQ(read("{\"a\": \"\\ud83d\\ude00\\/\"}\n\n[1.0]{}"),
            "{\"a\": \"\\ud83d\\ude00\\/\"} | [1.0] | {}");
  EXPECT_EQ(read("\xEF\xBB\xBF{\"b\":1}"), "{\"b\":1}");
  EXPECT_EQ(read("{\"a\":1}\n---\n{\"b\":2}"), R"({"a":1} | {"b":2})");
  EXPECT_EQ(yaml_to_json("{}\n\n{\"a\":\n1}\n{}")->back().line, 5U);
}

TEST(Yaml, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(read("a: 1\nb: 2\na: 3\n"),
            "error: line 3, column 1: the key \"a\" is already set in this map");
  EXPECT_EQ(read("1: a\n'1': b\n"),
            "error: line 2, column 1: the key \"1\" is already set in this map");
  EXPECT_EQ(read("spec:\n  a: 1\n  contai"),
            "error: line 3, column 3: could not find expected ':' while scanning a simple key");
  EXPECT_EQ(
      read("a: 'x\n"),
      "error: line 1, column 4: found unexpected end of stream while scanning a quoted scalar");
  EXPECT_EQ(read("a: \xff\n"), "error: line 1, column 4: invalid leading UTF-8 octet");
  EXPECT_EQ(read("a: 1\nb: *x\n"), "error: line 2, column 4: the alias has no anchor");
  EXPECT_EQ(read("a: &x\n  b: *x\n"), "error: line 2, column 6: the anchor contains itself");
  EXPECT_EQ(read("a: .inf\n"), "error: line 1, column 4: JSON has no infinite numbers");
  EXPECT_EQ(read("a: !!int x\n"),
            "error: line 1, column 4: cannot be read as \"tag:yaml.org,2002:int\"");
  EXPECT_EQ(read("~: 1\n"),
            "error: line 1, column 1: a key must be a string, a number or a boolean");
  EXPECT_EQ(read("a: {<<: 1}\n"), "error: line 1, column 9: \"<<\" takes a map or a list of maps");
}

TEST(Yaml, BoundsSizeDepthAndExpansion) {
  EXPECT_EQ(read("a: 1", {.max_bytes = 3}),
            "error: the text is too large: 4 bytes, at most 3 are read");
  EXPECT_EQ(read("[[[1]]]", {.max_depth = 3}), "[[[1]]]");
  EXPECT_EQ(read("[[[x]]]", {.max_depth = 2}), "error: line 1, column 3: nested too deeply");
  EXPECT_EQ(read("a: &a [x]\nb: &b [*a]\nc: [*b]\n", {.max_depth = 3}),
            "error: line 1, column 4: nested too deeply");
  EXPECT_EQ(read("[x, y, z]", {.max_nodes = 3}), "error: line 1, column 8: more than 3 values");
  EXPECT_THAT(read(std::string(100'000, '[')), HasSubstr("nested too deeply"));
  std::string keys;
  for (int i = 0; i < 10'000; ++i) keys += "? ";
  EXPECT_THAT(read(keys), HasSubstr("nested too deeply"));

  std::string laughs = "a0: &a0 [lol]\n";
  for (int i = 1; i < 40; ++i)
    laughs += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}]\n", i, i - 1);
  EXPECT_THAT(read(laughs, {.max_nodes = 20'000}),
              HasSubstr("too much text once its aliases are expanded"));
  std::string merges = "a0: &a0 {x: lol}\n";
  for (int i = 1; i < 40; ++i)
    merges += fmt::format("a{0}: &a{0} {{<<: [*a{1}, *a{1}]}}\n", i, i - 1);
  EXPECT_THAT(read(merges, {.max_nodes = 20'000}),
              HasSubstr("too much text once its aliases are expanded"));
  std::string echoes = "- &a " + std::string(1000, 'x') + "\n";
  for (int i = 0; i < 1000; ++i) echoes += "- *a\n";
  EXPECT_THAT(read(echoes, {.max_bytes = 10'000}),
              HasSubstr("too much text once its aliases are expanded"));
}

TEST(Yaml, WantsExactlyOneDocumentWhereOneIsAskedFor) {
  EXPECT_EQ(yaml_document_to_json("a: 1\n").value(), R"({"a":1})");
  EXPECT_EQ(yaml_document_to_json("# nothing\n").error().message,
            "line 1, column 1: there is no document");
  EXPECT_EQ(yaml_document_to_json("a: 1\n---\nb: 1\n").error().message,
            "line 3, column 1: only one document is expected here");
}

TEST(Yaml, FindsTheLineOfAPath) {
  const char* const text =
      "# pods\nkind: Pod\nmetadata:\n  labels:\n    app.kubernetes.io/name: x\nspec:\n"
      "  containers:\n  - name: a\n    image: x\n  - name: b\n    resources:\n      limits: {cpu: "
      "1}\n"
      "---\nkind: Node\n";
  const std::pair<const char*, std::size_t> rows[] = {
      {"kind", 2},
      {"spec.containers", 7},
      {"spec.containers[0].image", 9},
      {"spec.containers[1]", 10},
      {"spec.containers[1].resources.limits.cpu", 12},
      {"spec.containers[1].resources.requests.cpu", 11},
      {"spec.containers[7].name", 7},
      {"metadata.labels[app.kubernetes.io/name]", 5},
      {"nothing.at.all", 2},
      {"", 2},
  };
  for (const auto& [path, line] : rows) EXPECT_EQ(yaml_line_of(text, 0, path), line) << path;
  EXPECT_EQ(yaml_line_of(text, 1, "kind"), 14U);
  EXPECT_EQ(yaml_line_of(text, 2, "kind"), std::nullopt);
  EXPECT_EQ(yaml_line_of("{", 0, "kind"), std::nullopt);
}

TEST(JsonToYaml, IsReadable) {
  EXPECT_EQ(json_to_yaml(R"({"kind":"Pod","metadata":{"name":"web","labels":{}},"on":"yes",
      "list":[1,"2",{"a":1,"b":[true,null]},["x"],[]],"text":"one\ntwo\n","end":"one\n\ntwo",
      "time":"2026-01-01T00:00:00Z","note":"a: b","cpu":"500m","esc":"\u0007é"})"),
            R"(kind: Pod
metadata:
  name: web
  labels: {}
"on": "yes"
list:
- 1
- "2"
- a: 1
  b:
  - true
  - null
- - x
- []
text: |
  one
  two
end: |-
  one

  two
time: "2026-01-01T00:00:00Z"
note: "a: b"
cpu: 500m
esc: "\u0007é"
)");
  EXPECT_EQ(json_to_yaml("\"x\""), "x\n");
  const std::string long_key = R"({"a":{")" + std::string(2000, 'k') + R"(":[1]}})";
  EXPECT_EQ(read(json_to_yaml(long_key)), long_key);
  EXPECT_EQ(json_to_yaml("[]"), "[]\n");
}

std::string random_text(Random& random) {
  static const char* const kPieces[] = {
      "a",  "b",   " ",    ":",  "#",      "-",      "\n",     "\t",     "'",    "\"", "\\",
      "1",  "0",   ".",    "e",  "é",      "😀",      "\x01",   "\x7f",   "{",    "]",  ",",
      "&",  "*",   "!",    "|",  ">",      "%",      "@",      "yes",    "null", "~",  "0x",
      "<<", "---", "true", "\r", "\u2028", "\u0085", "\u00a0", "\ufeff", ": ",   " #", "2001-01-01",
      "=",  "?",   "_",    "/",  "...",    "\n\n",   "  ",     "inf"};
  std::string text;
  for (std::uint64_t i = random.below(6); i > 0; --i)
    text += kPieces[random.below(std::size(kPieces))];
  return text;
}

Value random_value(Random& random, int depth, Arena& arena) {
  switch (random.below(depth > 0 ? 8 : 5)) {
    case 0:
      return Value(nullptr, arena.storage());
    case 1:
      return Value(random.chance(0.5), arena.storage());
    case 2:
      return Value(static_cast<std::int64_t>(random.next()), arena.storage());
    case 3:
      return Value(random.unit() * 1e9 + 0.5, arena.storage());
    case 4:
      return Value(random_text(random), arena.storage());
    case 5: {
      List list(arena.storage());
      for (std::uint64_t i = random.below(4); i > 0; --i)
        list.push_back(random_value(random, depth - 1, arena));
      return list;
    }
    default: {
      Dict dict(arena.storage());
      for (std::uint64_t i = random.below(4); i > 0; --i)
        dict.insert_or_assign(random_text(random), random_value(random, depth - 1, arena));
      return dict;
    }
  }
}

TEST(JsonToYaml, ReadsBackAsTheSame) {
  Random random(20260102);
  for (int i = 0; i < 3000; ++i) {
    Arena arena;
    List wrapped(arena.storage());
    wrapped.push_back(random_value(random, 4, arena));
    const Value value(std::move(wrapped));
    const std::string yaml = json_to_yaml(print(value));
    const auto json = yaml_document_to_json(yaml);
    ASSERT_TRUE(json) << "case " << i << ": " << json.error().message << "\n" << yaml;
    ASSERT_TRUE(equal(parse_good(*json, arena), value))
        << "case " << i << ": " << print(value) << "\n"
        << yaml << "\n"
        << *json;
  }
}

}  // namespace
}  // namespace berth::json
