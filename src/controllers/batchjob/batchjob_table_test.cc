// SPDX-License-Identifier: Apache-2.0
#include "controllers/batchjob/batchjob_table.h"

#include <set>

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

TEST(BatchJobTable, EveryCaseHasARowOrAReasonWhyNot) {
  for (int s = 0; s < kJobStates; ++s)
    for (int i = 0; i < kJobInputs; ++i) {
      const auto state = static_cast<JobState>(s);
      const auto input = static_cast<JobInput>(i);
      EXPECT_EQ(job_row(state, input) == nullptr, !why_impossible(state, input).empty())
          << name_of(state) << ", " << name_of(input);
    }
}

TEST(BatchJobTable, NoCaseHasTwoRows) {
  std::set<std::pair<JobState, JobInput>> seen;
  for (const JobRow& row : job_rows())
    EXPECT_TRUE(seen.insert({row.state, row.input}).second)
        << name_of(row.state) << ", " << name_of(row.input);
}

TEST(BatchJobTable, ARunIsClosedOnceAndOnlyWhenNothingOfItIsLeft) {
  for (const JobRow& row : job_rows()) {
    if (row.action != JobAction::kCloseRun) continue;
    EXPECT_EQ(row.input, JobInput::kGone);
    const JobRow* after = job_row(row.next, JobInput::kGone);
    EXPECT_EQ(after, nullptr) << name_of(row.next) << " closes it again";
  }
}

TEST(BatchJobTable, EveryStateIsReachedAndLeadsBackToReady) {
  const auto reach = [](JobState from) {
    std::set<JobState> seen = {from};
    for (std::size_t before = 0; before != seen.size();) {
      before = seen.size();
      for (const JobRow& row : job_rows())
        if (seen.count(row.state) > 0) seen.insert(row.next);
    }
    return seen;
  };
  EXPECT_EQ(reach(JobState::kReady).size(), static_cast<std::size_t>(kJobStates));
  for (int s = 0; s < kJobStates; ++s)
    EXPECT_EQ(reach(static_cast<JobState>(s)).count(JobState::kReady), 1U)
        << name_of(static_cast<JobState>(s));
}

TEST(BatchJobTable, NamesAreReadBack) {
  for (int s = 0; s < kJobStates; ++s)
    EXPECT_EQ(job_state(name_of(static_cast<JobState>(s))), static_cast<JobState>(s));
  EXPECT_EQ(job_state("Sleeping"), std::nullopt);
}

}  // namespace
}  // namespace berth::controllers
