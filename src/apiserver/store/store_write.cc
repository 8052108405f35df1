// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>

#include "apiserver/store/pending.h"
#include "apiserver/store/store.h"
#include "apiserver/store/watcher.h"
#include "base/check.h"

namespace berth::apiserver {
namespace {

using kube::Object;
using kube::Revision;

std::string resource_of(kube::KindId id) {
  const kube::Kind& kind = kube::kind_of(id);
  return kind.group.empty() ? kind.plural : fmt::format("{}.{}", kind.plural, kind.group);
}

tl::unexpected<Error> conflict(const Write& write, std::string_view why) {
  return fail(Reason::kConflict, fmt::format("Operation cannot be fulfilled on {} \"{}\": {}",
                                             resource_of(write.kind), write.key.name, why));
}

}  // namespace

Result<Ok> Store::check(const Write& write, const Entry* entry) const {
  const Object* now = nullptr;
  if (entry != nullptr && entry->versions.newest().object.valid())
    now = &entry->versions.newest().object;
  if (now == nullptr) {
    const bool needed = write.expect == Write::Expect::kPresent || !write.next ||
                        !write.uid.empty() || write.revision != 0;
    if (!needed) return Ok{};
    return fail(Reason::kNotFound,
                fmt::format("{} \"{}\" not found", resource_of(write.kind), write.key.name));
  }
  if (write.expect == Write::Expect::kAbsent)
    return fail(Reason::kAlreadyExists,
                fmt::format("{} \"{}\" already exists", resource_of(write.kind), write.key.name));
  if (!write.uid.empty() && write.uid != now->uid())
    return conflict(write, fmt::format("Precondition failed: UID in precondition: {}, UID in "
                                       "object meta: {}",
                                       write.uid, now->uid()));
  if (write.revision != 0 && write.revision != now->revision())
    return conflict(write,
                    "the object has been modified; please apply your changes to the latest version "
                    "and try again");
  return Ok{};
}

void Store::write(Write write, Done<Committed> done) {
  if (refusing_writes()) return done(fail(Reason::kInternalError, refusal_));
  Table& to = table(write.kind);
  const std::string key = KeyRef(write.key).text();
  Entry* entry = to.find(key);
  if (Result<Ok> fine = check(write, entry); !fine)
    return done(tl::unexpected(std::move(fine.error())));

  const Revision revision = tip_ + 1;
  Object next;
  if (write.next) {
    Result<Object> made = write.next(revision);
    if (!made) return done(tl::unexpected(std::move(made.error())));
    next = std::move(*made);
    BERTH_CHECK(next.kind() == write.kind && next.ns() == write.key.ns &&
                    next.name() == write.key.name && next.revision() == revision,
                "what is written is what was announced");
  }
  tip_ = revision;
  if (entry == nullptr) entry = &to.find_or_make(key);
  Pending pending{&to, entry, revision, entry->row, std::move(done)};
  to.push(*entry, revision, next);
  if (journal_ == nullptr) {
    std::vector<Pending> alone;
    alone.push_back(std::move(pending));
    return publish(std::move(alone));
  }

  Collected& batch = *collecting_;
  const auto put_row = [&](JournalRow row) {
    if (entry->batch == batch.number && entry->slot < batch.rows.size() &&
        batch.rows[entry->slot].id == row.id) {
      batch.rows[entry->slot] = std::move(row);
      return;
    }
    entry->batch = batch.number;
    entry->slot = batch.rows.size();
    batch.rows.push_back(std::move(row));
  };
  if (!next.valid()) {
    if (entry->row != 0) put_row({.id = entry->row});
    entry->row = 0;
  } else if (write.durability == Durability::kDurable) {
    if (entry->row == 0) entry->row = next_row_++;
    put_row({entry->row, std::move(next)});
  }
  batch.writes.push_back(std::move(pending));
  start_commit();
}

void Store::start_commit() {
  if (committing_ != nullptr || collecting_->writes.empty()) return;
  std::unique_ptr<Collected> batch = std::exchange(collecting_, std::make_unique<Collected>());
  collecting_->number = batch->number + 1;
  const Revision newest = batch->writes.back().revision;
  batch->reserved = reserved_;
  if (newest + options_.reserve / 2 > reserved_) batch->reserved = newest + options_.reserve;
  if (batch->rows.empty() && newest <= reserved_) return publish(std::move(batch->writes));
  committing_ = std::move(batch);
  journal_->commit(
      {std::move(committing_->rows), newest, committing_->reserved},
      scope_.done<Ok>(kNoLimit, [this](Result<Ok> result) { on_committed(std::move(result)); }));
}

void Store::on_committed(Result<Ok> result) {
  if (!result) return fail_all(result.error());
  const std::unique_ptr<Collected> batch = std::move(committing_);
  reserved_ = batch->reserved;
  publish(std::move(batch->writes));
  start_commit();
}

void Store::publish(std::vector<Pending> writes) {
  const Instant now = scope_.executor().clock().now();
  std::vector<WatchId> woken;
  std::vector<Committed> answers;
  answers.reserve(writes.size());
  for (const Pending& write : writes) {
    history_bytes_ -= write.table->history_bytes();
    const std::uint64_t place = write.table->publish(*write.entry, write.revision, now);
    history_bytes_ += write.table->history_bytes();
    const HistoryEvent& event = write.table->event(place);
    if (options_.observe) options_.observe(event);
    wake(*write.table, event, place, woken);
    answers.push_back({write.revision, event.after});
  }
  published_ = writes.back().revision;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    Table& table = *writes[i].table;
    trim(table, now);
    if (table.history_size() > options_.window.min_events) trim_later();
    writes[i].done(std::move(answers[i]));
  }
  trim_bytes(now);
  while (!waiting_.empty() && waiting_.begin()->first <= published_)
    waiting_.extract(waiting_.begin()).mapped()(Ok{});
  // Last: a sink may do anything, and end other watches too.
  for (const WatchId id : woken)
    if (const auto found = watchers_.find(static_cast<std::uint64_t>(id)); found != watchers_.end())
      found->second->sink->ready(id);
}

