// SPDX-License-Identifier: Apache-2.0
#include "scheduler/serving/secure_server.h"

#include <fmt/format.h>

namespace berth::scheduler {
namespace {

Result<net::KeyPair> self_signed(const std::string& address) {
  auto authority = net::make_authority("berth-scheduler-ca", 365);
  if (!authority) return authority;
  net::CertificateRequest request{
      .common_name = "berth-scheduler", .dns_names = {"localhost"}, .ip_addresses = {"127.0.0.1"}};
  if (address != "0.0.0.0" && address != "::" && address != "127.0.0.1")
    request.ip_addresses.push_back(address);
  auto pair = net::issue_certificate(*authority, request);
  if (pair) pair->certificate_pem += authority->certificate_pem;
  return pair;
}

}  // namespace

Result<net::HttpServerOptions> secure_server_options(const SecureServingOptions& options) {
  net::TlsServerOptions tls{.certificate_pem = options.certificate_pem,
                            .key_pem = options.key_pem,
                            .request_client_certificate = true};
  if (tls.certificate_pem.empty() != tls.key_pem.empty())
    return invalid("--tls-cert-file and --tls-private-key-file belong together; give both or none");
  if (tls.certificate_pem.empty()) {
    auto pair = self_signed(options.bind_address);
    if (!pair) return tl::unexpected(std::move(pair.error()));
    tls.certificate_pem = std::move(pair->certificate_pem);
    tls.key_pem = std::move(pair->key_pem);
  }
  if (auto good = net::check(tls); !good)
    return invalid(
        fmt::format("--tls-cert-file, --tls-private-key-file: {}", good.error().message));
  net::HttpServerOptions server{
      .address = options.bind_address, .port = options.secure_port, .tls = std::move(tls)};
  // Nobody has much to say to a scheduler, and few have reason to.
  server.limits.connections = 256;
  server.limits.request_body_bytes = 64 << 10;
  server.limits.header_timeout = 10s;
  server.limits.body_timeout = 10s;
  return server;
}

Result<std::unique_ptr<net::HttpServer>> start_secure_server(Executor& loop,
                                                             const SecureServingOptions& options,
                                                             net::HttpHandler& handler) {
  if (options.secure_port == 0) return nullptr;
  auto server = secure_server_options(options);
  if (!server) return tl::unexpected(std::move(server.error()));
  return net::HttpServer::start(loop, std::move(*server), handler);
}

}  // namespace berth::scheduler
