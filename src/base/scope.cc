// SPDX-License-Identifier: Apache-2.0
#include "base/scope.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace berth {
namespace detail {

// Everything but executor and name is confined to the executor. A Done elsewhere may keep an ended
// state alive, never what the state once held.
struct ScopeState : std::enable_shared_from_this<ScopeState> {
  enum class Phase { kOpen, kChildren, kDraining, kClosed };
  struct Waiting {
    Answer answer;
    TimerId limit = TimerId::kNone;
  };
  struct Armed {
    TimerId id = TimerId::kNone;
    Task task;
  };

  ScopeState(Executor& on, std::string path, ScopeState* above)
      : executor(on), name(std::move(path)), parent(above) {}

  bool empty() const {
    return waiting.empty() && timers.empty() && posted.empty() && children.empty() &&
           on_close.empty();
  }

  void finish_call(std::uint64_t id, void* result, Error* error) {
    const auto found = waiting.find(id);
    if (found == waiting.end()) return;
    Waiting call = std::move(found->second);
    waiting.erase(found);  // first: from here on it has fired, whatever the callback does
    if (call.limit != TimerId::kNone) executor.cancel(call.limit);
    call.answer(result, error);
    if (phase == Phase::kDraining) advance();
  }

  void run_posted() {
    if (posted.empty()) return;  // closed since
    Task task = std::move(posted.front());
    posted.pop_front();
    task();
  }

  void cancel_timers() {
    // Ordered, because dropping a task may drop a Done, and that is seen outside.
    for (const auto& [id, armed] : std::exchange(timers, {})) executor.cancel(id);
  }

  void close(Duration grace) {
    if (phase == Phase::kClosed) return post([](ScopeState& self) { self.announce(); });
    const Instant until = executor.clock().now() + grace;
    if (phase != Phase::kOpen && until >= deadline) return;
    deadline = until;
    for (const auto& child : children) child->state_->close(grace);
    if (grace_timer != TimerId::kNone) executor.cancel(grace_timer);
    grace_timer = TimerId::kNone;
    if (deadline.since_start != kNoLimit)
      grace_timer = executor.at(deadline, [self = shared_from_this()] { self->out_of_time(); });
    if (phase == Phase::kOpen) {
      phase = Phase::kChildren;
      post([](ScopeState& self) { self.advance(); });
    }
  }

  void out_of_time() {
    grace_timer = TimerId::kNone;
    expired = true;
    advance();
  }

  // Takes closing as far as it goes now; called again whenever something it waits for has ended.
  void advance() {
    if (advancing || phase == Phase::kOpen || phase == Phase::kClosed) return;
    const auto keep = shared_from_this();
    advancing = true;
    if (phase == Phase::kChildren && children.empty()) {
      phase = Phase::kDraining;
      cancel_timers();
    }
    while (phase == Phase::kDraining && !on_close.empty()) {
      Task task = std::move(on_close.back());
      on_close.pop_back();
      task();
    }
    if (phase == Phase::kDraining && children.empty() && expired && !waiting.empty()) {
      abandoned.push_back(fmt::format("{}: {} calls", name, waiting.size()));
      Error cancelled{.reason = Reason::kCancelled,
                      .message = fmt::format("{} was closed", name),
                      .outcome = Outcome::kUnknown};
      while (!waiting.empty()) {
        Error error = cancelled;
        finish_call(waiting.begin()->first, nullptr, &error);
      }
    }
    advancing = false;
    if (phase == Phase::kDraining && children.empty() && waiting.empty() && on_close.empty()) end();
  }

  void end() {
    phase = Phase::kClosed;
    cancel_timers();
    std::exchange(posted, {}).clear();
    if (grace_timer != TimerId::kNone) executor.cancel(grace_timer);
    post([](ScopeState& self) { self.announce(); });
  }

  void announce() {
    std::shared_ptr<ScopeState> above;
    std::unique_ptr<Scope> own;  // a child lives until those who waited for it have run
    if (parent != nullptr) {
      above = std::exchange(parent, nullptr)->shared_from_this();
      own = above->release(*this);
    }
    for (Task& task : std::exchange(closed, {}))
      if (task) task();
    own.reset();
    if (above) above->advance();
  }

  std::unique_ptr<Scope> release(ScopeState& child) {
    const auto found =
        std::find_if(children.begin(), children.end(),
                     [&](const std::unique_ptr<Scope>& c) { return c->state_.get() == &child; });
    BERTH_CHECK(found != children.end());
    std::unique_ptr<Scope> own = std::move(*found);
    children.erase(found);
    abandoned.insert(abandoned.end(), child.abandoned.begin(), child.abandoned.end());
    return own;
  }

  // The process died, or there was nothing left: forget without running anything.
  void abandon() {
    phase = Phase::kClosed;
    parent = nullptr;
    for (const auto& child : children) child->state_->abandon();
    std::exchange(children, {}).clear();
    std::exchange(waiting, {}).clear();
    std::exchange(timers, {}).clear();
    std::exchange(posted, {}).clear();
    std::exchange(on_close, {}).clear();
    std::exchange(closed, {}).clear();
  }

