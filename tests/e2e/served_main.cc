// SPDX-License-Identifier: Apache-2.0
// Serves until it is told to stop, for whoever wants to try a client by hand: prints its URL.
#include <csignal>
#include <cstdio>

#include "served.h"

int main() {
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTERM);
  sigaddset(&stops, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);  // before there are threads, so that none takes them
  berth::e2e::Served served;
  std::printf("%s\n", served.url().c_str());
  std::fflush(stdout);
  int number = 0;
  sigwait(&stops, &number);
}
