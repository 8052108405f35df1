// SPDX-License-Identifier: Apache-2.0
// The secure port: HTTPS that asks for client certificates and takes any, for Endpoints to judge.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/http_server.h"

namespace berth::scheduler {

struct SecureServingOptions {
  std::string bind_address = "0.0.0.0";  // --bind-address
  std::uint16_t secure_port = 10259;     // --secure-port; 0: nothing is served
  // The contents of --tls-cert-file and --tls-private-key-file; both empty: a self-signed pair is
  // made and forgotten with the process.
  std::string certificate_pem = {}, key_pem = {};
};

// What to start a server with; an error names the flag.
Result<net::HttpServerOptions> secure_server_options(const SecureServingOptions&);
// Null when the port is 0. `handler` outlives the server.
Result<std::unique_ptr<net::HttpServer>> start_secure_server(Executor& loop,
                                                             const SecureServingOptions&,
                                                             net::HttpHandler& handler);

}  // namespace berth::scheduler
