// SPDX-License-Identifier: Apache-2.0
// The places a program has. Everything else is written against Executor.
#pragma once

#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/random.h"

namespace berth {

class Faults;
class Logger;
class Metrics;

class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual Executor& loop(std::string_view role) = 0;  // "api", "scheduler", "controllers", "io0",
                                                      // "disk"; made on first use
  virtual void offload(Executor& back, Task work,
                       Task then) = 0;  // pure CPU work: gzip, a big parse, a solver
};

// What a component is given; `runtime` is its own view: its lanes, its clock.
struct Env {
  Runtime& runtime;
  Random random;
  Logger& log;
  Metrics& metrics;
  Faults& faults;
  std::string name;
};

}  // namespace berth
