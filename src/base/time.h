// SPDX-License-Identifier: Apache-2.0
// Two kinds of time that cannot be mixed up: Instant is monotonic and drives every timer; WallTime
// is data that goes into objects and comes out of them.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace berth {

using Duration = std::chrono::nanoseconds;
using namespace std::chrono_literals;

// Stands for "never" wherever a limit is asked for.
inline constexpr Duration kNoLimit = Duration::max();

// A point on the monotonic clock of one runtime; meaningless outside it.
struct Instant {
  Duration since_start{};

  friend auto operator<=>(const Instant&, const Instant&) = default;
  // kNoLimit later than any instant is never.
  friend constexpr Instant operator+(Instant at, Duration by) {
    const bool never = at.since_start > Duration{} && by > Duration::max() - at.since_start;
    return {never ? Duration::max() : at.since_start + by};
  }
  friend constexpr Duration operator-(Instant a, Instant b) {
    return a.since_start - b.since_start;
  }
};

// Nanoseconds since 1970-01-01T00:00:00Z. May jump.
struct WallTime {
  std::int64_t unix_nanos = 0;

  friend auto operator<=>(const WallTime&, const WallTime&) = default;
  friend constexpr WallTime operator+(WallTime at, Duration by) {
    return {at.unix_nanos + by.count()};
  }
  friend constexpr WallTime operator-(WallTime at, Duration by) {
    return {at.unix_nanos - by.count()};
  }
  friend constexpr Duration operator-(WallTime a, WallTime b) {
    return Duration(a.unix_nanos - b.unix_nanos);
  }
};

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
  virtual WallTime wall() const = 0;
};

}  // namespace berth
