// SPDX-License-Identifier: Apache-2.0
// What another process has cost so far, as the kernel counts it.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace berth::bench {

double cpu_seconds(pid_t);  // user and system, all threads, those that ended included
double peak_mb(pid_t);      // resident

struct ThreadCost {
  std::string name;
  double cpu_seconds = 0;
};
// Of the threads that run, by name; threads of one name are added up.
std::vector<ThreadCost> cpu_by_thread(pid_t);

}  // namespace berth::bench
