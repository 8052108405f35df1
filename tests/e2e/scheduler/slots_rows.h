// SPDX-License-Identifier: Apache-2.0
// What the rows of the external-scheduler interface share on a real API server: one stage a door,
// and a clean one for each test.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "real.h"
#include "slots_stage.h"

namespace berth::e2e {

inline constexpr const char* kAllFree = "FREE FREE FREE FREE FREE FREE";
inline constexpr std::string_view kShared = R"(,"sharing":"Shared")";

class RealSlots : public testing::TestWithParam<SlotsDoor> {
 protected:
  static void TearDownTestSuite() {
    stage_.reset();
    cluster_.reset();
    why_not_.clear();
  }
  void SetUp() override {
    if (!cluster_ && why_not_.empty()) begin();
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
    ASSERT_TRUE(cluster_);
  }
  void TearDown() override {
    if (stage_) stage_->clear();
  }
  SlotsStage& stage() { return *stage_; }
  void hold(std::string_view more = "") {
    stage().testbed(more);
    stage().until("the slots are held", [&] { return stage().slot_states() == kAllFree; });
  }
  // All that the ghosts leave is taken.
  void fill() {
    for (int i = 0; i < 3; ++i)
      stage().pod(fmt::format("fill-{}", i), "2500m", fmt::format(R"(,"nodeName":"node-{}")", i));
  }
  void until_state(const std::string& scheduling, const std::string& state) {
    stage().until(scheduling + " is " + state, [&] { return stage().state(scheduling) == state; });
  }
  void until_running(const std::string& grants) {
    stage().until("granted: " + grants, [&] { return stage().running() == grants; });
  }
  // What the other door said in the same test.
  void same_by_both_doors(const std::multiset<std::string>& placed) {
    static std::map<std::string, std::multiset<std::string>> seen;
    // "Name/Door"
    std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    test.resize(test.find('/'));
    const auto [at, first] = seen.emplace(test, placed);
    EXPECT_EQ(at->second, placed) << test;
  }

 private:
  void begin() {
    const Subject subject = GetParam() == SlotsDoor::kPlugin ? Subject::kBerth : Subject::kStock;
    if (const auto there = program_of(subject); !there) {
      why_not_ = there.error().message;
      return;
    }
    auto cluster = Cluster::start(slots_cluster(
        {"job-controller", "garbage-collector-controller", "resourcequota-controller"}));
    if (!cluster && cluster.error().reason == Reason::kNotFound) why_not_ = cluster.error().message;
    if (!why_not_.empty()) return;
    ASSERT_TRUE(cluster) << cluster.error().message;
    cluster_ = *std::move(cluster);
    stage_ = std::make_unique<SlotsStage>(*cluster_, GetParam());
  }

  static inline std::unique_ptr<Cluster> cluster_;
  static inline std::unique_ptr<SlotsStage> stage_;
  static inline std::string why_not_;
};

}  // namespace berth::e2e
