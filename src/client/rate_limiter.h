// SPDX-License-Identifier: Apache-2.0
// Holds requests back so that one client does not flood the API server: one token bucket, three
// classes, the most urgent first.
#pragma once

#include <array>
#include <cstddef>
#include <deque>

#include "base/scope.h"

namespace berth::client {

// Whose turn it is when the rate limiter holds requests back.
enum class Urgency : unsigned char { kBind, kStatus, kEvent };

struct RateLimit {
  double qps = 50;             // must be positive; for no limit use no limiter
  int burst = 100;             // at least 1
  std::size_t queue = 20'000;  // waiting requests, all classes together
};

// Loop-confined to its scope's executor. A class waits for as long as a more urgent one has
// anything to send; within a class it is first come, first served.
class RateLimiter {
 public:
  RateLimiter(Scope&, RateLimit);

  // Fires when the request may leave. TooManyRequests (never sent) when the queue is full. One that
  // has waited until `give_up` is not given a token any more: nobody may be waiting for it.
  void acquire(Urgency, Instant give_up, Done<Ok>);
  std::size_t waiting() const;

 private:
  struct Waiter {
    Instant give_up;
    Done<Ok> go;
  };
  void serve();

  Scope& scope_;
  Duration interval_;   // between tokens
  Duration tolerance_;  // how far ahead of the steady rate a burst may run
  std::size_t most_;
  Instant next_;  // when the steady rate would allow the next request
  TimerId timer_ = TimerId::kNone;
  std::array<std::deque<Waiter>, 3> queues_;
};

}  // namespace berth::client
