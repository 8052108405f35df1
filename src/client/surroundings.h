// SPDX-License-Identifier: Apache-2.0
// What a client's configuration is read from. Injected, so that tests and fuzzing need no disk.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace berth::client {

// A value of thread-safe functions.
struct Surroundings {
  // The whole file. NotFound: there is none; any other error says why it cannot be read.
  std::function<Result<std::string>(const std::string& path)> read_file;
  std::function<std::string(const char* name)> env;  // "" where it is not set
  // Where a command is, searched in PATH unless it has a slash.
  std::function<std::optional<std::string>(const std::string& command)> find_program;
  std::string directory = "/";  // the current one

  static Surroundings real();
};

}  // namespace berth::client
