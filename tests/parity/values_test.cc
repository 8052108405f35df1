// SPDX-License-Identifier: Apache-2.0
// Every case of values.jsonl must give what the real code gave; what differs is printed with its
// line.
#include <cstdlib>
#include <filesystem>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "json/patch.h"
#include "json/slice.h"
#include "kube/label_selector.h"
#include "kube/quantity.h"
#include "kube/schema.h"

namespace berth::kube {
namespace {

std::string cases_file() {
  const std::filesystem::path source = BERTH_SOURCE_DIR;
  const char* const given = std::getenv("BERTH_PARITY_DIR");
  const std::filesystem::path folder = given != nullptr ? given : source / "../shared/parity";
  if (std::filesystem::path file = folder / "values.jsonl.gz"; std::filesystem::exists(file))
    return file;
  if (given != nullptr) ADD_FAILURE() << "no values.jsonl.gz in BERTH_PARITY_DIR=" << given;
  return source / "tests/parity/sample/values.jsonl";
}

// gzip or plain.
std::string read_whole(const std::string& path) {
  std::string out;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return out;
  char block[1 << 16];
  for (int n; (n = gzread(file, block, sizeof block)) > 0;)
    out.append(block, static_cast<std::size_t>(n));
  int error = 0;
  const char* const message = gzerror(file, &error);
  EXPECT_TRUE(error == Z_OK || error == Z_STREAM_END) << path << ": " << message;
  gzclose(file);
  return out;
}

// Collects what differs in one case.
class Case {
 public:
  explicit Case(json::Slice expected) : expected_(expected) {}

  void check(std::string_view field, const std::string& got) {
    check(field, expected_[field].text(), got);
  }
  void check(std::string_view field, bool got) {
    check(field, std::string(expected_[field].raw()), got ? "true" : "false");
  }
  void check(std::string_view field, const std::string& expected, const std::string& got) {
    if (expected != got)
      differences += fmt::format("\n  {}: expected {}, got {}", field, expected, got);
  }
  std::string differences;

 private:
  json::Slice expected_;
};

void check_parsed(Case& all, std::string_view which, json::Slice expected,
                  const Result<Quantity>& q) {
  const auto field = [&](const char* name) { return fmt::format("{}.{}", which, name); };
  all.check(field("valid"), std::string(expected["valid"].raw()), q ? "true" : "false");
  if (!q || !expected["valid"].boolean()) return;
  all.check(field("canonical"), expected["canonical"].text(), q->text());
  all.check(field("value"), expected["value"].text(), std::to_string(q->value()));
  all.check(field("milliValue"), expected["milliValue"].text(), std::to_string(q->milli_value()));
  all.check(field("sign"), std::string(expected["sign"].raw()), std::to_string(q->sign()));
}

std::string check_quantity(json::Slice c) {
  Case all(c);
  const Result<Quantity> a = Quantity::parse(c["a"].text());
  const Result<Quantity> b = Quantity::parse(c["b"].text());
  check_parsed(all, "parsedA", c["parsedA"], a);
  check_parsed(all, "parsedB", c["parsedB"], b);
  if (a && b) {
    const int order = *a < *b ? -1 : *a > *b ? 1 : 0;
    all.check("cmp", std::string(c["cmp"].raw()), std::to_string(order));
    all.check("sum", (*a + *b).text());
    all.check("difference", (*a - *b).text());
  }
  return all.differences;
}

void check_selector(Case& all, json::Slice c, const Result<LabelSelector>& selector,
                    std::string_view text_field) {
  all.check("valid", selector.has_value());
  if (!selector || !c["valid"].boolean()) return;
  all.check(text_field, selector->text());
  all.check("matches", selector->matches(c["labels"]));
  LabelMap labels;
  for (auto [key, value] : c["labels"].members()) labels[std::string(key)] = value.text();
  all.check("matches", selector->matches(labels));
}

std::string check_label_selector(json::Slice c) {
  Case all(c);
  check_selector(all, c, LabelSelector::from_json(c["selector"]), "text");
  return all.differences;
}

std::string check_selector_text(json::Slice c) {
  Case all(c);
  const Result<LabelSelector> selector = LabelSelector::parse(c["text"].text());
  check_selector(all, c, selector, "canonical");
  if (selector) {
    const Result<LabelSelector> again = LabelSelector::parse(selector->text());
    if (!again || again->text() != selector->text())
      all.differences += "\n  the canonical text reads back as something else";
  }
  return all.differences;
}

std::string check_strategic_merge(json::Slice c) {
  Case all(c);
  const std::string kind = c["objectKind"].text();
  const json::Message* message = nullptr;
  for (const char* version : {"v1", "apps/v1", "batch/v1"})
    if (const auto id = find_kind(version, kind)) message = schema_of(*id);
  if (message == nullptr) return fmt::format("\n  no schema for {}", kind);
  const Result<std::string> result =
      json::strategic_merge_patch(c["original"].raw(), c["patch"].raw(), *message);
  all.check("valid", result.has_value());
  if (!result || !c["valid"].boolean()) return all.differences;
  // Order matters in lists alone.
  if (boost::json::parse(*result) != boost::json::parse(c["result"].raw()))
    all.check("result", std::string(c["result"].raw()), *result);
  return all.differences;
}

TEST(Values, AgreeWithTheRealApimachinery) {
  const std::string path = cases_file();
  const std::string text = read_whole(path);
  const std::map<std::string, std::string (*)(json::Slice), std::less<>> checks = {
      {"quantity", check_quantity},
      {"labelSelector", check_label_selector},
      {"selectorText", check_selector_text},
      {"strategicMergePatch", check_strategic_merge}};
  std::map<std::string, int> agreed;
  int line_number = 0, differing = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++line_number;
    if (line.empty()) continue;
    ASSERT_TRUE(json::check(line)) << path << ":" << line_number;
    const json::Slice c(line);
    const std::string kind = c["kind"].text();
    const auto check = checks.find(kind);
    const std::string differences =
        check == checks.end() ? "\n  a kind of case that is not known" : check->second(c);
    if (differences.empty()) {
      ++agreed[kind];
    } else if (++differing <= 50) {
      const std::string id = c["id"] ? fmt::format(" id {}", c["id"].raw()) : "";
      ADD_FAILURE() << path << ":" << line_number << id << " (" << kind << ") differs"
                    << differences << "\n  in " << line;
    }
  }
  for (const auto& [kind, count] : agreed) std::cout << count << " cases of " << kind << " agree\n";
  EXPECT_EQ(differing, 0) << "of " << line_number << " cases in " << path;
  EXPECT_EQ(agreed.size(), checks.size()) << "some kinds of cases are missing from " << path;
}

}  // namespace
}  // namespace berth::kube
