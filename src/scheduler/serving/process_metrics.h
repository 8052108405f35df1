// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace berth::scheduler {

// What this process costs (process_*: CPU, memory, open files, start), in Prometheus' text format
// and under the names of its client libraries. Linux only; what cannot be read is left out.
std::string process_metrics();

}  // namespace berth::scheduler
