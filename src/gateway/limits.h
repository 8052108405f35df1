// SPDX-License-Identifier: Apache-2.0
// What callers may cost. Counted before anything is asked of the API server, so that nobody can
// spend its time by asking us.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace berth::gateway {

struct Limits {
  double requests_per_address = 20;  // a second; bursts of twice as many
  double requests_in_all = 200;
  std::size_t streams_per_user = 16;
  std::size_t frame_bytes = 64 << 10;  // of a WebSocket message or a STOMP frame
  std::size_t frame_headers = 32;
  std::size_t frame_header_bytes = 1 << 10;
  std::size_t body_bytes = 1 << 20;
  std::size_t connections = 2000;
};

// A steady rate with some room for bursts. Thread-compatible; a value.
class Pace {
 public:
  Pace(double per_second, double burst)
      : interval_(static_cast<std::int64_t>(1e9 / per_second)),
        tolerance_(static_cast<std::int64_t>(burst * 1e9 / per_second)) {}
  // Nothing: go on. Else how long to wait; then this one does not count.
  std::optional<Duration> take(Instant now);
  bool idle(Instant now) const { return next_ <= now; }

 private:
  Duration interval_, tolerance_;
  Instant next_ = {};  // when a steady caller would come next
};

// Thread-compatible.
class RequestLimits {
 public:
  explicit RequestLimits(const Limits& limits)
      : per_address_(limits.requests_per_address),
        all_(limits.requests_in_all, 2 * limits.requests_in_all) {}
  // One address' surplus does not use up what there is for all.
  std::optional<Duration> take(const std::string& address, Instant now);
  std::size_t known() const { return addresses_.size(); }

 private:
  double per_address_;
  Pace all_;
  std::map<std::string, Pace, std::less<>> addresses_;
};

}  // namespace berth::gateway
