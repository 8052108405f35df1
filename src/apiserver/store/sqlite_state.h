// SPDX-License-Identifier: Apache-2.0
// What a SqliteJournal shares with its work on other threads, and how rows are summed up.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "apiserver/store/mark_file.h"
#include "apiserver/store/sqlite.h"
#include "apiserver/store/sqlite_journal.h"

namespace berth::apiserver {

constexpr std::int64_t kJournalFormat = 1;
constexpr const char* kJournalSchema =
    "CREATE TABLE object(id INTEGER PRIMARY KEY, key TEXT NOT NULL, rev INTEGER NOT NULL,"
    " crc INTEGER NOT NULL, doc BLOB NOT NULL) STRICT;"
    "CREATE TABLE state(one INTEGER PRIMARY KEY, format INTEGER, rev INTEGER, reserved INTEGER,"
    " rows INTEGER, digest INTEGER, crc INTEGER) STRICT;";

// The one row of `state`.
struct JournalState {
  kube::Revision revision = 0, reserved = 0;
  std::int64_t rows = 0;
  std::uint64_t digest = 0;  // the sum of row_hash() of all rows
  std::uint32_t crc() const;
};

std::uint32_t row_crc(std::int64_t id, std::string_view key, kube::Revision, std::string_view doc);
std::uint64_t row_hash(std::int64_t id, std::uint32_t crc);

// Closed last: it keeps other processes out.
class FolderLock {
 public:
  FolderLock() = default;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  Result<Ok> take(const std::filesystem::path& folder);

 private:
  int file_ = -1;
};

struct SqliteJournal::State : std::enable_shared_from_this<State> {
  State(Executor& on, Executor& other, SqliteOptions with)
      : disk(on), checkpoints(other), options(std::move(with)) {}

  std::string path(const char* name) const { return (options.folder / name).string(); }

  // sqlite_recovery.cc
  Result<Recovered> recover(Recovery);
  Result<Ok> start_anew(const Recovered& with);    // a database of these rows where there is none
  Result<Ok> replace_by(const Recovered& intact);  // the old files go to damaged-N
  Result<Ok> build(const Recovered& with);  // in a folder of its own, all of it in the database
  bool open_database();
  bool prepare();

  // sqlite_journal.cc
  Result<Ok> keep(const JournalBatch&);
  bool write_rows(const JournalBatch&, JournalState&,
                  std::vector<std::pair<std::int64_t, std::uint32_t>>& sums);
  bool write_state(const JournalState&);
  void care_for_log();

  Executor& disk;
  Executor& checkpoints;
  const SqliteOptions options;
  FolderLock lock;
  Sqlite db;
  Statement begin, commit, rollback, put, erase, set_state;  // of db
  JournalState now;                                          // what db has
  std::unordered_map<std::int64_t, std::uint32_t> crcs;      // of its rows
  MarkFile mark;
  int log_pages = 0;     // in the log after the last commit
  int pages_before = 0;  // when the last checkpoint was asked for
  std::string doc;       // reused
  Sqlite checkpointer;   // used on `checkpoints` alone
  std::atomic<bool> checkpointing = false;
};

}  // namespace berth::apiserver
