// SPDX-License-Identifier: Apache-2.0
#include "scheduler/serving/secure_port.h"

namespace berth::scheduler {

SecurePort::SecurePort(Scope& scope, client::Transport* authentication,
                       client::Transport* authorization, ServingContent content, const Logger& log,
                       const Random& random, SecurePortOptions options)
    : scope_(scope),
      options_(std::move(options)),
      authenticator_(scope, authentication, random.fork("authentication"), options_.authentication,
                     log),
      authorizer_(scope, authorization, random.fork("authorization"), options_.authorization, log),
      endpoints_(scope, authenticator_, authorizer_, std::move(content), log) {}

Result<Ok> SecurePort::start(std::function<void(Error)> failed) {
  auto server = start_secure_server(scope_.executor(), options_.serving, endpoints_);
  if (!server) return tl::unexpected(std::move(server.error()));
  server_ = std::move(*server);
  if (!server_) return Ok{};  // --secure-port 0
  scope_.on_close([this] { server_.reset(); });
  authenticator_.start(scope_.done<Ok>(kNoLimit, [failed = std::move(failed)](Result<Ok> started) {
    if (!started && started.error().reason != Reason::kCancelled) failed(started.error());
  }));
  return Ok{};
}

}  // namespace berth::scheduler
