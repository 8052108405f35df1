// SPDX-License-Identifier: Apache-2.0
// Base64 in the two alphabets that tokens and patches come in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::apiserver {

std::string base64url(std::string_view bytes);                          // without padding
std::optional<std::string> from_base64url(std::string_view);            // without padding
std::string base64(std::string_view bytes);                             // with padding
std::optional<std::string> from_base64(std::string_view with_padding);  // line breaks are skipped

}  // namespace berth::apiserver
