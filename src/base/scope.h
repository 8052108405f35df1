// SPDX-License-Identifier: Apache-2.0
// Lifetime of unfinished work. A Scope owns its timers and pending callbacks; closing it ends them,
// and after `closed` no callback of it runs, ever. Scopes form a tree: process, component, leader
// term, call.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/result.h"

namespace berth {

namespace detail {
struct ScopeState;  // shared by a Scope and the Dones it made; see scope.cc

// What waits for an answer. Called once, at home: with the Result<T>, or with null and an error.
using Answer = Fn<void(void* result, Error* error)>;

// The address of one waiting answer. Holding it keeps nothing alive but the address.
class Pending {
 public:
  Pending() = default;
  Pending(std::shared_ptr<ScopeState> home, std::uint64_t id) : home_(std::move(home)), id_(id) {}

  explicit operator bool() const { return home_ != nullptr; }
  Executor& executor() const;  // any thread
  void answer(void* result);   // at home; does nothing once the answer is no longer wanted

 private:
  std::shared_ptr<ScopeState> home_;
  std::uint64_t id_ = 0;
};
}  // namespace detail

// The other end of a call. May be fired or dropped on any thread; dropped unfired it delivers
// Cancelled. Never runs inline. The callback itself stays at home and is destroyed there.
template <class T>
class Done {
 public:
  Done() = default;
  Done(Done&& other) noexcept = default;
  Done& operator=(Done&& other) noexcept {
    if (this != &other) {
      drop();
      pending_ = std::move(other.pending_);
    }
    return *this;
  }
  ~Done() { drop(); }

  explicit operator bool() const { return static_cast<bool>(pending_); }
  void operator()(Result<T> result) {
    if (!pending_) return;
    Executor& home = pending_.executor();
    home.post(
        [pending = std::move(pending_), r = std::move(result)]() mutable { pending.answer(&r); });
  }

 private:
  friend class Scope;
  explicit Done(detail::Pending pending) : pending_(std::move(pending)) {}
  void drop() {
    if (pending_)
      (*this)(tl::unexpected(Error{.reason = Reason::kCancelled,
                                   .message = "the call was dropped",
                                   .outcome = Outcome::kUnknown}));
  }

  detail::Pending pending_;
};

// Loop-confined to its executor.
class Scope {
 public:
  Scope(Executor& home, std::string_view name);
  ~Scope();  // must be closed or empty, unless its process died
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Fires once: the value, Timeout after `limit`, or Cancelled when the scope closes. Asked of a
  // closed scope it is empty: it never fires.
  template <class T>
  Done<T> done(Duration limit, Fn<void(Result<T>)> f) {
    return Done<T>(expect(limit, [f = std::move(f)](void* result, Error* error) mutable {
      if (result != nullptr)
        f(std::move(*static_cast<Result<T>*>(result)));
      else
        f(tl::unexpected(std::move(*error)));
    }));
  }
  void post(Task);                                      // not run once closed
  TimerId after(Duration, Task, Timer = Timer::kWork);  // cancelled on close
  bool cancel(TimerId);                                 // false: it already ran
  // Owned by this scope; gone once its own `closed` has run.
  Scope& child(std::string_view name);
  void on_close(Task);  // run in reverse order when closing starts
  // Children first; then timers are cancelled and on_close tasks run; then pending calls, also
  // those that on_close made, have the rest of `grace`, and what is left gets Cancelled. Closing
  // again can only shorten the grace. Nothing of this runs inline.
  void close(Duration grace, Task closed);

  bool closing() const;
  Executor& executor() const;
  std::string_view name() const;
  std::size_t pending() const;  // unfinished calls, for logs and tests
  // "process/term: 2 calls": what the grace did not suffice for, here and below. For `closed`.
  const std::vector<std::string>& abandoned() const;

 private:
  friend struct detail::ScopeState;
  detail::Pending expect(Duration limit, detail::Answer);
  std::shared_ptr<detail::ScopeState> state_;
};

}  // namespace berth
