// SPDX-License-Identifier: Apache-2.0
#include "client/rate_limiter.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace berth::client {

RateLimiter::RateLimiter(Scope& scope, RateLimit limit)
    : scope_(scope), most_(limit.queue), next_(scope.executor().clock().now()) {
  BERTH_CHECK(limit.qps > 0 && limit.burst >= 1, "a rate limit lets something through");
  interval_ = Duration(static_cast<Duration::rep>(1e9 / limit.qps));
  tolerance_ = interval_ * (limit.burst - 1);
}

std::size_t RateLimiter::waiting() const {
  std::size_t sum = 0;
  for (const auto& queue : queues_) sum += queue.size();
  return sum;
}

void RateLimiter::acquire(Urgency urgency, Instant give_up, Done<Ok> go) {
  if (waiting() >= most_)
    return go(tl::unexpected(Error{.reason = Reason::kTooManyRequests,
                                   .message = "too many requests wait for the client's own rate "
                                              "limit; raise it or ask for less",
                                   .outcome = Outcome::kNotSent}));
  queues_[static_cast<std::size_t>(urgency)].push_back({give_up, std::move(go)});
  if (timer_ == TimerId::kNone) serve();
}

void RateLimiter::serve() {
  timer_ = TimerId::kNone;
  const Instant now = scope_.executor().clock().now();
  for (auto& queue : queues_) {
    while (!queue.empty()) {
      if (queue.front().give_up > now) {
        const Instant from = std::max(next_, now);
        const Duration ahead = from - now;
        if (ahead > tolerance_) {
          timer_ = scope_.after(ahead - tolerance_, [this] { serve(); });
          return;
        }
        next_ = from + interval_;
        queue.front().go(Ok{});
      } else {
        queue.front().go(tl::unexpected(Error{.reason = Reason::kTimeout,
                                              .message = "waited too long for the client's own "
                                                         "rate limit",
                                              .outcome = Outcome::kNotSent}));
      }
      queue.pop_front();
    }
  }
}

}  // namespace berth::client
