// SPDX-License-Identifier: Apache-2.0
// SHA-256 and its HMAC, for tokens that this server signs and checks itself: the API server links
// no OpenSSL.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace berth::apiserver {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view);
Digest hmac_sha256(std::string_view key, std::string_view message);
// In a time that does not tell where they differ.
bool same_digest(const Digest&, const Digest&);

inline std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace berth::apiserver
