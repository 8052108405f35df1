// SPDX-License-Identifier: Apache-2.0
#include "lab/silence.h"

#include <utility>

namespace berth::lab {

std::optional<WallTime> Silence::since(const std::string& node) const {
  const std::lock_guard lock(mutex_);
  const auto found = silent_.find(node);
  return found == silent_.end() ? std::nullopt : std::optional(found->second);
}

void Silence::subscribe(std::function<void(const std::string&)> changed) {
  const std::lock_guard lock(mutex_);
  changed_ = std::move(changed);
}

void Silence::set(const std::string& node, std::optional<WallTime> since) {
  std::function<void(const std::string&)> changed;
  {
    const std::lock_guard lock(mutex_);
    const auto found = silent_.find(node);
    const bool was = found != silent_.end();
    if (was == since.has_value() && (!was || found->second == *since)) return;
    if (since)
      silent_[node] = *since;
    else
      silent_.erase(found);
    changed = changed_;
  }
  if (changed) changed(node);
}

}  // namespace berth::lab
