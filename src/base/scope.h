// SPDX-License-Identifier: Apache-2.0
// Lifetime of unfinished work. A Scope owns its timers and pending callbacks; closing it ends them,
// and after `closed` no callback of it runs, ever. Scopes form a tree: process, component, leader
// term, call.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/result.h"

namespace berth {

namespace detail {
struct ScopeState;  // shared by a Scope and the Dones it made; see scope.cc

// One pending answer: fires once, posts home, does nothing once its scope has closed.
class Pending {
 public:
  Pending() = default;
  Pending(std::shared_ptr<ScopeState> home, std::uint64_t id) : home_(std::move(home)), id_(id) {}
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&&) noexcept = default;

  explicit operator bool() const { return home_ != nullptr; }
  // Runs `deliver` on the home executor unless the answer is no longer wanted. Any thread. Empties
  // this.
  void settle(Task deliver);

 private:
  std::shared_ptr<ScopeState> home_;
  std::uint64_t id_ = 0;
};
}  // namespace detail

// The other end of a call. May be fired or dropped on any thread; dropped unfired it delivers
// Cancelled. Never runs inline.
template <class T>
class Done {
 public:
  Done() = default;
  Done(Done&& other) noexcept = default;
  Done& operator=(Done&& other) noexcept {
    if (this != &other) {
      drop();
      pending_ = std::move(other.pending_);
      deliver_ = std::move(other.deliver_);
      other.deliver_ = nullptr;
    }
    return *this;
  }
  ~Done() { drop(); }

  explicit operator bool() const { return static_cast<bool>(pending_); }
  void operator()(Result<T> result) {
    if (!pending_) return;
    pending_.settle([f = deliver_, r = std::move(result)]() mutable { (*f)(std::move(r)); });
    pending_ = {};
  }

 private:
  friend class Scope;
  Done(detail::Pending pending, std::shared_ptr<Fn<void(Result<T>)>> deliver)
      : pending_(std::move(pending)), deliver_(std::move(deliver)) {}
  void drop() {
    if (pending_)
      (*this)(tl::unexpected(Error{.reason = Reason::kCancelled,
                                   .message = "the call was dropped",
                                   .outcome = Outcome::kUnknown}));
  }

  detail::Pending pending_;
  std::shared_ptr<Fn<void(Result<T>)>> deliver_;
};

// Loop-confined to its executor.
class Scope {
 public:
  Scope(Executor& home, std::string_view name);
  ~Scope();  // must be closed or empty, unless its process died
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Fires once: the value, Timeout after `limit`, or Cancelled when the scope closes.
  template <class T>
  Done<T> done(Duration limit, Fn<void(Result<T>)> f) {
    auto shared = std::make_shared<Fn<void(Result<T>)>>(std::move(f));
    detail::Pending pending =
        expect(limit, [shared](Error e) mutable { (*shared)(tl::unexpected(std::move(e))); });
    return Done<T>(std::move(pending), std::move(shared));
  }
  void post(Task);                                      // not run once closed
  TimerId after(Duration, Task, Timer = Timer::kWork);  // cancelled on close
  bool cancel(TimerId);
  Scope& child(std::string_view name);  // owned by this scope until it has closed
  void on_close(Task);                  // run in reverse order when closing starts
  // Children first, then on_close tasks, then waits up to `grace` for pending calls; what is left
  // then gets Cancelled.
  void close(Duration grace, Task closed);

  bool closing() const;
  Executor& executor() const;
  std::string_view name() const;
  std::size_t pending() const;  // unfinished calls, for logs and tests

 private:
  detail::Pending expect(Duration limit, Fn<void(Error)> give_up);
  std::shared_ptr<detail::ScopeState> state_;
};

}  // namespace berth
