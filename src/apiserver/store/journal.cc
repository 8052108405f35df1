// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/journal.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/kind.h"

namespace berth::apiserver {

std::string journal_key(const kube::Object& object) {
  const kube::Kind& kind = kube::kind_of(object.kind());
  std::string out = kind.plural;
  if (!kind.group.empty()) (out += '.') += kind.group;
  if (!object.ns().empty()) (out += '/') += object.ns();
  return (out += '/') += object.name();
}

std::string Damage::text() const {
  return key.empty() ? fmt::format("{}: {}", file, what)
                     : fmt::format("{}: {}: {}", file, key, what);
}

Error damaged(const std::string& place, const std::vector<Damage>& found) {
  constexpr std::size_t kShown = 20;
  std::string text = fmt::format("the store in {} is damaged: ", place);
  for (std::size_t i = 0; i < std::min(found.size(), kShown); ++i)
    text += (i == 0 ? "" : "; ") + found[i].text();
  if (found.size() > kShown) text += fmt::format("; and {} more", found.size() - kShown);
  text +=
      ". (A power cut without --fsync looks the same.) Start with --salvage to go on with what is "
      "intact, or restore a copy of the folder";
  return {.reason = Reason::kInternalError, .message = std::move(text)};
}

}  // namespace berth::apiserver
