// SPDX-License-Identifier: Apache-2.0
// Every recorded case must be answered as the real kube-scheduler answered it. A tenth of the cases
// runs always, all of them where BERTH_NIGHTLY is set or only the checked-in sample is there. The
// plain path answers, and cached shapes must choose the same: new ones, and ones that caught up.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "differences.h"
#include "json/cursor.h"
#include "scheduler/explain/answer.h"
#include "scheduler/explain/lines.h"
#include "scheduler/plugins/registry.h"

namespace berth::scheduler {
namespace {

using json::Slice;

struct Folder {
  std::filesystem::path path;
  bool sample = false;
};

std::string file_name(std::string_view what, const std::string& profile) {
  return fmt::format("{}-{}.jsonl.gz", what, profile);
}

// A profile that is not among the recorded ones is in the sample.
Folder recorded(const std::string& profile) {
  const std::filesystem::path source = BERTH_SOURCE_DIR;
  const char* const given = std::getenv("BERTH_PARITY_DIR");
  std::filesystem::path folder = given != nullptr ? given : source / "../shared/parity";
  if (std::filesystem::exists(folder / file_name("cases", profile))) return {std::move(folder)};
  return {source / "tests/parity/sample", true};
}

// The plugins that a recorded answer speaks of.
std::set<std::string> plugins_in(Slice answer) {
  std::set<std::string> names;
  if (answer["preFilter"]["plugin"]) names.insert(answer["preFilter"]["plugin"].text());
  for (auto [node, verdict] : answer["filter"].members())
    if (verdict["plugin"]) names.insert(verdict["plugin"].text());
  for (auto [node, scores] : answer["scores"].members())
    for (auto [plugin, score] : scores.members()) names.insert(std::string(plugin));
  names.erase("PreFilter");
  return names;
}

// A plugin that the answer needs and that is not compiled in; "" where there is none.
std::string missing_plugin(Slice answer) {
  for (const std::string& name : plugins_in(answer))
    if (plugin_named(name) == PluginId::kNone) return name;
  return "";
}

struct Mode {
  const char* name;
  AnswerMode mode;
};
void PrintTo(const Mode& mode, std::ostream* out) { *out << mode.name; }
class Parity : public ::testing::TestWithParam<std::tuple<const char*, Mode>> {};

TEST_P(Parity, EveryAnswerIsThatOfTheRealScheduler) {
  const std::string profile = std::get<0>(GetParam());
  const Folder folder = recorded(profile);
  std::ifstream case_file(folder.path / file_name("cases", profile), std::ios::binary);
  std::ifstream expected_file(folder.path / file_name("expected", profile), std::ios::binary);
  ASSERT_TRUE(case_file && expected_file) << "no cases of " << profile << " in " << folder.path;
  const std::uint64_t step = folder.sample || std::getenv("BERTH_NIGHTLY") != nullptr ? 1 : 10;

  const Answerer answerer(std::get<1>(GetParam()).mode);
  LineReader cases(case_file), answers(expected_file);
  std::map<std::string, int> skipped;
  int agreed = 0, differing = 0;
  for (std::uint64_t i = 0;; ++i) {
    const auto problem = cases.next();
    const auto expected = answers.next();
    ASSERT_TRUE(problem && expected);
    ASSERT_EQ(problem->has_value(), expected->has_value()) << "cases and answers differ in number";
    if (!*problem) break;
    if (i % step != 0) continue;
    ASSERT_TRUE(json::check(**expected));
    const Slice want(**expected);
    if (const std::string plugin = missing_plugin(want); !plugin.empty()) {
      ++skipped[plugin];
      continue;
    }
    const Result<std::string> answer = answerer.answer(**problem);
    ASSERT_TRUE(answer) << answer.error().message;
    const Slice got(*answer);
    ASSERT_EQ(got["id"].text(), want["id"].text());
    const std::vector<std::string> found = parity::differences(want, got);
    if (found.empty()) {
      ++agreed;
    } else if (++differing <= 20) {
      ADD_FAILURE() << want["id"].text() << " differs:\n  "
                    << fmt::format("{}", fmt::join(found, "\n  "));
    }
  }
  std::cout << agreed << " cases of " << profile << " agree\n";
  for (const auto& [plugin, count] : skipped)
    std::cout << count << " were left out: " << plugin << " is not there\n";
  EXPECT_EQ(differing, 0);
  EXPECT_GT(agreed + static_cast<int>(skipped.size()), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Profiles, Parity,
    ::testing::Combine(::testing::Values("basic", "affinity", "spread", "volumes", "preempt",
                                         "mixed", "services", "large", "nominated", "storage"),
                       ::testing::Values(Mode{"plain", AnswerMode::kPlain},
                                         Mode{"cached", AnswerMode::kCached},
                                         Mode{"warm", AnswerMode::kWarm})),
    [](const auto& one) {
      return fmt::format("{}_{}", std::get<0>(one.param), std::get<1>(one.param).name);
    });

}  // namespace
}  // namespace berth::scheduler
