// SPDX-License-Identifier: Apache-2.0
// The ordinary work of a cluster: when each pod came, how long it ran, and what it asked for. Read
// from a file, or made up by chance.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::simulate {

struct TracePod {
  std::string name;
  Duration arrives{};  // since the beginning of the trace
  Duration runs{};
  std::int64_t cpu_milli = 0, memory_mib = 0;

  friend bool operator==(const TracePod&, const TracePod&) = default;
};
struct Trace {
  std::vector<TracePod> pods;  // by arrival, then as they stand in the file
  std::size_t left_out = 0;    // rows of pods that never ran, or did not fit
};

// CSV whose first line names the columns, in the words of Alibaba's cluster-trace-gpu-v2023: name,
// cpu_milli, memory_mib, creation_time, deletion_time and scheduled_time (seconds; the last may be
// absent, and empty for pods that never ran). Other columns say nothing here. Errors name the line.
Result<Trace> read_trace(std::string_view csv, std::string_view file_name);

// What happens in [from, from + length): pods that run already arrive at its beginning, for the
// rest of their time.
Trace cut(const Trace&, Duration from, Duration length);

// Without the pods that no node can hold.
Trace fitting(Trace, std::int64_t node_cpu_milli, std::int64_t node_memory_mib);

// Office hours on a cluster of that size: the load follows the time of day, from a quarter of its
// cores at night to three quarters in the afternoon, in pods of minutes and hours.
Trace made_up_trace(Random, std::int64_t cluster_cpu_milli, Duration length);

}  // namespace berth::simulate
