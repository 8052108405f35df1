// SPDX-License-Identifier: Apache-2.0
#include "process_cost.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

namespace berth::bench {
namespace {

// utime and stime of a stat file of /proc, and the name in its parentheses.
ThreadCost read_stat(const std::filesystem::path& file) {
  std::ifstream stat(file);
  std::string line;
  std::getline(stat, line);
  const auto open = line.find('('), close = line.rfind(')');
  if (close == std::string::npos) return {};  // it has just ended
  std::istringstream fields(line.substr(close + 2));
  std::string field;
  long long ticks = 0;
  for (int i = 3; fields >> field && i <= 15; ++i)
    if (i >= 14) ticks += std::atoll(field.c_str());
  return {line.substr(open + 1, close - open - 1),
          static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK))};
}

}  // namespace

double cpu_seconds(pid_t pid) { return read_stat(fmt::format("/proc/{}/stat", pid)).cpu_seconds; }

double peak_mb(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  std::string line;
  while (std::getline(status, line))
    if (line.rfind("VmHWM:", 0) == 0) return std::atof(line.c_str() + 6) / 1024;
  return 0;
}

std::vector<ThreadCost> cpu_by_thread(pid_t pid) {
  std::map<std::string, double> by_name;
  std::error_code gone;
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone)) {
    const ThreadCost cost = read_stat(thread.path() / "stat");
    if (!cost.name.empty()) by_name[cost.name] += cost.cpu_seconds;
  }
  std::vector<ThreadCost> costs;
  for (const auto& [name, seconds] : by_name) costs.push_back({name, seconds});
  return costs;
}

}  // namespace berth::bench
