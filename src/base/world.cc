// SPDX-License-Identifier: Apache-2.0
#include "base/world.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/world_state.h"

namespace berth {
namespace detail {

WorldState::WorldState(Seed seed, Order how, WallTime start)
    : order(how),
      wall_start(start),
      random(seed),
      draws(random.fork("lanes")),
      fault_draws(random.fork("faults")) {}

WorldState::~WorldState() {
  current = nullptr;
  for (auto process = processes.rbegin(); process != processes.rend(); ++process)
    bury(*(*process)->state_);
}

void WorldState::enqueue(Lane& lane, Task task) {
  lane.tasks.push(std::move(task));
  ++queued;
  if (order == Order::kFifo) {
    arrivals.push(&lane);
  } else if (!lane.listed) {
    lane.listed = true;
    runnable.push_back(&lane);
  }
}

TimerId WorldState::arm(Lane& lane, Instant due, Task task, Timer kind) {
  Timed timed{&lane, due, kind, std::move(task)};
  if (timed.counts()) ++work_timers;
  return timers.arm(due + lane.process.asleep, std::move(timed));
}

std::optional<WorldState::Timed> WorldState::take(TimerId id) {
  std::optional<Timed> timed = timers.take(id);
  if (timed && timed->counts()) --work_timers;
  return timed;
}

// An occupied lane leaves the order and comes back with a wake-up.
void WorldState::wait_until_free(Lane& lane) {
  if (lane.waking) return;
  lane.waking = true;
  timers.arm(lane.free_at(), Timed{&lane, {}, Timer::kWork, nullptr});
}

Lane* WorldState::next_lane() {
  while (!arrivals.empty()) {
    Lane* lane = arrivals.pop();
    if (lane->tasks.empty()) continue;  // its process died
    if (lane->free_at() <= now) return lane;
    ++lane->owed;
    wait_until_free(*lane);
  }
  while (!runnable.empty()) {
    const std::size_t drawn = runnable.size() == 1 ? 0 : draws.below(runnable.size());
    Lane* lane = runnable[drawn];
    if (!lane->tasks.empty() && lane->free_at() <= now) return lane;
    if (!lane->tasks.empty()) wait_until_free(*lane);
    lane->listed = false;
    runnable[drawn] = runnable.back();
    runnable.pop_back();
  }
  return nullptr;
}

void WorldState::run(Lane& lane) {
  Task task = lane.tasks.pop();
  --queued;
  ++steps;
  current = &lane;
  try {
    task();
  } catch (const Crash&) {
    // on_point has doomed the process
  }
  task = nullptr;  // what it holds goes while it still counts as being here
  current = nullptr;
  if (lane.process.doomed) end_crashed(lane.process);
}

void WorldState::run_timer(TimerId id) {
  std::optional<Timed> timed = take(id);
  if (timed) timed->task();  // else cancelled after it fell due
}

void WorldState::fire(TimerId id) {
  const Timed* timed = timers.find(id);
  Lane& lane = *timed->lane;
  if (!timed->task) {
    timers.take(id);
    lane.waking = false;
    if (order == Order::kFifo) {
      for (; lane.owed > 0; --lane.owed) arrivals.push(&lane);
    } else if (!lane.listed) {
      lane.listed = true;
      runnable.push_back(&lane);
    }
  } else if (const Instant due = timed->due + lane.process.asleep; due > now) {
    timers.rearm(id, due);  // its process was suspended meanwhile
  } else {
    enqueue(lane, [this, id] { run_timer(id); });
  }
}

bool WorldState::run_one(Instant limit) {
  for (;;) {
    if (Lane* lane = next_lane()) {
      run(*lane);
      return true;
    }
    if (timers.empty() || timers.next() > limit || timers.next().since_start == kNoLimit)
      return false;
    // All that is due at this instant joins its lanes, so that shuffling can mix it.
    now = std::max(now, timers.next());
    while (!timers.empty() && timers.next() <= now) fire(timers.pop());
  }
}

Process& WorldState::add(std::string name, Fn<std::unique_ptr<Component>(Env&)> make) {
  for (const auto& other : processes) BERTH_CHECK(other->name() != name, name);
  auto state = std::make_unique<ProcessState>(*this, std::move(name));
  state->make = std::move(make);
  processes.push_back(std::unique_ptr<Process>(new Process(std::move(state))));
  start(*processes.back()->state_);
  return *processes.back();
}

void WorldState::start(ProcessState& process) {
  BERTH_CHECK(process.life == nullptr, process.name);
  ++process.starts;
  process.life = std::make_unique<Life>(process);
  if (!process.make) return;
  Lane* const before = std::exchange(current, nullptr);  // `make` is on all of its lanes
  process.starting = true;
  try {
    process.component = process.make(process.life->env);
  } catch (const Crash&) {
    // on_point has doomed the process
  }
  process.starting = false;
  current = before;
  if (process.doomed) end_crashed(process);
}

void WorldState::silence(ProcessState& process) {
  for (Lane* lane : process.life->lanes) lane->silent = true;
}

void WorldState::bury(ProcessState& process) {
  if (process.life == nullptr) return;
  Lane* const before = std::exchange(current, nullptr);
  process.doomed = true;  // so that lanes made by a destructor are silent too
  silence(process);
  // Tasks first: what they hold may point into the component.
  for (Lane* lane : process.life->lanes) {
    queued -= lane->tasks.size();
    std::exchange(lane->tasks, {});
  }
  for (const TimerId id :
       timers.ids_where([&](const Timed& timed) { return &timed.lane->process == &process; }))
    take(id);
  process.component.reset();
  process.life.reset();
  process.doomed = false;
  current = before;
}

void WorldState::end_crashed(ProcessState& process) {
  const Duration after = std::exchange(process.restart_after, kNoLimit);
  bury(process);
  if (after == kNoLimit) return;
  auto& lane = static_cast<Lane&>(outside->loop("restarts"));
  arm(
      lane, now + after,
      [this, &process] {
        if (process.life == nullptr) start(process);
      },
      Timer::kWork);
}

}  // namespace detail

World::World(Seed seed, Order order, WallTime start)
    : state_(std::make_unique<detail::WorldState>(seed, order, start)) {
  state_->outside = state_->add("world", nullptr).state_.get();
}

World::~World() = default;

bool World::step() { return state_->run_one(Instant{kNoLimit}); }

bool World::run_until_idle(Duration horizon) {
  const Instant limit = state_->now + horizon;
  while (!state_->idle()) {
    if (state_->run_one(limit)) continue;
    if (limit.since_start != kNoLimit) state_->now = limit;
    return false;
  }
  return true;
}

void World::run_for(Duration duration) {
  const Instant limit = state_->now + duration;
  while (state_->run_one(limit)) {
  }
  state_->now = limit;
}

Process& World::spawn(std::string name, Fn<std::unique_ptr<Component>(Env&)> make) {
  BERTH_CHECK(static_cast<bool>(make), name);
  return state_->add(std::move(name), std::move(make));
}

void World::kill(Process& process) {
  detail::ProcessState& victim = *process.state_;
  BERTH_CHECK(&victim != state_->outside);
  if (victim.starting || (state_->current != nullptr && &state_->current->process == &victim))
    victim.doomed = true;
  else
    state_->bury(victim);
}

void World::restart(Process& process) {
  detail::ProcessState& again = *process.state_;
  BERTH_CHECK(
      !again.starting && (state_->current == nullptr || &state_->current->process != &again),
      "a process cannot restart itself");
  kill(process);
  state_->start(again);
}

void World::freeze(Process& process, Duration duration, Frozen how) {
  process.state_->freeze(duration, how);
}

void World::busy(Duration duration) {
  BERTH_CHECK(state_->current != nullptr, "only a running task can be busy");
  Instant& until = state_->current->busy_until;
  until = std::max(until, state_->now) + duration;
}

void World::plan(FaultPlan plan) {
  state_->plan = std::move(plan);
  state_->planned = true;
  for (const auto& process : state_->processes)
    if (detail::Life* life = process->state_->life.get())
      life->faults = Faults(process->state_.get());
}

const FaultPlan& World::faults() const { return state_->plan; }

void World::log_to(LogSink& sink, LogLevel level) {
  state_->sink = &sink;
  state_->level = level;
}

void World::note(std::string_view write) {
  const auto mix = [&](std::uint64_t value) {
    state_->hash = (state_->hash ^ value) * 0x100000001b3;
    state_->hash ^= state_->hash >> 29;
  };
  mix(static_cast<std::uint64_t>(state_->now.since_start.count()));
  mix(write.size());
  for (const char c : write) mix(static_cast<unsigned char>(c));
}

std::uint64_t World::log_hash() const { return state_->hash; }
std::uint64_t World::steps() const { return state_->steps; }
Executor& World::loop(std::string_view role) { return state_->outside->loop(role); }
void World::offload(Executor& back, Task work, Task then) {
  state_->outside->offload(back, std::move(work), std::move(then));
}
const Clock& World::clock() const { return *state_->outside; }
Env& World::env() { return state_->outside->life->env; }

}  // namespace berth