  void post(void (*step)(ScopeState&)) {
    executor.post([self = shared_from_this(), step] { step(*self); });
  }

  Executor& executor;
  const std::string name;  // the path from the root scope
  ScopeState* parent;      // null once closed; valid before, for it owns this
  Phase phase = Phase::kOpen;
  bool expired = false;    // the grace is over
  bool advancing = false;  // guards against callbacks that end what advance() waits for
  Instant deadline{};
  TimerId grace_timer = TimerId::kNone;
  std::uint64_t next_id = 1;
  std::map<std::uint64_t, Waiting> waiting;  // ordered: cancelling goes in the order of asking
  std::map<TimerId, std::unique_ptr<Armed>> timers;
  std::deque<Task> posted;
  std::vector<std::unique_ptr<Scope>> children;
  std::vector<Task> on_close;
  std::vector<Task> closed;
  std::vector<std::string> abandoned;
};

Executor& Pending::executor() const { return home_->executor; }

void Pending::answer(void* result) { home_->finish_call(id_, result, nullptr); }

}  // namespace detail

using detail::ScopeState;

Scope::Scope(Executor& home, std::string_view name)
    : state_(std::make_shared<ScopeState>(home, std::string(name), nullptr)) {}

Scope::~Scope() {
  if (state_->phase == ScopeState::Phase::kClosed) return;
  if (!state_->executor.dead())
    BERTH_CHECK(state_->phase == ScopeState::Phase::kOpen && state_->empty(),
                fmt::format("scope {} was destroyed before it closed, with {} calls, {} timers, {} "
                            "children; close it and wait",
                            state_->name, state_->waiting.size(), state_->timers.size(),
                            state_->children.size()));
  state_->abandon();
}

detail::Pending Scope::expect(Duration limit, detail::Answer answer) {
  ScopeState& s = *state_;
  if (s.phase == ScopeState::Phase::kClosed || s.expired) return {};
  const std::uint64_t id = s.next_id++;
  ScopeState::Waiting& call = s.waiting[id];
  call.answer = std::move(answer);
  if (limit != kNoLimit)
    call.limit = s.executor.at(s.executor.clock().now() + limit, [state = state_, id, limit] {
      state->waiting.at(id).limit = TimerId::kNone;
      const auto seconds = std::chrono::duration<double>(limit).count();
      Error timeout{.reason = Reason::kTimeout,
                    .message = fmt::format("{}: no answer within {:g} s", state->name, seconds),
                    .outcome = Outcome::kUnknown};
      state->finish_call(id, nullptr, &timeout);
    });
  return {state_, id};
}

void Scope::post(Task task) {
  if (state_->phase == ScopeState::Phase::kClosed) return;
  state_->posted.push_back(std::move(task));
  state_->post([](ScopeState& self) { self.run_posted(); });
}

TimerId Scope::after(Duration delay, Task task, Timer kind) {
  ScopeState& s = *state_;
  if (s.phase == ScopeState::Phase::kClosed) return TimerId::kNone;
  auto armed = std::make_unique<ScopeState::Armed>();
  armed->task = std::move(task);
  armed->id = s.executor.at(
      s.executor.clock().now() + delay,
      [state = state_, timer = armed.get()] {
        const auto fired = state->timers.extract(timer->id);
        fired.mapped()->task();
      },
      kind);
  const TimerId id = armed->id;
  if (id != TimerId::kNone) s.timers.emplace(id, std::move(armed));
  return id;
}

bool Scope::cancel(TimerId id) {
  return state_->timers.erase(id) != 0 && state_->executor.cancel(id);
}

Scope& Scope::child(std::string_view name) {
  ScopeState& s = *state_;
  BERTH_CHECK(s.phase != ScopeState::Phase::kClosed, s.name);
  auto own = std::make_unique<Scope>(s.executor, fmt::format("{}/{}", s.name, name));
  own->state_->parent = &s;
  Scope& child = *own;
  s.children.push_back(std::move(own));
  if (s.phase != ScopeState::Phase::kOpen)  // it has what is left of our grace
    child.state_->close(s.expired ? Duration{} : s.deadline - s.executor.clock().now());
  return child;
}

void Scope::on_close(Task task) {
  BERTH_CHECK(state_->phase != ScopeState::Phase::kClosed, state_->name);
  state_->on_close.push_back(std::move(task));
  if (state_->phase == ScopeState::Phase::kDraining)
    state_->post([](ScopeState& self) { self.advance(); });
}

void Scope::close(Duration grace, Task closed) {
  state_->closed.push_back(std::move(closed));
  state_->close(grace);
}

bool Scope::closing() const { return state_->phase != ScopeState::Phase::kOpen; }
Executor& Scope::executor() const { return state_->executor; }
std::string_view Scope::name() const { return state_->name; }
std::size_t Scope::pending() const { return state_->waiting.size(); }
const std::vector<std::string>& Scope::abandoned() const { return state_->abandoned; }

}  // namespace berth
