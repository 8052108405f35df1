// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/kinds.h"

#include <unordered_map>

namespace berth::apiserver {

#define BERTH_KIND(row) KindRow row();
#include "apiserver/kinds/kinds.def"
#undef BERTH_KIND

namespace {

const std::vector<KindRow>& rows() {
  static const std::vector<KindRow>* const all = new std::vector<KindRow>{
#define BERTH_KIND(row) row(),
#include "apiserver/kinds/kinds.def"
#undef BERTH_KIND
  };
  return *all;
}

}  // namespace

std::span<const KindRow> built_in_kinds() { return rows(); }

const KindRow* find_built_in(kube::KindId id) {
  static const auto* const by_id = [] {
    auto* map = new std::unordered_map<std::uint16_t, const KindRow*>;
    for (const KindRow& row : rows()) map->emplace(static_cast<std::uint16_t>(row.id), &row);
    return map;
  }();
  const auto found = by_id->find(static_cast<std::uint16_t>(id));
  return found == by_id->end() ? nullptr : found->second;
}

}  // namespace berth::apiserver
