// SPDX-License-Identifier: Apache-2.0
// When a node was last heard of, by our own clock. Times in Leases and statuses are of the node's
// clock, which may be wrong, but runs at the same pace: two of them say how much later the second
// heartbeat came than the first. So nobody has to be awake when a heartbeat arrives.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace berth::controllers {

// What is remembered of a node from one look to the next. A value; lost with the process, after
// which a node has a whole grace period again, as k8s 1.36 gives it.
struct Pulse {
  struct Mark {
    WallTime theirs, ours;  // one heartbeat on both clocks
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  std::string uid;  // of the node
  std::optional<Mark> lease = {}, status = {};

  // Takes in what the node's Lease and Ready condition say now; the time of the last heartbeat is
  // the answer. `otherwise` where neither says anything.
  WallTime listen(std::optional<WallTime> renewed, std::optional<WallTime> posted,
                  WallTime otherwise, WallTime now);

  std::string text() const;
  static Pulse parse(std::string_view);
  friend bool operator==(const Pulse&, const Pulse&) = default;
};

}  // namespace berth::controllers
