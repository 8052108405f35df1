// SPDX-License-Identifier: Apache-2.0
// The way to an API server over HTTP/1.1, plain or TLS.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/runtime.h"
#include "client/cluster_config.h"
#include "client/transport.h"

namespace berth::client {

struct HttpTransportOptions {
  std::string loop = "io0";             // sockets and decoding run here
  std::string user_agent = {};          // "": berth/<version>; the platform is appended
  std::size_t connections = 32;         // requests at a time, watches aside; the others queue
  std::size_t offload_from = 64 << 10;  // lists of more bytes are decoded off the loop
  std::size_t most_line = std::size_t{16} << 20;  // one watch event
  net::HttpLimits limits = {};
};

// Thread-safe. Destroying it ends every call in progress with Cancelled; off its loop the
// destructor waits until that is done. Watches that outlive it answer Cancelled.
class HttpTransport final : public Transport {
 public:
  // Certificates are read and checked here; credentials from a plugin or a token file are asked for
  // with the first request. `runtime` is a RealRuntime; it and `log` outlive the transport.
  static Result<std::unique_ptr<HttpTransport>> create(Runtime& runtime, ClusterConfig,
                                                       const Logger& log, HttpTransportOptions = {},
                                                       Surroundings = Surroundings::real());
  ~HttpTransport() override;
  void call(kube::ApiRequest, Instant deadline, Done<kube::ApiReply>) override;

 private:
  struct Core;
  class Call;
  class Watch;
  explicit HttpTransport(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace berth::client
