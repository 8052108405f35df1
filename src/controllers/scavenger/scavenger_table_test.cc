// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/scavenger_table.h"

#include <set>

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

TEST(ScavengerTable, EveryCaseHasARowOrAReasonWhyNot) {
  for (int s = 0; s < kScavengerStates; ++s)
    for (int i = 0; i < kScavengerInputs; ++i) {
      const auto state = static_cast<ScavengerState>(s);
      const auto input = static_cast<ScavengerInput>(i);
      EXPECT_EQ(scavenger_row(state, input) == nullptr, !why_impossible(state, input).empty())
          << name_of(state) << ", " << name_of(input);
    }
}

TEST(ScavengerTable, NoCaseHasTwoRows) {
  std::set<std::pair<ScavengerState, ScavengerInput>> seen;
  for (const ScavengerRow& row : scavenger_rows())
    EXPECT_TRUE(seen.insert({row.state, row.input}).second)
        << name_of(row.state) << ", " << name_of(row.input);
}

std::set<ScavengerState> reached_from(ScavengerState from) {
  std::set<ScavengerState> seen = {from};
  for (std::size_t before = 0; before != seen.size();) {
    before = seen.size();
    for (const ScavengerRow& row : scavenger_rows())
      if (seen.count(row.state) > 0) seen.insert(row.next);
  }
  return seen;
}

TEST(ScavengerTable, EveryStateIsReachedAndWhatIsOverStaysOver) {
  EXPECT_EQ(reached_from(ScavengerState::kNew).size(), static_cast<std::size_t>(kScavengerStates));
  for (const auto end : {ScavengerState::kCompleted, ScavengerState::kFailed})
    EXPECT_EQ(reached_from(end).size(), 1U) << name_of(end);
  for (int s = 0; s < kScavengerStates; ++s) {
    const auto state = static_cast<ScavengerState>(s);
    if (state == ScavengerState::kFailed) continue;
    EXPECT_EQ(reached_from(state).count(ScavengerState::kCompleted), 1U) << name_of(state);
  }
}

TEST(ScavengerTable, AnAttemptIsClosedOnceAndNextWaitsUntilNothingIsLeft) {
  for (const ScavengerRow& row : scavenger_rows()) {
    if (row.action == ScavengerAction::kClose) {
      EXPECT_TRUE(row.state == ScavengerState::kStarting || row.state == ScavengerState::kRunning ||
                  row.state == ScavengerState::kReclaiming);
      EXPECT_TRUE(row.next == ScavengerState::kClosing || row.next == ScavengerState::kCompleted ||
                  row.next == ScavengerState::kFailed);
    }
    if (row.next == ScavengerState::kWaiting && row.state != ScavengerState::kWaiting) {
      EXPECT_EQ(row.input, ScavengerInput::kReady) << name_of(row.state);
      EXPECT_EQ(row.action, ScavengerAction::kEnqueue) << name_of(row.state);
    }
  }
}

TEST(ScavengerTable, ADeletedJobOnlyLetsGo) {
  for (int s = 0; s < kScavengerStates; ++s) {
    const ScavengerRow* row =
        scavenger_row(static_cast<ScavengerState>(s), ScavengerInput::kDeleted);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->action, ScavengerAction::kRelease);
    EXPECT_EQ(row->next, row->state);
  }
}

}  // namespace
}  // namespace berth::controllers
