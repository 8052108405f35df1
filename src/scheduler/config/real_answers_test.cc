// SPDX-License-Identifier: Apache-2.0
// Configurations, most of them random, and what kube-scheduler 1.36.4's own code made of each: the
// order per extension point with weights, whether it refused, and what /configz showed.
#include <fstream>

#include <gtest/gtest.h>

#include "json/slice.h"
#include "json/value.h"
#include "json/writer.h"
#include "scheduler/config/config.h"
#include "scheduler/config/test_registry.h"

namespace berth::scheduler {
namespace {

using json::Slice;

std::vector<std::string> cases() {
  std::ifstream in("src/scheduler/config/testdata/real_answers.jsonl");
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string order_of(const ProfileSpec& spec, int point) {
  std::string out;
  for (const ProfileSpec::Entry& entry : spec.points[static_cast<std::size_t>(point)]) {
    if (!out.empty()) out += ' ';
    out += kTestRegistry[static_cast<std::size_t>(entry.plugin)].name;
    if (static_cast<Point>(point) == Point::kScore) out += fmt::format("={}", entry.weight);
  }
  return out;
}

TEST(RealAnswers, OrdersWeightsAndRefusalsAreThoseOfKubeScheduler) {
  std::size_t refused = 0, accepted = 0;
  for (const std::string& line : cases()) {
    const Slice one(line);
    const std::string text = one["config"].text();
    SCOPED_TRACE(one["name"].text() + ": " + text);
    const Result<SchedulerConfig> config = read_config(text, kTestRegistry, "f");
    if (one["error"]) {
      ++refused;
      EXPECT_FALSE(config) << "refused there: " << one["error"].text();
      continue;
    }
    ++accepted;
    ASSERT_TRUE(config) << config.error().message;
    ASSERT_EQ(config->profiles.size(), one["profiles"].size());
    for (std::size_t i = 0; i < config->profiles.size(); ++i) {
      const Slice wanted = one["profiles"][i];
      const ProfileSpec& spec = config->profiles[i].spec;
      EXPECT_EQ(spec.scheduler_name, wanted["name"].text());
      for (int point = 0; point < kPoints; ++point)
        EXPECT_EQ(order_of(spec, point), wanted[plugin_list_name(point)].text())
            << plugin_list_name(point);
    }
  }
  EXPECT_GE(accepted, 60u);
  EXPECT_GE(refused, 15u);
}

TEST(RealAnswers, ConfigzShowsWhatKubeSchedulerShows) {
  std::size_t compared = 0;
  for (const std::string& line : cases()) {
    const Slice one(line);
    if (!one["configz"]) continue;
    ++compared;
    SCOPED_TRACE(one["name"].text());
    const Result<SchedulerConfig> config = read_config(one["config"].text(), kTestRegistry, "f");
    ASSERT_TRUE(config) << config.error().message;
    const std::string shown = write_config(*config);
    json::Arena arena;
    const Result<json::Value> ours = json::parse(shown, arena);
    const Result<json::Value> theirs = json::parse(one["configz"].raw(), arena);
    ASSERT_TRUE(ours && theirs);
    EXPECT_TRUE(json::equal(*ours, *theirs)) << shown << "\n" << one["configz"].raw();
    // What is shown can be read again and comes to the same.
    const Result<SchedulerConfig> again = read_config(shown, kTestRegistry, "configz");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(write_config(*again), shown);
  }
  EXPECT_GE(compared, 10u);
}

}  // namespace
}  // namespace berth::scheduler
