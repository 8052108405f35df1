// SPDX-License-Identifier: Apache-2.0
// What resourceVersion, resourceVersionMatch and sendInitialEvents of a watch request mean
// together.
#pragma once

#include "base/result.h"
#include "kube/api.h"

namespace berth::apiserver {

struct WatchPlan {
  kube::Revision at_least = 0;    // wait until this is published
  kube::Revision after = 0;       // events above it; not with initial_events
  bool initial_events = false;    // first what there is
  bool initial_bookmark = false;  // then a bookmark that says so
  bool bookmarks = false;
};

// BadRequest and Invalid with the real server's words.
Result<WatchPlan> plan_watch(const kube::Options&);

}  // namespace berth::apiserver
