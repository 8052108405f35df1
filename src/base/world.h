// SPDX-License-Identifier: Apache-2.0
// A world in virtual time: every process, loop and clock of a suite in one thread, in an order that
// a seed decides and that can be run again. Time passes only when nothing is left to do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/faults.h"
#include "base/log.h"
#include "base/runtime.h"

namespace berth {

namespace detail {
struct ProcessState;
struct WorldState;
}  // namespace detail

using Seed = std::uint64_t;

enum class Order : unsigned char {
  kFifo,      // by (time, sequence) over all lanes
  kShuffled,  // the next lane is drawn; what loops promise, FIFO within a lane, is kept
};

// How long a frozen process has been away, as it sees it on waking.
enum class Frozen : unsigned char {
  kStopped,    // like SIGSTOP: its clocks went on, its timers are overdue
  kSuspended,  // like a paused machine: both clocks stood still, its timers are late by as much
};

// The root object of a process. Its destructor does nothing to the outside: a kill runs it too.
class Component {
 public:
  virtual ~Component() = default;
};

// A program on a machine of its own: lanes, timers and memory that die together, and clocks that
// survive. Owned by its World and confined to it.
class Process {
 public:
  ~Process();
  const std::string& name() const;
  bool alive() const;
  int starts() const;            // how often it was started
  Env& env() const;              // while alive
  Component* component() const;  // null when dead
  template <class T>
  T& get() const {  // while alive; T as `make` made it
    return static_cast<T&>(*component());
  }
  Executor& loop(std::string_view role);

  const Clock& clock() const;
  void jump_wall(Duration by);
  void set_wall_rate(double rate);  // 1: as fast as the world's

 private:
  friend class World;
  friend struct detail::WorldState;
  explicit Process(std::unique_ptr<detail::ProcessState>);
  std::unique_ptr<detail::ProcessState> state_;
};

// Confined to one thread. Code that runs outside every task, such as the body of a test, counts as
// being on every lane.
class World final : public Runtime {
 public:
  static constexpr WallTime kNewYear2026{1'767'225'600'000'000'000};

  explicit World(Seed, Order = Order::kFifo, WallTime start = kNewYear2026);
  ~World() override;  // kills what is alive

  // Runs one task, or advances to the next timer and runs that. False: nothing is left at all.
  bool step();
  // Until no task and no kWork timer is left (true), or `horizon` has passed.
  bool run_until_idle(Duration horizon);
  void run_for(Duration);  // exactly that long, background timers included

  // A process starts at once: `make` runs before spawn returns. Names are unique.
  Process& spawn(std::string name, Fn<std::unique_ptr<Component>(Env&)> make);
  // Its tasks and timers are dropped unrun, then its component is destroyed. From a task of its
  // own: right after that task.
  void kill(Process&);
  void restart(Process&);  // kills it first if alive; not from a task of its own
  void freeze(Process&, Duration, Frozen = Frozen::kStopped);

  // The running task takes this long: its lane runs nothing else meanwhile.
  void busy(Duration);

  void plan(FaultPlan);  // from now on, for all processes
  const FaultPlan& faults() const;
  void log_to(LogSink&, LogLevel = LogLevel::kDebug);  // for processes started from now on

  // Stores call it for every committed write.
  void note(std::string_view write);
  std::uint64_t log_hash() const;  // of all notes and their times, in order
  std::uint64_t steps() const;     // tasks run so far

  // The lanes, clock and environment of whatever is outside the processes. Never killed.
  Executor& loop(std::string_view role) override;
  void offload(Executor& back, Task work, Task then) override;
  const Clock& clock() const;
  Env& env();

 private:
  std::unique_ptr<detail::WorldState> state_;
};

}  // namespace berth
