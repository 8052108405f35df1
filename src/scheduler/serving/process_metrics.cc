// SPDX-License-Identifier: Apache-2.0
#include "scheduler/serving/process_metrics.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

namespace berth::scheduler {
namespace {

void add(std::string& out, std::string_view name, std::string_view type, std::string_view help,
         double value) {
  out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3:.17g}\n", name, help, type, value);
}

// /proc/self/stat from its third field on: the second may hold anything.
std::vector<double> stat_fields() {
  std::ifstream file("/proc/self/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t end = text.rfind(')');
  if (end == text.npos) return {};
  std::istringstream rest(text.substr(end + 1));
  std::string state;
  rest >> state;
  return {std::istream_iterator<double>(rest), {}};
}

double boot_seconds() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;)
    if (double seconds = 0; word == "btime" && file >> seconds) return seconds;
  return 0;
}

}  // namespace

std::string process_metrics() {
  std::string out;
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  // The fourth field of the file is the first here.
  const std::vector<double> fields = stat_fields();
  const auto field = [&](std::size_t number) { return fields[number - 4]; };
  if (fields.size() >= 21) {
    add(out, "process_cpu_seconds_total", "counter", "CPU time used, in seconds",
        (field(14) + field(15)) / ticks);
    add(out, "process_resident_memory_bytes", "gauge", "Memory in use, in bytes",
        field(24) * static_cast<double>(sysconf(_SC_PAGESIZE)));
    if (const double boot = boot_seconds(); boot > 0)
      add(out, "process_start_time_seconds", "gauge", "Start of the process since 1970, in seconds",
          boot + field(22) / ticks);
    add(out, "process_virtual_memory_bytes", "gauge", "Address space, in bytes", field(23));
  }
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  if (!error)
    add(out, "process_open_fds", "gauge", "Open file descriptors",
        static_cast<double>(std::distance(open, {})));
  struct rlimit files {};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0)
    add(out, "process_max_fds", "gauge", "Most file descriptors that may be open",
        static_cast<double>(files.rlim_cur));
  return out;
}

}  // namespace berth::scheduler
