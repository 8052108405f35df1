// SPDX-License-Identifier: Apache-2.0
// Small things said in headers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/address.h"
#include "net/http.h"

namespace berth::apiserver {

using net::address_of;
using net::is_loopback;

// A client may bring its own, so that what several servers log can be put together.
std::optional<std::string> chosen_audit_id(const net::Headers&);

// An ETag of that content, with its quotes; and whether an If-None-Match names it.
std::string tag_of(std::string_view content);
bool names_tag(std::string_view if_none_match, std::string_view tag);

// Warning: 299 - "text". k8s 1.36: where they are long together, each is cut, and then some are
// left out.
void add_warnings(const std::vector<std::string>& texts, net::Headers&);

}  // namespace berth::apiserver
