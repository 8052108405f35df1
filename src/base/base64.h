// SPDX-License-Identifier: Apache-2.0
// Base64 as Go's encoders write it. Line breaks are skipped and left-over bits are not looked at,
// as in Go's decoders.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

std::string base64(std::string_view bytes);  // padded
std::optional<std::string> from_base64(std::string_view padded);
std::string base64url(std::string_view bytes);  // not padded
std::optional<std::string> from_base64url(std::string_view not_padded);

}  // namespace berth
