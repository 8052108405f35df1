// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/sim_journal.h"

#include <gmock/gmock.h>

#include "apiserver/store/store_lab.h"

namespace berth::apiserver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A store in a process of its own, on a disk that outlives it.
class Machine {
 public:
  explicit Machine(bool sync) : sync_(sync) {
    process_ =
        &world.spawn("server", [this](Env& env) { return std::make_unique<Server>(env, *this); });
  }
  void put(const std::string& name) {
    server().store->write(apiserver::put(pod({"a", name})), {});
    world.run_for(1s);
  }
  void restart(Recovery how = Recovery::kWhole) {
    how_ = how;
    world.restart(*process_);
  }
  std::vector<std::string> keys() {
    return keys_of(server().store->list({.kind = kube::kPod})->items);
  }
  const std::string& error() { return server().error; }
  Process& process() { return *process_; }

  World world{1};
  SimDisk disk;

 private:
  struct Server final : Component {
    Server(Env& env, Machine& on)
        : journal(env.runtime.loop("disk"), on.disk, env.faults, {.sync = on.sync_}),
          scope(env.runtime.loop("api"), "server") {
      store = std::make_unique<Store>(scope, StoreOptions{}, &journal);
      if (const auto recovered = store->recover(on.how_); !recovered)
        error = recovered.error().message;
    }
    SimJournal journal;
    Scope scope;
    std::unique_ptr<Store> store;
    std::string error;
  };
  Server& server() { return process_->get<Server>(); }

  bool sync_;
  Recovery how_ = Recovery::kWhole;
  Process* process_ = nullptr;
};

TEST(SimJournal, SyncedWritesSurviveAPowerCutAndOthersAKill) {
  for (const bool sync : {true, false}) {
    Machine machine(sync);
    machine.put("x");
    machine.put("y");
    machine.restart();
    EXPECT_THAT(machine.keys(), ElementsAre("a/x", "a/y"));
  }
  Machine machine(true);
  machine.put("x");
  Random random(3);
  machine.disk.cut_power(random);
  machine.restart();
  EXPECT_THAT(machine.keys(), ElementsAre("a/x"));
}

TEST(SimJournal, ADiskThatLosesSyncsIsFoundOut) {
  Machine machine(true);
  machine.put("x");
  machine.disk.loses_syncs = true;
  machine.put("y");
  machine.disk.unsynced.clear();  // the power went
  machine.restart();
  EXPECT_THAT(machine.error(),
              HasSubstr("writes up to revision 3 were kept, but only those up to 2"));
  EXPECT_THAT(machine.keys(), IsEmpty());
  machine.restart(Recovery::kSalvage);
  EXPECT_EQ(machine.error(), "");
  EXPECT_THAT(machine.keys(), ElementsAre("a/x"));
}

TEST(SimJournal, EveryFlippedBitIsReported) {
  Machine machine(false);
  machine.put("x");
  machine.put("y");
  const SimDisk good = machine.disk;
  for (std::uint64_t bit = 0; bit < good.bits(); bit += 3) {
    machine.disk = good;
    machine.disk.flip_bit(bit);
    machine.restart();
    ASSERT_THAT(machine.error(), HasSubstr("is damaged")) << bit;
  }
}

TEST(SimJournal, ABatchThatWasBeingWrittenWasPromisedToNobody) {
  Machine machine(false);
  machine.put("x");
  machine.world.plan(*FaultPlan::make({{.point = "journal.half", .hit = 1}}));
  machine.put("y");
  EXPECT_FALSE(machine.process().alive());
  machine.restart();
  EXPECT_EQ(machine.error(), "");
  EXPECT_THAT(machine.keys(), ElementsAre("a/x"));
  machine.put("z");
  machine.restart();
  EXPECT_THAT(machine.keys(), ElementsAre("a/x", "a/z"));
}

TEST(SimJournal, ABatchThatWasKeptWithoutSayingSoIsThere) {
  Machine machine(false);
  machine.world.plan(*FaultPlan::make({{.point = "journal.kept", .hit = 1}}));
  machine.put("x");
  EXPECT_FALSE(machine.process().alive());
  machine.restart();
  EXPECT_THAT(machine.keys(), ElementsAre("a/x"));
}

}  // namespace
}  // namespace berth::apiserver
