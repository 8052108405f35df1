// SPDX-License-Identifier: Apache-2.0
// Checks name the row of the specification's list that they stand for; no row may be without.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace berth::conformance {
namespace {

TEST(Coverage, EveryRowHasChecks) {
  const auto& unit = *::testing::UnitTest::GetInstance();
  EXPECT_GE(unit.total_test_count(), 200);
  const auto expect = [&](char letter, int from, int to) {
    for (int row = from; row <= to; ++row) {
      const std::string prefix = fmt::format("{}{:02}_", letter, row);
      int checks = 0;
      for (int i = 0; i < unit.total_test_suite_count(); ++i)
        if (std::string_view(unit.GetTestSuite(i)->name()).starts_with(prefix))
          checks += unit.GetTestSuite(i)->total_test_count();
      EXPECT_GT(checks, 0) << prefix;
    }
  };
  expect('M', 1, 20);
  expect('S', 4, 12);
}

}  // namespace
}  // namespace berth::conformance
