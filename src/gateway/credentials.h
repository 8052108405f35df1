// SPDX-License-Identifier: Apache-2.0
// What a caller shows of itself, in whichever place it could.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/http_server.h"

namespace berth::gateway {

struct Proof {
  std::string token = {};
  std::optional<net::PeerIdentity> certificate = {};  // verified by the door
  bool broken = false;                                // something was shown, and it cannot be read

  bool empty() const { return token.empty() && !certificate && !broken; }
};

// From Authorization, else from the sub-protocols of a WebSocket, else the certificate.
Proof proof_of(const net::Headers&, const net::HttpPeer&);

// The token in "base64url.bearer.authorization.k8s.io.<token>" among offered sub-protocols.
// Nothing: none is offered. Unauthorized: k8s 1.36 takes one that is well formed, beside another
// protocol to answer with.
Result<std::optional<std::string>> token_in_protocols(const net::Headers&);

// When a JSON web token ends, by its own words; nothing for others. It proves nothing.
std::optional<WallTime> token_end(std::string_view token);

}  // namespace berth::gateway
