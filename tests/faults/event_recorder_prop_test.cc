// SPDX-License-Identifier: Apache-2.0
// Whatever replies are lost, late or refused: once all is written, the server's counts add up to
// what was told, and nothing was created twice.
#include <gtest/gtest.h>

#include "base/world.h"
#include "client/event_recorder.h"
#include "client/faulty_transport.h"
#include "client/local_transport.h"
#include "fake_server.h"
#include "seeds.h"

namespace berth::faults {
namespace {

void run(Seed seed) {
  World world(seed, Order::kShuffled);
  Random random = Random(seed).fork("test");
  FakeServer server(world.loop("api"), random.fork("server"));
  client::LocalTransport wire(world.loop("api"), server, {});
  Scope root(world.loop("client"), "test");
  client::FaultyTransport transport(
      root, wire,
      {.delay = 0.2, .lose_request = 0.1, .lose_reply = 0.2, .refuse = 0.1, .slow_reply = 0.2},
      random.fork("faults"));
  client::Api api(root, transport, random.fork("api"));
  client::EventRecorderOptions options;
  options.burst = 1e9;
  options.attempts = 1000;
  client::EventRecorder recorder(root, api, random.fork("recorder"), options);

  std::int64_t told = 0;
  for (int i = 0; i < 300; ++i) {
    for (std::uint64_t n = random.below(4); n > 0; --n, ++told)
      recorder.event(client::ObjectRef{"v1", "Pod", "a", "p" + std::to_string(random.below(5)), "u",
                                       std::to_string(i)},
                     {client::EventType::kNormal, "Pulled", "Pulling",
                      "image " + std::to_string(random.below(3))});
    if (random.chance(0.03)) transport.set_away(true);
    if (random.chance(0.2)) transport.set_away(false);
    world.run_for(Duration(static_cast<std::int64_t>(random.below(2'000'000'000))));
  }
  transport.set_away(false);
  transport.set({});
  world.run_for(30min);

  std::int64_t counted = 0;
  for (const auto& [key, event] : server.all(kube::kEvent))
    counted += event.member("series")["count"].integer().value_or(1);
  EXPECT_EQ(recorder.stats().dropped, 0u);
  EXPECT_EQ(recorder.pending(), 0u);
  EXPECT_EQ(counted, told);
  EXPECT_EQ(server.all(kube::kEvent).size(), 15u) << "five pods, three notes";
  bool closed = false;
  root.close({}, [&] { closed = true; });
  world.run_for(1s);
  EXPECT_TRUE(closed);
}

TEST(EventRecorderProperty, CountsAddUpUnderAnyFaults) {
  for (const Seed seed : seeds_to_try()) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(seed);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace berth::faults
