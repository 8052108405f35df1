// SPDX-License-Identifier: Apache-2.0
// A small suite under every fault a World knows: three clients write to a store through a server,
// replies get lost, anything may be killed at any time, lanes are shuffled. Whatever the seed, each
// client finishes, nothing acknowledged is missing, and a second run of the seed is the same run.
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "base/scope.h"
#include "base/world.h"

namespace berth {
namespace {

constexpr int kClients = 3;
constexpr int kWrites = 12;  // a client

// What survives every crash.
struct Disk {
  std::set<std::string> keys;
};

class Server final : public Component {
 public:
  Server(Env& env, World& world, Disk& disk)
      : env_(env), world_(world), disk_(disk), scope_(env.runtime.loop("api"), env.name) {}

  void create(const std::string& key, Done<Ok> reply) {
    // Committing is done elsewhere and takes its time, as with a journal.
    env_.runtime.loop("disk").post([this, key, reply = std::move(reply)]() mutable {
      world_.busy(Duration(1'000'000 + env_.random.below(5'000'000)));
      if (const auto failed = env_.faults.failure("disk.write"))
        return reply(tl::unexpected(*failed));
      if (!disk_.keys.insert(key).second) return reply(fail(Reason::kAlreadyExists, key));
      world_.note(key);
      env_.faults.point("server.committed");
      reply(Ok{});
    });
  }
  void exists(const std::string& key, Done<bool> reply) { reply(disk_.keys.contains(key)); }

 private:
  Env& env_;
  World& world_;
  Disk& disk_;
  Scope scope_;
};

// Takes messages from lane to lane, late, and sometimes not at all.
class Network {
 public:
  Network(World& world, Process& server) : world_(world), server_(server) {
    random_ = world.env().random.fork("network");
  }

  template <class T>
  void call(void (Server::*method)(const std::string&, Done<T>), const std::string& key,
            Done<T> done) {
    world_.loop("network").post([this, method, key, done = std::move(done)]() mutable {
      deliver([this, method, key, done = std::move(done)]() mutable {
        if (!server_.alive()) return;  // dropped, so the caller hears that it was cancelled
        server_.loop("api").post([this, method, key, done = std::move(done)]() mutable {
          (server_.get<Server>().*method)(key, scoped_reply(std::move(done)));
        });
      });
    });
  }

 private:
  // The reply travels as well; a lost one is kept, for dropping it would be an answer.
  template <class T>
  Done<T> scoped_reply(Done<T> to_client) {
    auto held = std::make_shared<Done<T>>(std::move(to_client));
    return replies_.done<T>(kNoLimit, [this, held](Result<T> result) {
      if (random_.chance(0.1)) {
        lost_.push_back(held);
        return;
      }
      deliver([held, result = std::move(result)]() mutable { (*held)(std::move(result)); });
    });
  }
  void deliver(Task task) {
    Executor& lane = world_.loop("network");
    lane.at(lane.clock().now() + Duration(100'000 + random_.below(20'000'000)), std::move(task));
  }

  World& world_;
  Process& server_;
  Random random_{0};
  Scope replies_{world_.loop("network"), "replies"};
  std::vector<std::shared_ptr<void>> lost_;
};

// Writes its keys one after another; one whose outcome is unknown is read back first.
class Client final : public Component {
 public:
  Client(Env& env, Network& network, const Disk& disk, int& finished)
      : env_(env),
        network_(network),
        disk_(disk),
        finished_(finished),
        scope_(env.runtime.loop("main"), env.name) {
    scope_.post([this] { look(); });
  }

 private:
  std::string key() const { return env_.name + "/" + std::to_string(next_); }
  void look() {
    network_.call<bool>(&Server::exists, key(), scope_.done<bool>(2s, [this](Result<bool> there) {
      if (!there) return again();
      return *there ? advance() : write();
    }));
  }
  void write() {
    network_.call<Ok>(&Server::create, key(),
                      scope_.done<Ok>(2s, [this](Result<Ok> r) { on_written(std::move(r)); }));
  }
  void on_written(Result<Ok> r) {
    env_.faults.point("client.answered");
    EXPECT_TRUE(!r || disk_.keys.contains(key())) << key();
    if (r || r.error().reason == Reason::kAlreadyExists) return advance();
    again();
  }
  void again() {
    scope_.after(Duration(env_.random.below(500'000'000)), [this] { look(); });
  }
  void advance() {
    if (++next_ < kWrites) return look();
    ++finished_;
  }

  Env& env_;
  Network& network_;
  const Disk& disk_;
  int& finished_;
  Scope scope_;
  int next_ = 0;
};

struct History {
  std::uint64_t hash = 0;
  std::uint64_t steps = 0;
  Instant end{};
  int kills = 0;
  friend bool operator==(const History&, const History&) = default;
};

History run(Seed seed) {
  World world(seed, Order::kShuffled);
  world.plan(*FaultPlan::make(
      {{.point = "server.committed", .probability = 0.05, .restart_after = 300ms},
       {.point = "client.answered", .probability = 0.05, .restart_after = 100ms},
       {.point = "disk.write",
        .probability = 0.05,
        .action = FaultAction::kFail,
        .error = {.reason = Reason::kServiceUnavailable, .message = "disk full"}}}));
  Disk disk;
  int finished = 0;
  Process& server =
      world.spawn("server", [&](Env& env) { return std::make_unique<Server>(env, world, disk); });
  Network network(world, server);
  std::vector<Process*> all{&server};
  for (int i = 0; i < kClients; ++i)
    all.push_back(&world.spawn("client" + std::to_string(i), [&](Env& env) {
      return std::make_unique<Client>(env, network, disk, finished);
    }));

  History history;
  Random chaos = world.env().random.fork("chaos");
  for (int i = 0; i < 4; ++i) {
    world.run_for(Duration(chaos.below(1'000'000'000)));
    Process& victim = *all[chaos.below(all.size())];
    if (chaos.chance(0.3))
      world.freeze(victim, 3s, chaos.chance(0.5) ? Frozen::kStopped : Frozen::kSuspended);
    world.restart(victim);
  }
  EXPECT_TRUE(world.run_until_idle(1h)) << "seed " << seed;
  for (const Process* process : all) history.kills += process->starts() - 1;

  EXPECT_GE(finished, kClients) << "seed " << seed;
  EXPECT_EQ(disk.keys.size(), std::size_t{kClients * kWrites}) << "seed " << seed;
  history.hash = world.log_hash();
  history.steps = world.steps();
  history.end = world.clock().now();
  return history;
}

TEST(WorldProperty, EverySeedIsOneHistoryAndNoOtherSeedsIs) {
  const char* asked = std::getenv("BERTH_SEEDS");
  const Seed seeds = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 200;
  std::set<std::uint64_t> hashes;
  int kills = 0;
  for (Seed seed = 1; seed <= seeds; ++seed) {
    const History history = run(seed);
    ASSERT_EQ(run(seed), history) << "seed " << seed;
    hashes.insert(history.hash);
    kills += history.kills;
  }
  EXPECT_EQ(hashes.size(), seeds);
  EXPECT_GT(kills, static_cast<int>(seeds) * 4);
  RecordProperty("kills", kills);
}

}  // namespace
}  // namespace berth
