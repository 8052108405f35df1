// SPDX-License-Identifier: Apache-2.0
#include "cli/serving_flags.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/named_file.h"
#include "net/tls.h"

namespace berth::cli {
namespace {

// What would only be noticed when the server is to start, or when somebody calls.
Result<Ok> check_serving(const ServingFlags& flags, const scheduler::SecurePortOptions& served) {
  in6_addr ignored{};
  if (inet_pton(AF_INET, flags.bind_address.c_str(), &ignored) != 1 &&
      inet_pton(AF_INET6, flags.bind_address.c_str(), &ignored) != 1)
    return tl::unexpected(usage_error(
        fmt::format("--bind-address {}: not an IP address; write one like 0.0.0.0, 127.0.0.1 or ::",
                    flags.bind_address)));
  if (!served.serving.certificate_pem.empty() || !served.serving.key_pem.empty())
    if (const auto server = scheduler::secure_server_options(served.serving); !server)
      return tl::unexpected(usage_error(server.error().message));
  const std::string& trusted = served.authentication.client_ca_pem;
  if (Result<Ok> good = net::check(net::TlsClientOptions{.ca_pem = trusted}); !good)
    return tl::unexpected(usage_error(
        fmt::format("--client-ca-file {}: {}", flags.client_ca_file, good.error().message)));
  const std::pair<const char*, const std::string&> kubeconfigs[] = {
      {"--authentication-kubeconfig", flags.authentication_kubeconfig},
      {"--authorization-kubeconfig", flags.authorization_kubeconfig}};
  for (const auto& [flag, path] : kubeconfigs) {
    if (path.empty()) continue;
    const auto cluster =
        client::choose_cluster(client::Surroundings::real(), client::ConnectOptions{path, "", ""});
    if (cluster) continue;
    std::string message = cluster.error().message;
    constexpr std::string_view kUsual = "--kubeconfig";
    if (const std::size_t at = message.find(kUsual); at != std::string::npos)
      message.replace(at, kUsual.size(), flag);
    return tl::unexpected(usage_error(std::move(message)));
  }
  return Ok{};
}

Result<std::unique_ptr<client::Cluster>> other_cluster(Runtime& runtime,
                                                       const std::string& kubeconfig,
                                                       const Logger& log) {
  if (kubeconfig.empty()) return nullptr;
  auto other = client::connect(runtime, client::ConnectOptions{kubeconfig, "", ""}, log);
  if (!other) return tl::unexpected(usage_error(other.error().message));
  return other;
}

}  // namespace

void ServingFlags::add_to(Command& command) {
  command
      .flag("--secure-port", &secure_port, "serve health and metrics here, over HTTPS; 0: nowhere",
            "PORT")
      .flag("--bind-address", &bind_address, "and on this address", "IP")
      .flag("--tls-cert-file", &tls_cert_file,
            "certificate to serve with; default: one made at start", "FILE")
      .flag("--tls-private-key-file", &tls_key_file, "and its key", "FILE")
      .flag("--client-ca-file", &client_ca_file, "trust client certificates signed by these",
            "FILE")
      .flag("--authentication-kubeconfig", &authentication_kubeconfig,
            "cluster to ask who a caller is; default: the same", "FILE")
      .flag("--authorization-kubeconfig", &authorization_kubeconfig,
            "cluster to ask what a caller may do; default: the same", "FILE")
      .flag("--authentication-skip-lookup", &skip_lookup, "do not read whom the cluster trusts")
      .choice("--authentication-tolerate-lookup-failure", &tolerate_lookup_failure,
              {"true", "false"}, "go on where that cannot be read")
      .flag("--authorization-always-allow-paths", &always_allow_paths, "paths that are open to all",
            "PATH");
}

Result<scheduler::SecurePortOptions> ServingFlags::options() const {
  scheduler::SecurePortOptions served;
  if (secure_port < 0 || secure_port > 65535)
    return tl::unexpected(usage_error(
        fmt::format("--secure-port {}: a port is 0 to 65535 (0: serve nothing)", secure_port)));
  served.serving.bind_address = bind_address;
  served.serving.secure_port = static_cast<std::uint16_t>(secure_port);
  const std::pair<const std::string*, std::string*> files[] = {
      {&tls_cert_file, &served.serving.certificate_pem},
      {&tls_key_file, &served.serving.key_pem},
      {&client_ca_file, &served.authentication.client_ca_pem}};
  for (const auto& [path, contents] : files) {
    if (path->empty()) continue;
    Result<std::string> read = read_named_file(*path);
    if (!read) return tl::unexpected(read.error());
    *contents = std::move(*read);
  }
  if (Result<Ok> good = check_serving(*this, served); !good) return tl::unexpected(good.error());
  served.authentication.skip_lookup = skip_lookup;
  served.authentication.tolerate_lookup_failure = tolerate_lookup_failure == "true";
  served.authorization.always_allow_paths = always_allow_paths;
  if (Result<Ok> good = scheduler::check(served.authorization); !good)
    return tl::unexpected(usage_error(good.error().message));
  return served;
}

Result<AskedClusters> AskedClusters::connect(Runtime& runtime, const ServingFlags& flags,
                                             const Logger& log) {
  AskedClusters asked;
  const std::pair<const std::string*, std::unique_ptr<client::Cluster>*> others[] = {
      {&flags.authentication_kubeconfig, &asked.authentication_},
      {&flags.authorization_kubeconfig, &asked.authorization_}};
  for (const auto& [kubeconfig, into] : others) {
    auto other = other_cluster(runtime, *kubeconfig, log);
    if (!other) return tl::unexpected(other.error());
    *into = std::move(*other);
  }
  return asked;
}

std::string version_json() {
  return fmt::format(R"({{"gitVersion":"v{}","platform":"linux"}})", BERTH_VERSION);
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? std::string(name) : std::string("unknown");
}

}  // namespace berth::cli
