// SPDX-License-Identifier: Apache-2.0
// A Testbed that nobody uses gives its room back after a while, and takes it again when somebody
// comes.
#pragma once

#include <optional>

#include "base/time.h"
#include "kube/ours/testbed_view.h"

namespace berth::controllers {

struct Idleness {
  std::optional<WallTime> since = {};  // none: it is in use
  std::optional<int> held = {};        // so many slots; none: all
  std::optional<WallTime> look_again = {};
};
Idleness idleness(const kube::TestbedView&, bool idle, WallTime now);

}  // namespace berth::controllers
