// SPDX-License-Identifier: Apache-2.0
// Three candidates under lost replies, delays, freezes, kills and jumping clocks: never two
// leaders, neither by their own belief nor by the Lease's record, and never none for long.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/world.h"
#include "client/faulty_transport.h"
#include "client/leader_election.h"
#include "client/local_transport.h"
#include "fake_server.h"
#include "seeds.h"

namespace berth::faults {
namespace {

using client::LeaderElection;

class Candidate final : public Component {
 public:
  Candidate(Env& env, Executor& api, FakeServer& server, client::ElectorSettings settings,
            client::TransportFaults faults)
      : scope_(env.runtime.loop("main"), env.name),
        wire_(api, server, {}),
        transport_(scope_, wire_, faults, env.random.fork("faults")),
        identity_(named(env, settings)),
        election_(
            scope_, transport_, env.random.fork("election"),
            {.settings = settings, .ns = "kube-system", .name = "berth", .metrics = &env.metrics},
            {.on_started =
                 [this](Scope& term) {
                   EXPECT_FALSE(working_) << "the term before has not ended";
                   working_ = true;
                   term.on_close([this] { working_ = false; });
                 },
             .on_stopped = [this] { EXPECT_FALSE(working_); }}) {
    election_.start();
  }
  bool leads() const { return election_.leads(); }
  bool working() const { return working_; }
  const std::string& identity() const { return identity_; }
  client::FaultyTransport& transport() { return transport_; }
  Scope& scope() { return scope_; }

 private:
  static std::string named(Env& env, client::ElectorSettings& settings) {
    Random random = env.random.fork("identity");
    return settings.identity = client::unique_identity(env.name, random);
  }

  Scope scope_;
  client::LocalTransport wire_;
  client::FaultyTransport transport_;
  std::string identity_;
  LeaderElection election_;
  bool working_ = false;
};

class Election {
 public:
  Election(Seed seed, client::ElectorSettings settings, client::TransportFaults faults)
      : world(seed, Order::kShuffled), random(Random(seed).fork("test")) {
    for (int i = 0; i < 3; ++i)
      candidates.push_back(
          &world.spawn("c" + std::to_string(i), [this, settings, faults](Env& env) {
            return std::make_unique<Candidate>(env, api, server, settings, faults);
          }));
    server.on_commit = [this](kube::KindId, const kube::Object& lease) {
      const std::string holder = client::lease_record(lease).holder;
      for (Process* p : candidates) {
        if (!p->alive() || p->component() == nullptr) continue;
        const Candidate& candidate = p->get<Candidate>();
        EXPECT_FALSE(candidate.leads() && candidate.identity() != holder)
            << p->name() << " believes to lead when the record goes to " << holder;
      }
    };
  }
  // Passes time task by task, and looks after each.
  void pass(Duration d) {
    const Instant until = world.clock().now() + d;
    while (world.clock().now() < until && world.step() && !testing::Test::HasFailure()) check();
  }
  void check() {
    int leaders = 0;
    for (Process* p : candidates)
      if (p->alive() && p->get<Candidate>().leads()) ++leaders;
    EXPECT_LE(leaders, 1);
  }
  Process* leader() {
    for (Process* p : candidates)
      if (p->alive() && p->get<Candidate>().leads()) return p;
    return nullptr;
  }

