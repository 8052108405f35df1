// SPDX-License-Identifier: Apache-2.0
// Whether a node is heard of. On a real cluster that is read from Leases and node statuses; whoever
// simulates nodes knows it without a write every ten seconds, and says so here.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/time.h"

namespace berth::controllers {

// Thread-safe. Outlives the controllers that ask it.
class Heartbeats {
 public:
  virtual ~Heartbeats() = default;
  // The time of the last heartbeat of a node that has fallen silent; nothing while it is heard.
  virtual std::optional<WallTime> silent_since(const std::string& node) const = 0;
  // `changed` is called with a node's name, from any thread, when the answer above has changed. It
  // may be called for as long as the process lives; a later subscriber takes the place of this one.
  virtual void subscribe(std::function<void(const std::string& node)> changed) = 0;
};

}  // namespace berth::controllers
