// SPDX-License-Identifier: Apache-2.0
#include "kube/schema.h"

#include <algorithm>
#include <tuple>

#include "kube/schema/messages.h"

namespace berth::kube {

const json::Message* schema_of(KindId id) {
  const Kind& kind = kind_of(id);
  const auto key = std::tuple<std::string_view, std::string_view, std::string_view>(
      kind.group, kind.version, kind.kind);
  const auto at = std::lower_bound(schema::kKinds.begin(), schema::kKinds.end(), key,
                                   [](const schema::KindRow& row, const auto& wanted) {
                                     return std::tie(row.group, row.version, row.kind) < wanted;
                                   });
  if (at == schema::kKinds.end() || std::tie(at->group, at->version, at->kind) != key)
    return nullptr;
  return at->message;
}

const json::Message* find_message(std::string_view name) {
  const auto at = std::lower_bound(
      schema::kMessages.begin(), schema::kMessages.end(), name,
      [](const json::Message* message, std::string_view wanted) { return message->name < wanted; });
  return at != schema::kMessages.end() && (*at)->name == name ? *at : nullptr;
}

}  // namespace berth::kube
