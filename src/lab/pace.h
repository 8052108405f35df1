// SPDX-License-Identifier: Apache-2.0
// How fast simulated pods live where their annotations do not say.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace berth::lab {

// The longest that anything takes: whatever strangers write, it can be added to any time of day.
inline constexpr Duration kAges = 24h * 365 * 100;

constexpr Duration seconds_of(std::int64_t count) {
  constexpr std::int64_t kMost = kAges / 1s;
  return std::chrono::seconds(std::clamp(count, -kMost, kMost));
}

constexpr Duration stretched(Duration time, double factor) {
  const double nanos = static_cast<double>(time.count()) * factor;
  return nanos < static_cast<double>(kAges.count()) ? Duration(static_cast<std::int64_t>(nanos))
                                                    : kAges;
}

// A time drawn evenly between two.
struct Span {
  Duration least{}, most{};
};

struct Pace {
  Span start = {300ms, 1500ms};  // from a kubelet's first look at a pod to its first container
  Span init = {200ms, 1s};       // how long an init container runs
  Span ready = {0s, 0s};         // from a container's start to its readiness, without a probe
  Span job = {5s, 15s};          // how long the pods of Jobs work
  Span stop = {0s, 500ms};       // from the signal to stop to the end
  bool read_commands = true;     // `sleep 30`, `exit 1` and the like mean what they say
};

// Everything at once: for tests and for simulations in which only stated times count.
inline constexpr Pace kAtOnce = {{}, {}, {}, {}, {}, true};

}  // namespace berth::lab
