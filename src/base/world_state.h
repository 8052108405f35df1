// SPDX-License-Identifier: Apache-2.0
// The inside of a World, for world.cc and process.cc alone. All of it is confined to one thread.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/ring.h"
#include "base/timer_heap.h"
#include "base/world.h"

namespace berth::detail {

class Lane;

// Unwinds a task whose fault plan says that its process ends here. Caught by the World alone, so it
// is no std::exception.
struct Crash {};

struct WorldState {
  struct Timed {
    Lane* lane = nullptr;
    Instant due{};  // on the process's own clock
    Timer kind = Timer::kWork;
    Task task;  // empty: the lane's own wake-up
    bool counts() const { return task && kind == Timer::kWork && due.since_start != kNoLimit; }
  };

  WorldState(Seed seed, Order how, WallTime start);
  ~WorldState();

  void enqueue(Lane&, Task);
  TimerId arm(Lane&, Instant due, Task, Timer);
  std::optional<Timed> take(TimerId);
  bool idle() const { return queued == 0 && work_timers == 0; }
  bool run_one(Instant limit);  // false: nothing to do up to then

  Process& add(std::string name, Fn<std::unique_ptr<Component>(Env&)> make);
  void start(ProcessState&);
  void silence(ProcessState&);  // from now on nothing it does is heard
  void bury(ProcessState&);
  void end_crashed(ProcessState&);

  const Order order;
  const WallTime wall_start;
  const Random random;
  Random draws;
  Random fault_draws;
  Instant now{};
  Lane* current = nullptr;
  std::uint64_t queued = 0;       // tasks in all lanes
  std::uint64_t work_timers = 0;  // armed, or due and queued
  std::uint64_t steps = 0;
  std::uint64_t hash = 0xcbf29ce484222325;
  TimerHeap<Timed> timers;
  Ring<Lane*> arrivals;                      // kFifo: one entry a task
  std::vector<Lane*> runnable;               // kShuffled: lanes that may have tasks, once each
  std::vector<std::unique_ptr<Lane>> lanes;  // dead ones too: a Done elsewhere may point there
  std::vector<std::unique_ptr<Process>> processes;
  FaultPlan plan;
  bool planned = false;
  LogSink* sink = nullptr;
  LogLevel level = LogLevel::kOff;
  ProcessState* outside = nullptr;  // stands for all that is in no process

 private:
  Lane* next_lane();
  void wait_until_free(Lane&);
  void run(Lane&);
  void run_timer(TimerId);
  void fire(TimerId);
};

// What one start of a process brings, and a kill takes.
struct Life {
  explicit Life(ProcessState&);
  Logger log;
  Metrics metrics;
  Faults faults;
  Env env;
  std::vector<Lane*> lanes;
};

struct ProcessState final : Runtime, Clock, FaultHandler {
  ProcessState(WorldState& w, std::string n) : world(w), name(std::move(n)) {}

  Executor& loop(std::string_view role) override;
  void offload(Executor& back, Task work, Task then) override;
  Instant now() const override;
  WallTime wall() const override;
  std::optional<Error> on_point(std::string_view point, bool may_fail) override;

  Duration drift() const;
  void freeze(Duration, Frozen);

  WorldState& world;
  const std::string name;
  Fn<std::unique_ptr<Component>(Env&)> make;
  std::unique_ptr<Life> life;
  std::unique_ptr<Component> component;
  bool starting = false;
  bool doomed = false;  // ends as soon as its running task, or `make`, has returned
  Duration restart_after = kNoLimit;
  int starts = 0;
  Instant frozen_until{};
  Instant floor{};    // its clock never goes back, nor on while suspended
  Duration asleep{};  // how far its clocks are behind the world's
  Duration offset{};  // of its wall clock
  double rate = 1;
  Instant rate_since{};
};

class Lane final : public Executor {
 public:
  Lane(ProcessState& owner, std::string_view of) : process(owner), role(of) {}

  void post(Task) override;
  TimerId at(Instant due, Task, Timer) override;
  bool cancel(TimerId) override;
  const Clock& clock() const override { return process; }
  bool here() const override {
    return process.world.current == nullptr || process.world.current == this;
  }
  bool dead() const override { return silent; }
  Instant free_at() const { return std::max(busy_until, process.frozen_until); }

  ProcessState& process;
  const std::string role;
  Ring<Task> tasks;
  Instant busy_until{};
  bool silent = false;     // its process died
  bool waking = false;     // a timer will look at it again
  bool listed = false;     // kShuffled: stands in `runnable`
  std::uint64_t owed = 0;  // kFifo: arrivals passed over while it was occupied
};

}  // namespace berth::detail
