// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::client {

// RFC 4648, standard alphabet with padding; line breaks inside are skipped, as Go's decoder does.
// Nothing for anything else.
std::optional<std::string> base64_decode(std::string_view text);
std::string base64_encode(std::string_view bytes);

}  // namespace berth::client
