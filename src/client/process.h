// SPDX-License-Identifier: Apache-2.0
// Runs a program and waits for it. Blocking: for a loop of its own.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::client {

struct Command {
  std::vector<std::string> argv;  // argv[0] is the path of the program
  std::vector<std::string> env;   // NAME=value, on top of our own environment
  bool use_terminal = false;      // gets our stdin and stderr; otherwise neither
  std::size_t most_output = std::size_t{1} << 20;
  std::size_t most_complaint = 2 << 10;  // of stderr; the rest is read and dropped
  Duration limit = 60s;
};

struct CommandOutput {
  int exit_code = 0;  // 128 + signal where one ended it
  std::string out, err;
};

// The program is killed when it takes too long, writes too much, or `stop` turns true.
Result<CommandOutput> run_command(const Command&, const Clock&, const std::atomic<bool>& stop);

}  // namespace berth::client
