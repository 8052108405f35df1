// SPDX-License-Identifier: Apache-2.0
// One process of a World: its lanes, its clocks and its fault points.
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/world_state.h"

namespace berth {
namespace detail {

void Lane::post(Task task) {
  if (!silent) process.world.enqueue(*this, std::move(task));
}

TimerId Lane::at(Instant due, Task task, Timer kind) {
  BERTH_CHECK(here(), role);
  BERTH_CHECK(static_cast<bool>(task), role);
  return silent ? TimerId::kNone : process.world.arm(*this, due, std::move(task), kind);
}

bool Lane::cancel(TimerId id) {
  BERTH_CHECK(here(), role);
  const WorldState::Timed* timed = silent ? nullptr : process.world.timers.find(id);
  if (timed == nullptr) return false;
  BERTH_CHECK(timed->lane == this, role);
  process.world.take(id);
  return true;
}

Life::Life(ProcessState& process)
    : log(Logger(process.world.sink != nullptr ? *process.world.sink : stderr_sink(), process,
                 process.world.level)
              .with({{"process", process.name}})),
      faults(process.world.planned ? &process : nullptr),
      env{process, process.world.random.fork(process.name).fork(std::to_string(process.starts)),
          log,     metrics,
          faults,  process.name} {}

Executor& ProcessState::loop(std::string_view role) {
  BERTH_CHECK(life != nullptr, name);
  for (Lane* lane : life->lanes)
    if (lane->role == role) return *lane;
  world.lanes.push_back(std::make_unique<Lane>(*this, role));
  life->lanes.push_back(world.lanes.back().get());
  life->lanes.back()->silent = doomed;
  return *life->lanes.back();
}

void ProcessState::offload(Executor& back, Task work, Task then) {
  loop("offload").post([&back, work = std::move(work), then = std::move(then)]() mutable {
    work();
    back.post(std::move(then));
  });
}

Instant ProcessState::now() const {
  return std::max(floor, Instant{world.now.since_start - asleep});
}

Duration ProcessState::drift() const {
  return Duration(std::llround(static_cast<double>((now() - rate_since).count()) * (rate - 1)));
}

WallTime ProcessState::wall() const {
  return world.wall_start + now().since_start + offset + drift();
}

void ProcessState::freeze(Duration duration, Frozen how) {
  const Instant until = world.now + duration;
  const Instant from = std::max(world.now, frozen_until);
  if (until <= from) return;
  if (how == Frozen::kSuspended) {
    floor = now();
    asleep += until - from;
  }
  frozen_until = until;
}

std::optional<Error> ProcessState::on_point(std::string_view point, bool may_fail) {
  const FaultRule* rule = world.plan.pass(name, point, world.fault_draws);
  if (rule == nullptr) return std::nullopt;
  const bool ours = world.current != nullptr && &world.current->process == this;
  switch (rule->action) {
    case FaultAction::kFail:
      if (may_fail) return rule->error;
      break;
    case FaultAction::kDelay:
      if (ours)
        world.current->busy_until = std::max(world.current->busy_until, world.now) + rule->delay;
      break;
    case FaultAction::kCrash:
      BERTH_CHECK(ours || starting, "a process can crash only in a task of its own");
      doomed = true;
      restart_after = rule->restart_after;
      world.silence(*this);
      throw Crash{};
  }
  return std::nullopt;
}

}  // namespace detail

Process::Process(std::unique_ptr<detail::ProcessState> state) : state_(std::move(state)) {}
Process::~Process() = default;
const std::string& Process::name() const { return state_->name; }
bool Process::alive() const { return state_->life != nullptr && !state_->doomed; }
int Process::starts() const { return state_->starts; }
Env& Process::env() const {
  BERTH_CHECK(state_->life != nullptr, state_->name);
  return state_->life->env;
}
Component* Process::component() const { return state_->component.get(); }
Executor& Process::loop(std::string_view role) { return state_->loop(role); }
const Clock& Process::clock() const { return *state_; }
void Process::jump_wall(Duration by) { state_->offset += by; }
void Process::set_wall_rate(double rate) {
  state_->offset += state_->drift();
  state_->rate_since = state_->now();
  state_->rate = rate;
}

}  // namespace berth
