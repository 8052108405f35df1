// SPDX-License-Identifier: Apache-2.0
// How long a Job waits before it replaces a pod that failed: 10 s, doubling with each failure since
// the last success, up to 10 min.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "kube/object.h"

namespace berth::controllers {

// When a pod ended, by the best witness there is.
WallTime ended_at(const kube::Object& pod);

// What is left of the wait after the given number of failures.
Duration backoff_left(std::int64_t failures, WallTime last_failure, WallTime now);

// The failures of a Job since its last success. Pods tell most of it; those that are gone are
// remembered as a text. Adding a pod again changes nothing, so it does not matter which run was
// performed to its end. A value.
class FailureHistory {
 public:
  explicit FailureHistory(std::string_view remembered);
  void succeeded(WallTime at);
  void failed(std::string_view uid, WallTime at);
  Duration left(WallTime now) const;
  std::string text() const;  // "" when there is nothing to remember

 private:
  struct Failure {
    std::string uid;
    WallTime at;
  };
  std::vector<Failure> since_success() const;  // the last few, the oldest first
  std::vector<Failure> failures_;
  std::optional<WallTime> success_;
};

}  // namespace berth::controllers
