// SPDX-License-Identifier: Apache-2.0
// Keeps a key back until the caches show what its last run wrote. One mechanism instead of
// expectations: there are no counters to leak, and a controller always sees its own writes.
#pragma once

#include <vector>

#include "base/metrics.h"
#include "base/scope.h"
#include "client/api.h"
#include "runtime/caches.h"

namespace berth::runtime {

inline constexpr Duration kCachePatience = 10s;

// Runs `then` when all waits hold; never inline. A cache that shows nothing for 10 s is counted
// (`late`), and the server is asked: if it no longer knows of the write (it was restored from an
// older state), there is nothing to wait for.
void hold(Scope&, Caches&, client::Api&, std::vector<Wait>, Counter late, Task then);

}  // namespace berth::runtime
