// SPDX-License-Identifier: Apache-2.0
// Whether a request may come from a page. A name that an attacker points at this machine (DNS
// rebinding) shows in Host; a foreign page shows in Origin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http.h"

namespace berth::gateway {

struct OriginRules {
  std::vector<std::string> hosts = {};    // names we go by, besides localhost; "*": any
  std::vector<std::string> origins = {};  // pages of others that may call: "http://localhost:4200"
  bool tls = false;
};

// Forbidden, with a message that says which rule.
Result<Ok> check_origin(const OriginRules&, const net::Headers&);
// What lets the page of a listed origin read the answer; nothing for all others.
void allow_origin(const OriginRules&, const net::Headers& request, net::Headers& answer);

}  // namespace berth::gateway
