// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli): finds every single flipped bit, and every burst of up to 32.
#pragma once

#include <cstdint>
#include <string_view>

namespace berth::apiserver {

// Of the bytes so far, continued: crc32c("b", crc32c("a")) == crc32c("ab").
std::uint32_t crc32c(std::string_view bytes, std::uint32_t so_far = 0);
// The same without the processor's help, for processors that have none.
std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t so_far = 0);

}  // namespace berth::apiserver
