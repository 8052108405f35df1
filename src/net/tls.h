// SPDX-License-Identifier: Apache-2.0
// TLS 1.2 and later, peers verified by default. Certificates and keys are PEM text, never paths:
// whoever reads a file names it in errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::net {

struct TlsClientOptions {
  std::string ca_pem = {};           // empty: the system's roots
  std::string certificate_pem = {};  // client certificate chain and its key; both or neither
  std::string key_pem = {};
  std::string server_name =
      {};  // verified against the certificate; empty: the host that is dialled
  bool insecure_skip_verify = false;
};

struct TlsServerOptions {
  std::string certificate_pem = {};
  std::string key_pem = {};
  std::string client_ca_pem = {};  // empty: no client certificate is asked for
  bool require_client_certificate = false;
  // Ask for a certificate, take any, and leave judging it to the handler (verify_client), because
  // whom to trust changes while the server runs. Not together with client_ca_pem.
  bool request_client_certificate = false;
};

// Who the other side proved to be.
struct PeerIdentity {
  std::string common_name = {};
  std::vector<std::string> organizations = {};
  std::string uid = {};     // Kubernetes' own attribute of a subject; rarely there
  std::string sha256 = {};  // of the certificate, in hex
  friend bool operator==(const PeerIdentity&, const PeerIdentity&) = default;
};

// Can these be used at all? The message says which part is wrong: "client certificate: no PEM block
// found".
Result<Ok> check(const TlsClientOptions&);
Result<Ok> check(const TlsServerOptions&);

// Who showed this chain (PEM, its own certificate first), if one of the authorities vouches for it
// as a TLS client now. The error says why not.
Result<PeerIdentity> verify_client(std::string_view chain_pem, std::string_view ca_pem);

std::string sha256_hex(std::string_view bytes);

// Throw-away certificates for tests, `berth up` and webhooks (ECDSA P-256).
struct KeyPair {
  std::string certificate_pem = {};
  std::string key_pem = {};
};
struct CertificateRequest {
  std::string common_name = {};
  std::vector<std::string> organizations = {};
  std::vector<std::string> dns_names = {};
  std::vector<std::string> ip_addresses = {};
  int days = 365;
};
Result<KeyPair> make_authority(std::string_view common_name, int days = 3650);
Result<KeyPair> issue_certificate(const KeyPair& authority, const CertificateRequest&);

}  // namespace berth::net
