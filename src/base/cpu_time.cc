// SPDX-License-Identifier: Apache-2.0
// Apart from trace.cc, because real time may be read in few files only.
#include <time.h>

#include "base/trace.h"

namespace berth {

Duration thread_cpu_time() {
  timespec spent{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec);
}

}  // namespace berth
