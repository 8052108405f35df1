// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/store.h"

#include <algorithm>
#include <utility>

#include "apiserver/store/pending.h"
#include "apiserver/store/watcher.h"
#include "base/check.h"

namespace berth::apiserver {

using kube::KindId;
using kube::Revision;

MakeObject stamped(kube::Object object) {
  return [object = std::move(object)](Revision revision) { return object.next(revision); };
}

Store::Store(Scope& parent, StoreOptions options, Journal* journal)
    : scope_(parent.child("store")),
      options_(std::move(options)),
      journal_(journal),
      collecting_(std::make_unique<Collected>()) {}

Store::~Store() = default;

Result<std::vector<Damage>> Store::recover(Recovery how) {
  BERTH_CHECK(journal_ != nullptr && tip_ == 1 && tables_.empty(), "recovery comes first");
  Result<Recovered> had = journal_->recover(how);
  if (!had) return tl::unexpected(std::move(had.error()));
  reserved_ = had->reserved;
  // Above everything that was ever given out; watches and lists of before get 410.
  start_ = published_ = tip_ = std::max<Revision>(had->reserved, 1);
  for (JournalRow& row : had->rows) {
    const KindId kind = row.object.kind();
    next_row_ = std::max(next_row_, row.id + 1);
    const std::string key = KeyRef(row.object).text();
    table(kind).restore(key, std::move(row.object), row.id);
  }
  return std::move(had->lost);
}

Table& Store::table(KindId kind) {
  std::unique_ptr<Table>& found = tables_[static_cast<std::uint16_t>(kind)];
  if (found == nullptr) {
    std::vector<const IndexSpec*> indexes;
    for (const IndexSpec& index : options_.indexes)
      if (!index.kind || *index.kind == kind) indexes.push_back(&index);
    found = std::make_unique<Table>(kind, start_, std::move(indexes));
    in_order_.push_back(found.get());
  }
  return *found;
}

const Table* Store::find_table(KindId kind) const {
  const auto found = tables_.find(static_cast<std::uint16_t>(kind));
  return found == tables_.end() ? nullptr : found->second.get();
}

Revision Store::floor(KindId kind) const {
  const Table* found = find_table(kind);
  return found == nullptr ? start_ : found->floor();
}

std::size_t Store::count(KindId kind) const {
  const Table* found = find_table(kind);
  return found == nullptr ? 0 : found->live();
}

std::vector<KindId> Store::kinds() const {
  std::vector<KindId> out;
  for (const Table* each : in_order_) out.push_back(each->kind());
  return out;
}

StoreStats Store::stats() const {
  StoreStats stats;
  for (const Table* each : in_order_) {
    stats.objects += each->live();
    stats.events += each->history_size();
    stats.event_bytes += each->history_bytes();
  }
  stats.watchers = watchers_.size();
  stats.pending_writes = collecting_->writes.size();
  if (committing_ != nullptr) stats.pending_writes += committing_->writes.size();
  stats.refusing_writes = refusing_writes();
  return stats;
}

const kube::Object* Store::get(KindId kind, KeyRef key, View view) const {
  const Table* found = find_table(kind);
  const Entry* entry = found == nullptr ? nullptr : found->find(key.text());
  if (entry == nullptr) return nullptr;
  const Version* version =
      view == View::kTip ? &entry->versions.newest() : entry->versions.at(published_);
  return version == nullptr || !version->object.valid() ? nullptr : &version->object;
}

void Store::when_published(Revision revision, Done<Ok> done) {
  if (revision <= published_) return done(Ok{});
  waiting_.emplace(revision, std::move(done));
}

void Store::open(KindId kind) { table(kind).open(published_); }

void Store::compact(Revision floor) {
  floor = std::min(floor, published_);
  start_ = std::max(start_, floor);
  for (Table* each : in_order_) {
    history_bytes_ -= each->history_bytes();
    each->raise_floor(floor);
    history_bytes_ += each->history_bytes();
  }
}

// The window: what the history of one kind may be, and what all of it together.
void Store::trim(Table& table, Instant now) {
  const Window& window = options_.window;
  history_bytes_ -= table.history_bytes();
  while (table.history_size() > window.max_events ||
         (table.history_size() > window.min_events &&
          now - table.event(table.first()).at > window.max_age))
    table.drop_oldest();
  history_bytes_ += table.history_bytes();
}

void Store::trim_bytes(Instant now) {
  const Window& window = options_.window;
  while (history_bytes_ > window.max_bytes) {
    // The oldest event goes: of those past the minimum if there are any, else of all.
    Table* from = nullptr;
    int best = 0;
    for (Table* each : in_order_) {
      if (each->history_size() == 0) continue;
      const HistoryEvent& oldest = each->event(each->first());
      const bool enough = each->history_size() > window.min_events;
      const int rank = 1 + (enough ? 1 : 0) + (enough && now - oldest.at > window.min_age ? 1 : 0);
      if (rank > best || (rank == best && oldest.revision < from->event(from->first()).revision)) {
        best = rank;
        from = each;
      }
    }
    history_bytes_ -= from->history_bytes();
    from->drop_oldest();
    history_bytes_ += from->history_bytes();
  }
}

// Events grow old even when none follow. The timer runs while that can matter.
void Store::trim_later() {
  if (trimming_) return;
  trimming_ = true;
  scope_.after(
      options_.window.max_age / 5,
      [this] {
        trimming_ = false;
        bool again = false;
        for (Table* each : in_order_) {
          trim(*each, scope_.executor().clock().now());
          again |= each->history_size() > options_.window.min_events;
        }
        if (again) trim_later();
      },
      Timer::kBackground);
}

}  // namespace berth::apiserver
