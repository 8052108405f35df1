// SPDX-License-Identifier: Apache-2.0
// Every recorded case must be answered as the real kube-scheduler answered it. A tenth of the cases
// runs always, all of them where BERTH_NIGHTLY is set or only the checked-in sample is there. The
// plain path answers, and cached shapes must choose the same: new ones, and ones that caught up.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "differences.h"
#include "json/cursor.h"
#include "policy/scavenge/board.h"
#include "scheduler/explain/answer.h"
#include "scheduler/explain/judgement.h"
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

// Those of one profile that are looked at; `look` is told the case and the recorded answer, both as
// JSON.
void for_each_case(const std::string& profile,
                   const std::function<void(std::string_view, Slice)>& look) {
  const Folder folder = recorded(profile);
  std::ifstream case_file(folder.path / file_name("cases", profile), std::ios::binary);
  std::ifstream expected_file(folder.path / file_name("expected", profile), std::ios::binary);
  ASSERT_TRUE(case_file && expected_file) << "no cases of " << profile << " in " << folder.path;
  const std::uint64_t step = folder.sample || std::getenv("BERTH_NIGHTLY") != nullptr ? 1 : 10;
  LineReader cases(case_file), answers(expected_file);
  for (std::uint64_t i = 0;; ++i) {
    const auto problem = cases.next();
    const auto expected = answers.next();
    ASSERT_TRUE(problem && expected);
    ASSERT_EQ(problem->has_value(), expected->has_value()) << "cases and answers differ in number";
    if (!*problem) break;
    if (i % step != 0) continue;
    ASSERT_TRUE(json::check(**expected));
    look(**problem, Slice(**expected));
    if (testing::Test::HasFatalFailure()) return;
  }
}

struct Mode {
  const char* name;
  AnswerMode mode;
};
void PrintTo(const Mode& mode, std::ostream* out) { *out << mode.name; }
class Parity : public ::testing::TestWithParam<std::tuple<const char*, Mode>> {};

TEST_P(Parity, EveryAnswerIsThatOfTheRealScheduler) {
  const std::string profile = std::get<0>(GetParam());
  const Answerer answerer(std::get<1>(GetParam()).mode);
  std::map<std::string, int> skipped;
  int agreed = 0, differing = 0;
  for_each_case(profile, [&](std::string_view problem, Slice want) {
    if (const std::string plugin = missing_plugin(want); !plugin.empty()) {
      ++skipped[plugin];
      return;
    }
    const Result<std::string> answer = answerer.answer(problem);
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
  });
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

// Scavenger jobs that run on a node which is none of the case's.
scavenge::Board scavengers_elsewhere(Case& problem) {
  scavenge::Board board;
  PodCompiler compiler;
  for (int i = 0; i < 3; ++i) {
    const auto job = kube::Object::parse(fmt::format(
        R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"s{0}","namespace":"scavengers","uid":"scavenger-{0}"}},"spec":{{"image":"x"}},"status":{{"attempt":1,"jobUid":"job-of-s{0}","runningTimestamps":["2026-01-01T00:00:00Z"],"cost":{{"since":"2026-01-01T00:00:00Z","rateMilli":1000,"windowSeconds":1800,"steps":3,"reported":false,"restart":0}}}}}})",
        i));
    board.put(*job);
    const auto pod = kube::Object::parse(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"s{0}-0","namespace":"scavengers","uid":"pod-of-s{0}","ownerReferences":[{{"apiVersion":"batch/v1","kind":"Job","name":"s{0}-1","uid":"job-of-s{0}","controller":true}}]}},"spec":{{"nodeName":"elsewhere","priority":-1000,"containers":[{{"name":"main","image":"x","resources":{{"requests":{{"cpu":"1"}}}}}}]}},"status":{{"phase":"Running"}}}})",
        i));
    problem.cluster->add_pod(*compiler.compile(*pod));
  }
  return board;
}

std::string text_of(const PreemptionAnswer& answer) {
  std::string text = answer.status.message();
  for (const PreemptionCandidate& candidate : answer.candidates) {
    text += fmt::format("\n{} violates {}:", candidate.node, candidate.budget_violations);
    for (const PodPtr& pod : candidate.victims) text += " " + pod->text();
  }
  return text;
}

class ParityBesideScavengers : public ::testing::TestWithParam<const char*> {};

// A kind that is installed, and jobs that run where the pod cannot go anyway, change nothing: no
// verdict, no score, no victim, no text and nothing that is left to chance.
TEST_P(ParityBesideScavengers, EveryAnswerIsStillThatOfTheRealScheduler) {
  int agreed = 0, preempted = 0;
  for_each_case(GetParam(), [&](std::string_view json, Slice want) {
    if (!missing_plugin(want).empty()) return;
    Result<Case> problem = read_case(json);
    ASSERT_TRUE(problem) << problem.error().message;
    const scavenge::Board board = scavengers_elsewhere(*problem);
    ASSERT_EQ(board.size(), 3u);
    const Judgement judgement(case_profile(), all_plugins(), *problem, kNoClock);
    const std::string answer = answer_of(judgement);
    const std::vector<std::string> found = parity::differences(want, Slice(answer));
    EXPECT_TRUE(found.empty()) << want["id"].text() << " differs:\n  "
                               << fmt::format("{}", fmt::join(found, "\n  "));
    ++agreed;
    if (!judgement.preemption() || judgement.preemption()->refused) return;
    ++preempted;
    Random chance[] = {Random(1), Random(1)};
    std::string told[2];
    for (const bool installed : {false, true}) {
      PreemptionQuestion question{judgement.profile(), judgement.decision().attempt->cycle,
                                  judgement.decision().diagnosis};
      question.nominated = &problem->nominated;
      question.now = kNoClock;
      question.random = &chance[installed];
      if (installed) question.scavengers = &board;
      told[installed] = text_of(find_candidates(question));
    }
    EXPECT_EQ(told[0], told[1]) << want["id"].text();
    EXPECT_EQ(chance[0].below(1'000'000), chance[1].below(1'000'000)) << want["id"].text();
  });
  std::cout << agreed << " cases of " << GetParam() << " agree, " << preempted
            << " of them by preemption\n";
  EXPECT_GT(agreed, 0);
  if (std::string_view(GetParam()) == "preempt") {
    EXPECT_GT(preempted, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, ParityBesideScavengers,
                         ::testing::Values("basic", "affinity", "spread", "volumes", "preempt",
                                           "mixed", "services", "large", "nominated", "storage"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace berth::scheduler
