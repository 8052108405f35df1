// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/sqlite_journal.h"

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "apiserver/store/crc32c.h"
#include "apiserver/store/sqlite_state.h"

namespace berth::apiserver {
namespace {

std::string_view bytes_of(const std::uint64_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

std::uint32_t JournalState::crc() const {
  std::uint32_t sum = crc32c(bytes_of(revision));
  sum = crc32c(bytes_of(reserved), sum);
  sum = crc32c(bytes_of(static_cast<std::uint64_t>(rows)), sum);
  return crc32c(bytes_of(digest), sum);
}

std::uint32_t row_crc(std::int64_t id, std::string_view key, kube::Revision revision,
                      std::string_view doc) {
  std::uint32_t sum = crc32c(bytes_of(static_cast<std::uint64_t>(id)));
  sum = crc32c(key, sum);
  sum = crc32c(bytes_of(revision), sum);
  return crc32c(doc, sum);
}

std::uint64_t row_hash(std::int64_t id, std::uint32_t crc) {
  return mixed(mixed(static_cast<std::uint64_t>(id)) + crc);
}

FolderLock::~FolderLock() {
  if (file_ >= 0) ::close(file_);
}

Result<Ok> FolderLock::take(const std::filesystem::path& folder) {
  const std::string path = (folder / SqliteJournal::kLock).string();
  if (file_ < 0) file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file_ < 0)
    return fail(Reason::kInternalError, fmt::format("{}: {}", path, std::strerror(errno)));
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0)
    return fail(
        Reason::kConflict,
        fmt::format("{} is in use by another process; stop that one, or name another folder",
                    folder.string()));
  return Ok{};
}

SqliteJournal::SqliteJournal(Executor& disk, Executor& checkpoints, SqliteOptions options)
    : state_(std::make_shared<State>(disk, checkpoints, std::move(options))) {}
SqliteJournal::~SqliteJournal() = default;

Result<Recovered> SqliteJournal::recover(Recovery how) { return state_->recover(how); }

void SqliteJournal::commit(JournalBatch batch, Done<Ok> done) {
  state_->disk.post([state = state_, batch = std::move(batch), done = std::move(done)]() mutable {
    done(state->keep(batch));
    state->care_for_log();
  });
}

// A batch without rows. SQLite writes nothing that stays the same, so something changes: more is
// reserved than was asked for, which harms nobody.
void SqliteJournal::probe(Done<Ok> done) {
  state_->disk.post([state = state_, done = std::move(done)]() mutable {
    done(state->keep(
        {.rows = {}, .revision = state->now.revision, .reserved = state->now.reserved + 1}));
    state->care_for_log();
  });
}

Result<Ok> SqliteJournal::State::keep(const JournalBatch& batch) {
  JournalState next = now;
  next.revision = batch.revision;
  next.reserved = batch.reserved;
  std::vector<std::pair<std::int64_t, std::uint32_t>> sums;
  if (!begin.run() || !write_rows(batch, next, sums) || !write_state(next) || !commit.run()) {
    const std::string why = db.error();
    rollback.run();
    return fail(Reason::kInternalError, fmt::format("{}: {}", path(kDatabase), why));
  }
  now = next;
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    if (batch.rows[i].object.valid())
      crcs[sums[i].first] = sums[i].second;
    else
      crcs.erase(sums[i].first);
  }
  mark.set(batch.revision);
  return Ok{};
}

bool SqliteJournal::State::write_rows(const JournalBatch& batch, JournalState& next,
                                      std::vector<std::pair<std::int64_t, std::uint32_t>>& sums) {
  sums.reserve(batch.rows.size());
  for (const JournalRow& row : batch.rows) {
    const auto had = crcs.find(row.id);
    if (had != crcs.end()) {
      next.digest -= row_hash(row.id, had->second);
      --next.rows;
    }
    if (!row.object.valid()) {
      sums.emplace_back(row.id, 0);
      if (had != crcs.end() && !erase.bind(1, row.id).run()) return false;
      continue;
    }
    doc.clear();
    for (const std::string_view part : row.object.json_parts()) doc += part;
    const std::string key = journal_key(row.object);
    const kube::Revision revision = row.object.revision();
    const std::uint32_t crc = row_crc(row.id, key, revision, doc);
    sums.emplace_back(row.id, crc);
    next.digest += row_hash(row.id, crc);
    ++next.rows;
    put.bind(1, row.id).bind_text(2, key).bind(3, static_cast<std::int64_t>(revision));
    if (!put.bind(4, crc).bind_blob(5, doc).run()) return false;
  }
  return true;
}

bool SqliteJournal::State::write_state(const JournalState& next) {
  set_state.bind(1, static_cast<std::int64_t>(next.revision))
      .bind(2, static_cast<std::int64_t>(next.reserved))
      .bind(3, next.rows)
      .bind(4, static_cast<std::int64_t>(next.digest))
      .bind(5, next.crc());
  return set_state.run();
}

// The log is copied into the database beside the commits. Under writes without end that never
// finishes, so above a size one batch waits for it.
void SqliteJournal::State::care_for_log() {
  if (log_pages >= options.restart_pages) {
    if (db.checkpoint(true)) log_pages = 0;
    pages_before = log_pages;
    return;
  }
  if (log_pages < pages_before) pages_before = 0;  // it began anew
  if (log_pages - pages_before < options.checkpoint_pages || checkpointing.exchange(true)) return;
  pages_before = log_pages;
  checkpoints.post([state = shared_from_this()] {
    state->checkpointer.checkpoint(false);
    state->checkpointing = false;
  });
}

}  // namespace berth::apiserver
