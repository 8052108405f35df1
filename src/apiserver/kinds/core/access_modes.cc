// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/core/access_modes.h"

#include <utility>

namespace berth::apiserver {

std::string access_modes_text(json::Slice modes) {
  constexpr std::pair<std::string_view, std::string_view> kShort[] = {{"ReadWriteOnce", "RWO"},
                                                                      {"ReadOnlyMany", "ROX"},
                                                                      {"ReadWriteMany", "RWX"},
                                                                      {"ReadWriteOncePod", "RWOP"}};
  std::string out;
  for (const auto& [mode, word] : kShort)
    for (const json::Slice each : modes.elements())
      if (each.equals(mode)) {
        if (!out.empty()) out += ',';
        out += word;
        break;
      }
  return out;
}

}  // namespace berth::apiserver
