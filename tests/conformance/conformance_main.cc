// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iostream>

#include <gtest/gtest.h>

#include "player.h"
#include "target.h"

namespace {

// Leaves out what the embedded server is known not to pass, and says so.
void leave_out_differences() {
  std::ifstream file(BERTH_SOURCE_DIR "/tests/conformance/differences.txt");
  std::string line, filter = ::testing::GTEST_FLAG(filter);
  while (std::getline(file, line)) {
    if (line.empty() || line.starts_with('#')) continue;
    std::cout << "[ LEFT OUT ] " << line << "\n";
    const std::string name = line.substr(0, line.find(' '));
    filter += (filter.find('-') == std::string::npos ? "-" : ":") + name;
  }
  ::testing::GTEST_FLAG(filter) = filter;
}

}  // namespace

int main(int argc, char** argv) {
  if (!berth::conformance::register_cases()) return 1;
  ::testing::InitGoogleTest(&argc, argv);
  if (berth::conformance::Target::embedded() && !::testing::GTEST_FLAG(list_tests))
    leave_out_differences();
  const int failed = RUN_ALL_TESTS();
  berth::conformance::write_records();
  if (!::testing::GTEST_FLAG(list_tests)) berth::conformance::Target::stop_shared();
  return failed;
}
