// SPDX-License-Identifier: Apache-2.0
// testdata/malformed.golden: configurations that are refused, and every line that is said about
// them. "### name", the file, ">>>", the lines.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "scheduler/config/config.h"
#include "scheduler/config/test_registry.h"

namespace berth::scheduler {
namespace {

struct Row {
  std::string name, config, want;
};

std::vector<Row> rows() {
  std::ifstream in("src/scheduler/config/testdata/malformed.golden");
  std::vector<Row> out;
  bool answer = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("### ")) {
      out.push_back({.name = line.substr(4), .config = {}, .want = {}});
      answer = false;
    } else if (line == ">>>") {
      answer = true;
    } else {
      (answer ? out.back().want : out.back().config) += line + "\n";
    }
  }
  return out;
}

TEST(MalformedConfig, IsRefusedWithPlaceProblemAndRemedy) {
  std::ostringstream all;  // what the file should be, to look at where it differs
  bool same = true;
  for (const Row& row : rows()) {
    const Result<SchedulerConfig> config = read_config(row.config, kTestRegistry, "f.yaml");
    ASSERT_FALSE(config) << row.name;
    const Error& error = config.error();
    std::string said;
    for (const Cause& cause : error.causes) said += cause.message + "\n";
    if (said.empty()) said = error.message + "\n";
    EXPECT_EQ(said, row.want) << row.name;
    EXPECT_EQ(error.reason, Reason::kInvalid) << row.name;
    EXPECT_TRUE(error.message.starts_with(said.substr(0, said.find('\n')))) << error.message;
    same = same && said == row.want;
    all << "### " << row.name << "\n" << row.config << ">>>\n" << said;
  }
  EXPECT_TRUE(same) << all.str();
  EXPECT_GE(rows().size(), 60u);
}

}  // namespace
}  // namespace berth::scheduler
