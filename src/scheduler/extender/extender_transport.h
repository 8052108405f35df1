// SPDX-License-Identifier: Apache-2.0
// The way to one extender. Over HTTP for real; a world in virtual time has its own.
#pragma once

#include <memory>
#include <string>

#include "base/scope.h"
#include "client/surroundings.h"
#include "scheduler/extender/extender_config.h"

namespace berth::scheduler {

struct ExtenderReply {
  int status = 200;
  std::string location = {};  // of a redirection
  std::string body = {};      // of a 200: its first JSON value, nothing behind it
};

// Loop-confined. Answers by the deadline, whatever the other side does, and never holds more than
// `most_reply` bytes of its reply.
class ExtenderTransport {
 public:
  virtual ~ExtenderTransport() = default;
  // `target` is a path below the extender's origin.
  virtual void post(std::string target, std::string body, std::size_t most_reply, Instant deadline,
                    Done<ExtenderReply>) = 0;
};

// Connections of its own, at most `idle` of them kept open. Certificates are read and checked here;
// an error names what is wrong. `scope` is on a loop of a RealRuntime and outlives the transport.
Result<std::unique_ptr<ExtenderTransport>> connect_extender(
    Scope& scope, const ExtenderConfig&, std::size_t idle,
    const client::Surroundings& = client::Surroundings::real());

}  // namespace berth::scheduler
