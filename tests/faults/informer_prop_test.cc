// SPDX-License-Identifier: Apache-2.0
// Informers over a server and a network at their worst, in an order drawn by seed: whatever
// happened, no event comes twice, revisions rise, and in the end the cache is what a list says.
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/world.h"
#include "client/faulty_transport.h"
#include "client/informer.h"
#include "client/local_transport.h"
#include "fake_server.h"
#include "seeds.h"

namespace berth::faults {
namespace {

using client::Informer;
using client::InformerHandler;
using kube::Key;
using kube::kPod;
using kube::Object;

constexpr client::TransportFaults kBad{.delay = 0.2,
                                       .lose_request = 0.05,
                                       .lose_reply = 0.05,
                                       .refuse = 0.1,
                                       .slow_reply = 0.2,
                                       .watch_cut = 0.02,
                                       .watch_silence = 0.005,
                                       .watch_duplicate = 0.1,
                                       .watch_lag = 0.1,
                                       .watch_gone = 0.01};

// A process with one informer that checks every event against its own copy of the state.
class Follower final : public Component {
 public:
  Follower(Env& env, Executor& api, FakeServer& server, bool stream)
      : scope_(env.runtime.loop("main"), env.name),
        wire_(api, server, {}),
        transport_(scope_, wire_, kBad, env.random.fork("faults")),
        informer_(scope_, transport_, env.random.fork("informer"), options(stream)) {
    InformerHandler<Object> handler;
    handler.added = [this](const Object& o) {
      EXPECT_EQ(mirror_.count(o.key()), 0u) << o.name() << " was added twice";
      EXPECT_EQ(informer_.get(o.key())->revision(), o.revision());
      once(o);
      mirror_[o.key()] = o;
    };
    handler.updated = [this](const Object& before, const Object& after) {
      const Object& known = mirror_[after.key()];
      ASSERT_TRUE(known.valid());
      EXPECT_EQ(before.revision(), known.revision());
      EXPECT_EQ(after.uid(), known.uid());
      EXPECT_GT(after.revision(), known.revision());
      EXPECT_EQ(informer_.get(after.key())->revision(), after.revision());
      once(after);
      mirror_[after.key()] = after;
    };
    handler.deleted = [this](const Object& last) {
      EXPECT_EQ(mirror_.erase(last.key()), 1u) << last.name() << " was deleted twice";
      EXPECT_FALSE(informer_.has(last.key()));
    };
    informer_.add_handler(std::move(handler));
    informer_.start();
  }
  client::FaultyTransport& transport() { return transport_; }
  Informer<>& informer() { return informer_; }
  const std::map<Key, Object>& mirror() const { return mirror_; }

 private:
  static client::InformerOptions options(bool stream) {
    client::InformerOptions options;
    options.feed.kind = kPod;
    options.feed.page = 7;
    options.feed.settings.stream = stream;
    return options;
  }
  void once(const Object& o) {
    EXPECT_TRUE(seen_.insert({o.key(), o.revision()}).second)
        << o.name() << " came twice at revision " << o.revision();
  }

  Scope scope_;
  client::LocalTransport wire_;
  client::FaultyTransport transport_;
  Informer<> informer_;
  std::map<Key, Object> mirror_;
  std::set<std::pair<Key, kube::Revision>> seen_;
};

// Somebody else's writes, a few a second.
void write_something(FakeServer& server, Random& random) {
  const Key key{random.chance(0.5) ? "a" : "b", "p" + std::to_string(random.below(40))};
  if (random.chance(0.25))
    server.remove(kPod, key);
  else
    server.set(kPod, key, R"("spec":{"nodeName":"n)" + std::to_string(random.below(9)) + "\"}");
  if (random.chance(0.02)) server.compact();
  if (random.chance(0.01)) server.cut_watches();
}

std::string run(Seed seed) {
  World world(seed, Order::kShuffled);
  Random random = Random(seed).fork("test");
  Executor& api = world.loop("api");
  FakeServer server(api, random.fork("server"));
  server.knows_watch_list(random.chance(0.7));
  std::vector<Process*> followers;
  for (int i = 0; i < 3; ++i)
    followers.push_back(&world.spawn("follower" + std::to_string(i), [&, i](Env& env) {
      return std::make_unique<Follower>(env, api, server, i != 0);
    }));

  for (int round = 0; round < 600; ++round) {
    for (std::uint64_t n = random.below(4); n > 0; --n) write_something(server, random);
    Process& victim = *followers[random.below(followers.size())];
    if (random.chance(0.01)) world.restart(victim);
    if (random.chance(0.01)) world.freeze(victim, 30s);
    if (random.chance(0.02)) victim.get<Follower>().transport().set_away(true);
    if (random.chance(0.06)) victim.get<Follower>().transport().set_away(false);
    if (random.chance(0.05)) victim.jump_wall(random.chance(0.5) ? 1h : -1h);
    world.run_for(Duration(static_cast<std::int64_t>(random.below(1'000'000'000))));
  }
  for (Process* follower : followers) {
    follower->get<Follower>().transport().set({});
    follower->get<Follower>().transport().set_away(false);
  }
  world.run_for(10min);

  std::string history;
  for (Process* follower : followers) {
    Follower& f = follower->get<Follower>();
    EXPECT_TRUE(f.informer().synced());
    EXPECT_EQ(f.informer().seen(), server.revision());
    std::string want, have, mirrored;
    for (const auto& [key, object] : server.all(kPod)) want += object.json() + "\n";
    f.informer().for_each([&](const Key&, const Object& o) { have += o.json() + "\n"; });
    for (const auto& [key, object] : f.mirror()) mirrored += object.json() + "\n";
    EXPECT_EQ(have, want) << follower->name();
    EXPECT_EQ(mirrored, want) << follower->name();
    const client::FeedStats& stats = f.informer().stats();
    history += fmt::format("{} {} {} {};", stats.requests, stats.relists, stats.watch_restarts,
                           stats.stale);
  }
  return history + std::to_string(world.steps());
}

TEST(InformerProperty, ConvergesWithoutDuplicatesUnderAnyFaults) {
  for (const Seed seed : seeds_to_try()) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(seed);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(InformerProperty, TheSameSeedGivesTheSameHistory) {
  for (const Seed seed : {Seed{1}, Seed{2}}) EXPECT_EQ(run(seed), run(seed)) << "seed " << seed;
}

}  // namespace
}  // namespace berth::faults
