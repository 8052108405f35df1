// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <iostream>

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error of that write, not our end
  berth::cli::Context context{.out = std::cout,
                              .err = std::cerr,
                              .terminal = isatty(STDOUT_FILENO) != 0,
                              .err_terminal = isatty(STDERR_FILENO) != 0};
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    context.columns = size.ws_col;
  const int code = berth::cli::run({argv + 1, argv + argc}, context);
  std::cout.flush();
  return code == 0 && !std::cout ? berth::cli::kExitFailed : code;
}
