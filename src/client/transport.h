// SPDX-License-Identifier: Apache-2.0
// The way to an API server: over HTTP, or by a direct call in the same process.
#pragma once

#include "base/scope.h"
#include "kube/api.h"

namespace berth::client {

// Thread-safe. Replies arrive on the home executor of the Done. A watch is a call whose reply
// carries a WatchStream; its deadline covers the opening only. Errors are typed from the Status
// body, and their `outcome` says whether a write may have happened.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual void call(kube::ApiRequest, Instant deadline, Done<kube::ApiReply>) = 0;
};

}  // namespace berth::client
