// SPDX-License-Identifier: Apache-2.0
// SockJS' framing inside of a WebSocket: o, h, a[…] and c[…] from the server, lists of strings from
// the client. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::gateway {

std::string sockjs_messages(const std::vector<std::string>&);  // a["…","…"]
std::string sockjs_close(std::uint16_t code, std::string_view reason);
// What a client sent: a list of strings, or one string.
Result<std::vector<std::string>> sockjs_received(std::string_view);

}  // namespace berth::gateway