// What could not be kept was never there, and neither was what came after it.
void Store::fail_all(const Error& why) {
  const std::unique_ptr<Collected> failed = std::move(committing_);
  const std::unique_ptr<Collected> after =
      std::exchange(collecting_, std::make_unique<Collected>());
  collecting_->number = after->number + 1;
  for (Collected* batch : {after.get(), failed.get()}) {
    for (auto write = batch->writes.rbegin(); write != batch->writes.rend(); ++write) {
      write->entry->row = write->row_before;
      write->table->pop(*write->entry);
    }
  }
  refusal_ = fmt::format(
      "the store cannot keep what is written: {}; make room there, or mend what else is wrong with "
      "it. Reads go on, and writes are taken again as soon as they can be kept",
      why.message);
  for (Collected* batch : {failed.get(), after.get()})
    for (Pending& write : batch->writes)
      write.done(tl::unexpected(
          Error{.reason = Reason::kInternalError, .message = refusal_, .outcome = why.outcome}));
  // Who waits for one of these waits in vain, and must not take a later one for it.
  while (!waiting_.empty() && waiting_.begin()->first <= tip_)
    waiting_.extract(waiting_.begin()).mapped()(fail(Reason::kInternalError, refusal_));
  probe_later();
}

void Store::probe_later() {
  if (scope_.closing()) return;
  scope_.after(
      options_.probe_period,
      [this] {
        journal_->probe(scope_.done<Ok>(kNoLimit, [this](Result<Ok> result) {
          if (!result) return probe_later();
          refusal_.clear();
        }));
      },
      Timer::kBackground);
}

}  // namespace berth::apiserver
