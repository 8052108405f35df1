// SPDX-License-Identifier: Apache-2.0
// Which simulated nodes are not heard of, for whoever judges nodes on another loop.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"

namespace berth::lab {

// Thread-safe.
class Silence {
 public:
  // The time of the last heartbeat of a node that has fallen silent; nothing while it is heard.
  std::optional<WallTime> since(const std::string& node) const;
  // Called with a node's name, on the lab's loop, when the answer above has changed. A later
  // subscriber takes the place of this one.
  void subscribe(std::function<void(const std::string& node)> changed);

  void set(const std::string& node, std::optional<WallTime> since);  // the lab's

 private:
  mutable std::mutex mutex_;
  std::map<std::string, WallTime, std::less<>> silent_;
  std::function<void(const std::string&)> changed_;
};

}  // namespace berth::lab
