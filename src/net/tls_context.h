// SPDX-License-Identifier: Apache-2.0
// What net/ shares about OpenSSL, without its headers.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/tls.h"

struct ssl_ctx_st;
struct ssl_st;

namespace berth::net {

using TlsContext = std::shared_ptr<ssl_ctx_st>;  // immutable once made; may be shared by threads

Result<TlsContext> make_context(const TlsClientOptions&);
Result<TlsContext> make_context(const TlsServerOptions&);

// Makes the handshake of a client fail unless the peer proves to be `name` (a DNS name or a literal
// address).
Result<Ok> expect_peer(ssl_st*, const std::string& name, bool verify);

// Nothing when the peer showed no certificate.
std::optional<PeerIdentity> identity_of(ssl_st*);

// What the peer showed, verified or not: PEM, its own certificate first; "" when nothing.
std::string chain_of(ssl_st*);

// Why the last call failed, in OpenSSL's words, and forgets it. With a handshake at hand, a refused
// certificate is named first.
std::string tls_error(ssl_st* = nullptr);

}  // namespace berth::net
