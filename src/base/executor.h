// SPDX-License-Identifier: Apache-2.0
// A serial place: tasks run one at a time, in posting order. Real: a thread's event loop. Virtual:
// a lane of a World.
#pragma once

#include <cstdint>

#include "base/fn.h"
#include "base/time.h"

namespace berth {

enum class TimerId : std::uint64_t { kNone = 0 };

enum class Timer : unsigned char {
  kWork,
  kBackground,  // leases, bookmarks, renewals: does not keep a World busy
};

// Outlives every Scope, Done and timer that refers to it.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void post(Task) = 0;  // from any thread; never runs inline
  virtual TimerId at(Instant, Task, Timer = Timer::kWork) = 0;  // only from here
  virtual bool cancel(TimerId) = 0;  // only from here; false: it already ran or never was
  virtual const Clock& clock() const = 0;
  virtual bool here() const = 0;  // does the caller run on this executor?
  // Its process was killed: post and at do nothing, and what stood on it may go without a word.
  virtual bool dead() const { return false; }
};

}  // namespace berth
