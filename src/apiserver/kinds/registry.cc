// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/registry.h"

#include <fmt/format.h>

#include "apiserver/kinds/kinds.h"

namespace berth::apiserver {
namespace {

std::string path_of(std::string_view group, std::string_view version, std::string_view plural) {
  return fmt::format("{}/{}/{}", group, version, plural);
}

}  // namespace

Kinds::Kinds(std::vector<std::shared_ptr<const KindRow>> rows, std::uint64_t edition)
    : owned_(std::move(rows)), edition_(edition) {
  for (const std::shared_ptr<const KindRow>& row : owned_) {
    rows_.push_back(row.get());
    by_id_.emplace(static_cast<std::uint16_t>(row->id), row.get());
    by_path_.emplace(path_of(row->kind.group, row->kind.version, row->kind.plural), row.get());
  }
}

const KindRow* Kinds::find(kube::KindId id) const {
  const auto found = by_id_.find(static_cast<std::uint16_t>(id));
  return found == by_id_.end() ? nullptr : found->second;
}

const KindRow* Kinds::find(std::string_view group, std::string_view version,
                           std::string_view plural) const {
  const auto found = by_path_.find(path_of(group, version, plural));
  return found == by_path_.end() ? nullptr : found->second;
}

bool Kinds::serves(std::string_view group, std::string_view version) const {
  const std::string prefix = path_of(group, version, "");
  const auto found = by_path_.lower_bound(prefix);
  return found != by_path_.end() && found->first.starts_with(prefix);
}

KindRegistry::KindRegistry() { swap(); }

std::shared_ptr<const Kinds> KindRegistry::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void KindRegistry::serve(const std::string& source, std::vector<KindRow> rows) {
  added_.erase(source);
  auto& own = added_[source];
  for (KindRow& row : rows) own.push_back(std::make_shared<const KindRow>(std::move(row)));
  if (own.empty()) added_.erase(source);
  swap();
  if (changed_) changed_();
}

void KindRegistry::swap() {
  std::vector<std::shared_ptr<const KindRow>> rows;
  for (const KindRow& row : built_in_kinds())
    rows.emplace_back(std::shared_ptr<void>(), &row);  // lives as long as the program
  for (const auto& [source, own] : added_) rows.insert(rows.end(), own.begin(), own.end());
  auto next = std::make_shared<const Kinds>(std::move(rows), ++edition_);
  const std::lock_guard lock(mutex_);
  now_ = std::move(next);
}

}  // namespace berth::apiserver
