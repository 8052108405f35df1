// SPDX-License-Identifier: Apache-2.0
// Just enough of protobuf's wire format to write request bodies by hand, independently of the
// decoder under test.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::conformance::pb {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7f));
  return out + static_cast<char>(value);
}
inline std::string number(unsigned field, std::uint64_t value) {
  return varint(field << 3) + varint(value);
}
inline std::string bytes(unsigned field, std::string_view value) {
  return varint((field << 3) | 2) + varint(value.size()) + std::string(value);
}
inline std::string entry(unsigned field, std::string_view key, std::string_view value) {
  return bytes(field, bytes(1, key) + bytes(2, value));
}
// What Kubernetes puts around every object.
inline std::string envelope(std::string_view version, std::string_view kind,
                            std::string_view object) {
  return std::string("k8s\0", 4) + bytes(1, bytes(1, version) + bytes(2, kind)) + bytes(2, object) +
         bytes(3, "") + bytes(4, "");
}

}  // namespace berth::conformance::pb