  World world;
  Random random;
  Executor& api = world.loop("api");
  FakeServer server{api, Random(1)};
  std::vector<Process*> candidates;
};

TEST(ElectionProperty, NeverTwoLeadersUnderAnyFaults) {
  for (const Seed seed : seeds_to_try()) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Election e(seed, {},
               {.delay = 0.3,
                .lose_request = 0.1,
                .lose_reply = 0.15,
                .refuse = 0.1,
                .slow_reply = 0.3,
                .most_delay = 12s});
    int leaderless = 0;
    for (int round = 0; round < 300; ++round) {
      Process& victim = *e.candidates[e.random.below(3)];
      if (e.random.chance(0.03)) e.world.restart(victim);
      if (e.random.chance(0.05)) e.world.freeze(victim, 20s);
      if (e.random.chance(0.05)) victim.jump_wall(e.random.chance(0.5) ? 1h : -1h);
      if (victim.alive() && e.random.chance(0.05))
        victim.get<Candidate>().transport().set_away(e.random.chance(0.5));
      e.pass(Duration(static_cast<std::int64_t>(e.random.below(4'000'000'000))));
      if (e.leader() == nullptr) ++leaderless;
    }
    EXPECT_LT(leaderless, 300) << "nobody ever led";
    for (Process* p : e.candidates) {
      p->get<Candidate>().transport().set_away(false);
      p->get<Candidate>().transport().set({});
    }
    e.pass(2min);
    EXPECT_NE(e.leader(), nullptr);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(ElectionProperty, AKilledLeaderIsFollowedWithinLeaseAndRetry) {
  for (const Seed seed : seeds_to_try()) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const bool real = seed % 5 == 0;
    const client::ElectorSettings settings =
        real ? client::ElectorSettings{}
             : client::ElectorSettings{.lease = 3s, .renew_deadline = 2s, .retry = 500ms};
    Election e(seed, settings, {});
    e.pass(30s);
    for (int kill = 0; kill < 10; ++kill) {
      Process* old = e.leader();
      ASSERT_NE(old, nullptr);
      e.world.run_for(Duration(static_cast<std::int64_t>(e.random.below(5'000'000'000))));
      e.world.kill(*old);
      const Instant killed = e.world.clock().now();
      while (e.leader() == nullptr && e.world.clock().now() < killed + 1h) e.world.run_for(10ms);
      EXPECT_LE(e.world.clock().now() - killed, settings.lease + settings.retry);
      e.world.restart(*old);
      e.pass(settings.lease);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(ElectionProperty, AClosedLeaderHandsOverWithinOneRetryAndEndsItsTermFirst) {
  for (const Seed seed : seeds_to_try()) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Election e(seed, {}, {});
    e.pass(30s);
    Process* old = e.leader();
    ASSERT_NE(old, nullptr);
    EXPECT_TRUE(old->get<Candidate>().working());
    bool closed = false;
    old->get<Candidate>().scope().close(5s, [&] { closed = true; });
    const Instant asked = e.world.clock().now();
    e.world.run_for(1ms);
    EXPECT_TRUE(closed);
    EXPECT_FALSE(old->get<Candidate>().working());
    e.check();
    const kube::Key key{"kube-system", "berth"};
    EXPECT_NE(client::lease_record(e.server.all(kube::kLease).at(key)).holder,
              old->get<Candidate>().identity());
    while (e.leader() == nullptr && e.world.clock().now() < asked + 1h) e.world.run_for(10ms);
    EXPECT_LE(e.world.clock().now() - asked, Duration(2s));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(ElectionProperty, WritesTheRecordAsClientGoDoes) {
  Election e(1, {}, {});
  e.pass(30s);
  const kube::Object lease = e.server.all(kube::kLease).at({"kube-system", "berth"});
  const client::LeaseRecord record = client::lease_record(lease);
  EXPECT_EQ(record.holder, e.leader()->get<Candidate>().identity());
  EXPECT_EQ(record.lease_seconds, 15);
  EXPECT_EQ(record.transitions, 0);
  EXPECT_GT(record.renewed - record.acquired, Duration(20s));
  for (Process* p : e.candidates)
    EXPECT_NE(p->env().metrics.exposition().find(fmt::format(
                  "leader_election_master_status{{name=\"berth\"}} {}\n", p == e.leader() ? 1 : 0)),
              std::string::npos)
        << p->env().metrics.exposition();
}

}  // namespace
}  // namespace berth::faults
