// SPDX-License-Identifier: Apache-2.0
// A stand-in for a test that gets killed: starts a program under a Child, tells its pid, and hangs.
#include <cstdio>

#include <unistd.h>

#include "child.h"

int main(int, char** argv) {
  auto child = berth::e2e::Child::start(
      {.program = "/bin/sleep", .args = {"1000"}, .env = {}, .log = argv[1]});
  if (!child) return 1;
  std::printf("pid %d\n", (*child)->pid());
  std::fflush(stdout);
  for (;;) ::pause();
}
