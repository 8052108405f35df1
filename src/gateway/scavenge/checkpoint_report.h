// SPDX-License-Identifier: Apache-2.0
// What a program says when it has written a checkpoint. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace berth::gateway {

struct CheckpointReport {
  std::optional<WallTime> at = {};    // none: now
  std::optional<Duration> took = {};  // to write it
  std::string pod = {};               // for whom; "": whoever calls
};

// {"time": RFC 3339, "seconds": 2.5, "pod": name}, all of them optional, or nothing at all. What is
// not known is left alone: programs may tell more. BadRequest says what is wrong.
Result<CheckpointReport> checkpoint_report(std::string_view body);

// The patch of the pod's annotations. What is said of the future is said of now.
std::string checkpoint_patch(const CheckpointReport&, WallTime now);

}  // namespace berth::gateway
