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

void check_access_modes(Peek modes, const Path& at, Findings& findings) {
  bool alone = false, shared = false;
  for (const json::Value& each : modes.elements()) {
    const std::string_view mode = Peek(each).text();
    const bool known =
        one_of(mode, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
    if (!known)
      findings.not_supported(
          at, mode, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
    alone |= mode == "ReadWriteOncePod";
    shared |= known && mode != "ReadWriteOncePod";
  }
  if (alone && shared)
    findings.forbidden(at, "may not use ReadWriteOncePod with other access modes");
}

}  // namespace berth::apiserver
