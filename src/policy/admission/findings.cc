// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/findings.h"

#include "json/writer.h"

namespace berth::admission {

std::string Findings::shown(std::string_view value) {
  constexpr std::size_t kMost = 80;
  if (value.size() <= kMost) return json::quoted(value);
  // Not in the middle of a character.
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0U) == 0x80U) --end;
  return json::quoted(std::string(value.substr(0, end)) + "…");
}

}  // namespace berth::admission
