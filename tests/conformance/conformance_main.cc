// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "player.h"
#include "target.h"

int main(int argc, char** argv) {
  if (!berth::conformance::register_cases()) return 1;
  ::testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  berth::conformance::write_records();
  if (!::testing::GTEST_FLAG(list_tests)) berth::conformance::Target::stop_shared();
  return failed;
}
