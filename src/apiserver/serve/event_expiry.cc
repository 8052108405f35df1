// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/event_expiry.h"

#include <algorithm>

namespace berth::apiserver {
namespace {

// Not one timer an event: those that are due soon go together.
constexpr Duration kTogether = std::chrono::seconds(10);
constexpr std::size_t kAtOnce = 500;

}  // namespace

void EventExpiry::note(const kube::Object& event) {
  due_.push_back({scope_.executor().clock().now() + after_, event.key(), event.revision()});
  arm();
}

void EventExpiry::note_all() {
  if (store_.count(kube::kCoreEvent) == 0) return;
  const auto page = store_.list({.kind = kube::kCoreEvent});
  if (!page) return;
  for (const kube::Object& event : page->items) note(event);
}

void EventExpiry::arm() {
  if (armed_ || due_.empty() || scope_.closing()) return;
  armed_ = true;
  const Duration wait = due_.front().at - scope_.executor().clock().now() + kTogether;
  scope_.after(
      std::max(wait, Duration{}),
      [this] {
        armed_ = false;
        expire();
      },
      Timer::kBackground);
}

void EventExpiry::expire() {
  const Instant now = scope_.executor().clock().now();
  for (std::size_t i = 0; i < kAtOnce && !due_.empty() && due_.front().at <= now; ++i) {
    const Due due = std::move(due_.front());
    due_.pop_front();
    const kube::Object* event = store_.get(kube::kCoreEvent, due.key, View::kTip);
    // One that was written again is due later.
    if (event == nullptr || event->revision() != due.revision) continue;
    store_.write({.kind = kube::kCoreEvent, .key = due.key, .revision = due.revision},
                 scope_.done<Committed>(kNoLimit, [](const Result<Committed>&) {}));
  }
  arm();
}

}  // namespace berth::apiserver
