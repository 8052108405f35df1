// SPDX-License-Identifier: Apache-2.0
#include "client/cluster_config.h"

#include <fmt/format.h>

#include "client/one_line.h"

namespace berth::client {

Result<std::string> Material::read(const Surroundings& surroundings) const {
  // k8s 1.36: inline data goes before a file; a token's file goes before inline data, see
  // credentials.cc.
  if (!data.empty() || file.empty()) return data;
  Result<std::string> bytes = surroundings.read_file(file);
  if (!bytes)
    return invalid(fmt::format("{}: cannot read {}: {}; create it or correct the path", place, file,
                               bytes.error().message));
  return bytes;
}

namespace {

Result<net::TlsClientOptions> load(const ClusterConfig& config, const Surroundings& surroundings) {
  net::TlsClientOptions tls;
  tls.server_name = config.server_name;
  tls.insecure_skip_verify = config.insecure_skip_verify;
  if (!config.url.origin.tls) return tls;

  const auto wrong = [](const Material& material, const std::string& message) {
    const std::string file = material.file.empty() ? "" : " (" + material.file + ")";
    const bool data = material.file.empty();
    return invalid(
        fmt::format("{}{}: {}; put {} there", material.place, file, message,
                    data ? "the base64 of a PEM file that is valid" : "a PEM file that is valid"));
  };
  Result<std::string> ca = config.ca.read(surroundings);
  if (!ca) return tl::unexpected(ca.error());
  tls.ca_pem = std::move(*ca);
  // An empty file would otherwise mean "the system's roots".
  if (config.ca.set() && tls.ca_pem.empty()) return wrong(config.ca, "is empty");
  if (config.ca.set())
    if (Result<Ok> good = net::check(tls); !good) return wrong(config.ca, good.error().message);

  Result<std::string> certificate = config.certificate.read(surroundings);
  if (!certificate) return tl::unexpected(certificate.error());
  Result<std::string> key = config.key.read(surroundings);
  if (!key) return tl::unexpected(key.error());
  tls.certificate_pem = std::move(*certificate);
  tls.key_pem = std::move(*key);
  if (config.certificate.set() && tls.certificate_pem.empty())
    return wrong(config.certificate, "is empty");
  if (config.key.set() && tls.key_pem.empty()) return wrong(config.key, "is empty");
  if (config.certificate.set())
    if (Result<Ok> good = net::check(tls); !good)
      return wrong(config.certificate, good.error().message);
  return tls;
}

}  // namespace

Result<net::TlsClientOptions> tls_of(const ClusterConfig& config,
                                     const Surroundings& surroundings) {
  Result<net::TlsClientOptions> tls = load(config, surroundings);
  if (!tls) tls.error().message = one_line(tls.error().message, 2000);
  return tls;
}

}  // namespace berth::client
