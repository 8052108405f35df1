// SPDX-License-Identifier: Apache-2.0
#include "controllers/scheduling/scheduling_table.h"

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

constexpr int kStates = 5, kInputs = 13;

TEST(SchedulingTable, EveryPairHasARowOrIsNamedImpossible) {
  for (int s = 0; s < kStates; ++s) {
    for (int i = 0; i < kInputs; ++i) {
      int rows = 0;
      for (const SchedulingRow& row : scheduling_rows())
        rows += static_cast<int>(row.state) == s && static_cast<int>(row.input) == i ? 1 : 0;
      for (const ImpossibleRow& row : impossible_rows()) {
        if (static_cast<int>(row.state) != s || static_cast<int>(row.input) != i) continue;
        EXPECT_FALSE(row.why.empty());
        ++rows;
      }
      EXPECT_EQ(rows, 1) << name_of(static_cast<SchedulingState>(s)) << " input " << i;
    }
  }
  EXPECT_EQ(scheduling_rows().size() + impossible_rows().size(),
            static_cast<std::size_t>(kStates * kInputs));
}

TEST(SchedulingTable, NothingLeadsOutOfReleasingAndEverythingIntoIt) {
  for (const SchedulingRow& row : scheduling_rows()) {
    if (row.state == SchedulingState::kReleasing) {
      EXPECT_EQ(row.next, SchedulingState::kReleasing);
    }
    if (row.input == SchedulingInput::kDeleted) {
      EXPECT_EQ(row.next, SchedulingState::kReleasing);
    }
  }
}

TEST(SchedulingTable, StatesAreReadAsTheyAreWritten) {
  for (int s = 0; s < kStates; ++s)
    EXPECT_EQ(scheduling_state(name_of(static_cast<SchedulingState>(s))),
              static_cast<SchedulingState>(s));
  EXPECT_EQ(scheduling_state("Confirmation"), SchedulingState::kSubmitting);
  EXPECT_EQ(scheduling_state(""), SchedulingState::kAcquire);
}

}  // namespace
}  // namespace berth::controllers
