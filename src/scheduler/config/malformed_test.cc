// SPDX-License-Identifier: Apache-2.0
// What is wrong with a configuration is told with its place and what to do.
#include <sstream>

#include <gtest/gtest.h>

#include "scheduler/config/config.h"
#include "scheduler/config/malformed_rows_for_test.h"
#include "scheduler/config/test_registry.h"

namespace berth::scheduler {
namespace {

TEST(MalformedConfig, IsRefusedWithPlaceProblemAndRemedy) {
  std::ostringstream all;  // what the file should be, to look at where it differs
  bool same = true;
  const std::vector<MalformedRow> rows = malformed_rows();
  for (const MalformedRow& row : rows) {
    const Result<SchedulerConfig> config = read_config(row.config, kTestRegistry, "f.yaml");
    ASSERT_FALSE(config) << row.name;
    const Error& error = config.error();
    std::string said;
    for (const Cause& cause : error.causes) said += cause.message + "\n";
    if (said.empty()) said = error.message + "\n";
    EXPECT_EQ(said, row.says) << row.name;
    EXPECT_EQ(error.reason, Reason::kInvalid) << row.name;
    EXPECT_TRUE(error.message.starts_with(said.substr(0, said.find('\n')))) << error.message;
    same = same && said == row.says;
    all << "### " << row.name << "\n" << row.config << ">>>\n" << said;
  }
  EXPECT_TRUE(same) << all.str();
  EXPECT_GE(rows.size(), 60u);
}

}  // namespace
}  // namespace berth::scheduler
