// SPDX-License-Identifier: Apache-2.0
// What a peer's address says.
#pragma once

#include <string>
#include <string_view>

namespace berth::net {

std::string address_of(std::string_view peer);  // "127.0.0.1" of "127.0.0.1:51234"
bool is_loopback(std::string_view address);

}  // namespace berth::net
