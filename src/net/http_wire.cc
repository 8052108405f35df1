// SPDX-License-Identifier: Apache-2.0
#include "net/http_wire.h"

#include <algorithm>

namespace berth::net {

std::unique_ptr<Wire> WirePool::take() {
  if (resting_.empty()) return nullptr;
  Resting last = std::move(resting_.back());
  resting_.pop_back();
  loop_.cancel(last.expiry);
  last.wire->forget_handlers();
  last.wire->reused = true;
  return std::move(last.wire);
}

void WirePool::put(std::unique_ptr<Wire> wire) {
  if (size_ == 0) return;
  if (resting_.size() >= size_) drop(resting_.front().wire.get());
  Wire* const key = wire.get();
  // A server that closes a resting connection, or talks unasked, is noticed at once, so that the
  // next request does not fail on it.
  key->read([this, key](const Stream::Bytes&) { drop(key); });
  const TimerId expiry = loop_.at(
      loop_.clock().now() + idle_timeout_,
      [pool = weak_from_this(), key] {
        if (const auto alive = pool.lock()) alive->drop(key);
      },
      Timer::kBackground);
  resting_.push_back({std::move(wire), expiry});
}

void WirePool::drop(const Wire* wire) {
  const auto found = std::find_if(resting_.begin(), resting_.end(),
                                  [&](const Resting& r) { return r.wire.get() == wire; });
  if (found == resting_.end()) return;
  const Resting dropped = std::move(*found);
  resting_.erase(found);
  loop_.cancel(dropped.expiry);
}

void WirePool::clear() {
  for (const Resting& dropped : std::exchange(resting_, {})) loop_.cancel(dropped.expiry);
}

}  // namespace berth::net
