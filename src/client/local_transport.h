// SPDX-License-Identifier: Apache-2.0
// The way to an API server in the same process: handles are passed, nothing is printed or parsed.
#pragma once

#include <functional>
#include <memory>

#include "base/executor.h"
#include "client/transport.h"

namespace berth::client {

// Thread-safe. The handler and its executor outlive every call in progress. A call that reaches the
// handler after its deadline is not begun; one that has begun is bounded by the limit of its Done.
class LocalTransport final : public Transport {
 public:
  // `latency` draws how long a call travels; it is asked on the caller's thread. Without it calls
  // arrive at once.
  LocalTransport(Executor& home, kube::ApiHandler& handler, kube::User user,
                 std::function<Duration()> latency = nullptr);
  void call(kube::ApiRequest, Instant deadline, Done<kube::ApiReply>) override;

 private:
  Executor& home_;
  kube::ApiHandler& handler_;
  kube::User user_;
  std::function<Duration()> latency_;
};

}  // namespace berth::client
