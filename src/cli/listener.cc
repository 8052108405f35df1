// SPDX-License-Identifier: Apache-2.0
#include "cli/listener.h"

#include <fmt/format.h>

#include "cli/named_file.h"
#include "net/address.h"

namespace berth::cli {

Result<std::uint16_t> port_of(const char* flag, std::int64_t port) {
  if (port >= 0 && port <= 65535) return static_cast<std::uint16_t>(port);
  return tl::unexpected(
      usage_error(fmt::format("{} {}: a port is 0 to 65535 (0: a free one)", flag, port)));
}

void ListenerFlags::add_to(Command& command, const char* what_client_ca_is_for) {
  command
      .flag("--kubeconfig", &connect.kubeconfig,
            "how to reach the cluster; default: $KUBECONFIG, ~/.kube/config, or the pod's own",
            "FILE")
      .flag("--context", &connect.context, "context of the kubeconfig", "NAME")
      .flag("--address", &address, "listen on this address", "IP")
      .flag("--port", &port, "and port; 0: a free one", "PORT")
      .flag("--tls-cert-file", &cert_file, "serve TLS with this certificate", "FILE")
      .flag("--tls-private-key-file", &key_file, "and its key", "FILE")
      .flag("--client-ca-file", &client_ca_file, what_client_ca_is_for, "FILE");
}

Result<std::optional<net::TlsServerOptions>> ListenerFlags::tls(const char* what) const {
  if (cert_file.empty() && key_file.empty()) {
    if (net::is_loopback(address)) return std::nullopt;
    return tl::unexpected(
        usage_error(fmt::format("--address {}: {} would travel in the open; give --tls-cert-file "
                                "and --tls-private-key-file, or listen on 127.0.0.1",
                                address, what)));
  }
  net::TlsServerOptions made;
  const std::pair<const std::string*, std::string*> files[] = {
      {&cert_file, &made.certificate_pem},
      {&key_file, &made.key_pem},
      {&client_ca_file, &made.client_ca_pem}};
  for (const auto& [path, contents] : files) {
    if (path->empty()) continue;
    Result<std::string> read = read_named_file(*path);
    if (!read) return tl::unexpected(read.error());
    *contents = *std::move(read);
  }
  if (Result<Ok> good = net::check(made); !good)
    return tl::unexpected(usage_error("TLS: " + good.error().message));
  return made;
}

}  // namespace berth::cli
