// SPDX-License-Identifier: Apache-2.0
// One elector in a process of its own:
//   e2e_elector KUBECONFIG IDENTITY LEASE_MS RENEW_MS RETRY_MS
// prints what it becomes. SIGTERM makes it release the lease and end.
#include <cstdio>
#include <future>
#include <string>

#include "client/leader_election.h"
#include "session.h"

int main(int argc, char** argv) {
  using namespace berth;
  if (argc != 6) return 2;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  auto session = e2e::Session::open(std::filesystem::path(argv[1]));
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().message.c_str());
    return 1;
  }
  const auto milliseconds = [&](int arg) {
    return std::chrono::milliseconds(std::stoll(argv[arg]));
  };
  client::LeaderElectionOptions options{.settings = {.identity = argv[2],
                                                     .lease = milliseconds(3),
                                                     .renew_deadline = milliseconds(4),
                                                     .retry = milliseconds(5)},
                                        .ns = "default",
                                        .name = "election"};
  if (auto good = check(options.settings); !good) {
    std::fprintf(stderr, "%s\n", good.error().message.c_str());
    return 2;
  }
  e2e::TestLoop& loop = (*session)->loop();
  std::unique_ptr<client::LeaderElection> election;
  std::promise<void> over;
  loop.run([&] {
    Scope& scope = loop.scope().child("election");
    election = std::make_unique<client::LeaderElection>(
        scope, (*session)->transport(), Random::from_entropy(), std::move(options),
        client::LeaderCallbacks{
            .on_started = [](Scope&) { std::puts("leading"); },
            .on_stopped = [] { std::puts("stopped"); },
            .on_new_leader =
                [](const std::string& who) { std::printf("leader %s\n", who.c_str()); }});
    election->start();
    loop.runtime().on_interrupt(loop.executor(),
                                [&] { scope.close(10s, [&] { over.set_value(); }); });
  });
  over.get_future().wait();
  loop.run([&] { election.reset(); });
}
