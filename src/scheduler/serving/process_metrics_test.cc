// SPDX-License-Identifier: Apache-2.0
#include "scheduler/serving/process_metrics.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

double sample(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("\n" + name + " ");
  return at == text.npos ? -1 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
}

TEST(ProcessMetrics, AreOfARunningProcess) {
  const std::string text = process_metrics();
  EXPECT_GE(sample(text, "process_cpu_seconds_total"), 0) << text;
  EXPECT_GT(sample(text, "process_resident_memory_bytes"), 1 << 20) << text;
  EXPECT_GT(sample(text, "process_virtual_memory_bytes"),
            sample(text, "process_resident_memory_bytes"));
  EXPECT_GT(sample(text, "process_start_time_seconds"), 1.6e9) << text;
  EXPECT_GE(sample(text, "process_open_fds"), 3) << text;
  EXPECT_GE(sample(text, "process_max_fds"), sample(text, "process_open_fds"));
}

}  // namespace
}  // namespace berth::scheduler
