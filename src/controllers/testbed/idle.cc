// SPDX-License-Identifier: Apache-2.0
#include "controllers/testbed/idle.h"

namespace berth::controllers {

Idleness idleness(const kube::TestbedView& testbed, bool idle, WallTime now) {
  const auto policy = testbed.idle_policy();
  if (!idle || !policy) return {};
  Idleness out{.since = testbed.idle_since().value_or(now)};
  const WallTime shrinks = *out.since + policy->after;
  if (now >= shrinks)
    out.held = policy->shrink_to;
  else
    out.look_again = shrinks;
  return out;
}

}  // namespace berth::controllers
