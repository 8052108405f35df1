// SPDX-License-Identifier: Apache-2.0
// What little of a container's command line a simulation can carry out: sleeping, printing and
// ending, alone or in a shell script of such steps.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "json/slice.h"

namespace berth::lab {

struct Performance {
  std::optional<Duration> lasts = Duration{};  // nothing: forever
  int exit_code = 0;
  std::string output = {};  // what it prints, line by line
};

// Nothing where the command is not understood to its end, or there is none.
std::optional<Performance> perform(json::Slice container);

}  // namespace berth::lab
