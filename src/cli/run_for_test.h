// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"

namespace berth::cli {

struct Ran {
  int code;
  std::string out, err;
};

// What a person would see of `berth ARGUMENTS`.
inline Ran berth(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  Context context{.out = out, .err = err};
  const int code = run(arguments, context);
  return {code, out.str(), err.str()};
}

}  // namespace berth::cli
