// SPDX-License-Identifier: Apache-2.0
// Reading a journal back: everything in it is checked before anything of it is served.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apiserver/store/replacement.h"
#include "apiserver/store/sqlite_state.h"

namespace berth::apiserver {
namespace {

namespace fs = std::filesystem;
using kube::Revision;

// Revisions that a damaged journal may have given out without our knowing.
constexpr Revision kAmple = 1'000'000;

// Reads a database, of which nothing is taken on trust.
class Reader {
 public:
  Reader(Sqlite& db, std::string file) : db_(db), file_(std::move(file)) {}

  void read() {
    read_state();
    read_rows();
    if (!state_read_) return;
    if (state.rows != static_cast<std::int64_t>(seen_))
      damage("", fmt::format("{} objects were kept, {} are there{}", state.rows, seen_,
                             seen_ < static_cast<std::size_t>(std::max<std::int64_t>(state.rows, 0))
                                 ? "; the names of those missing cannot be told"
                                 : ""));
    else if (state.digest != digest_ && found.empty())
      damage("", "the objects are not those that were kept: their digest differs");
  }

  JournalState state;
  std::vector<JournalRow> rows;
  std::vector<Damage> found;
  std::unordered_map<std::int64_t, std::uint32_t> crcs;
  Revision newest = 0;  // of all rows
  bool fresh = false;   // it has no tables yet

 private:
  void damage(std::string key, std::string what) {
    found.push_back({file_, std::move(key), std::move(what)});
  }

  void read_state() {
    Statement count = db_.prepare("SELECT count(*) FROM sqlite_schema");
    if (!count || count.step() != Statement::Step::kRow)
      return damage("", fmt::format("cannot be read: {}", db_.error()));
    if (count.integer(0) == 0) {
      fresh = true;
      return;
    }
    Statement select =
        db_.prepare("SELECT format, rev, reserved, rows, digest, crc FROM state WHERE one = 1");
    if (!select) return damage("", fmt::format("its tables cannot be read: {}", db_.error()));
    if (select.step() != Statement::Step::kRow)
      return damage("", fmt::format("its state cannot be read: {}", db_.error()));
    std::int64_t values[6];
    for (int i = 0; i < 6; ++i) {
      const auto value = select.integer(i);
      if (!value) return damage("", "its state is of the wrong type");
      values[i] = *value;
    }
    state = {static_cast<Revision>(values[1]), static_cast<Revision>(values[2]), values[3],
             static_cast<std::uint64_t>(values[4])};
    if (values[0] != kJournalFormat || state.crc() != static_cast<std::uint32_t>(values[5]))
      return damage("", "its state has a wrong checksum");
    state_read_ = true;
  }

  void read_rows() {
    if (fresh) return;
    if (walk("SELECT id, key, rev, crc, doc FROM object ORDER BY id")) return;
    damage("", fmt::format("a part of it cannot be read: {}", db_.error()));
    // What is on the far side of the damage, and then what can be found inside of it one by one.
    const std::int64_t low = ids_.empty() ? 0 : *ids_.rbegin();
    std::set<std::int64_t> near = std::exchange(ids_, {});
    walk("SELECT id, key, rev, crc, doc FROM object ORDER BY id DESC", low);
    const std::int64_t high = ids_.empty() ? low : *ids_.begin();
    ids_.merge(near);
    constexpr std::int64_t kTries = 1'000'000;
    Statement one = db_.prepare("SELECT id, key, rev, crc, doc FROM object WHERE id = ?1");
    for (std::int64_t id = low + 1; one && id < high && id - low < kTries; ++id) {
      if (one.bind(1, id).step() == Statement::Step::kRow) take(one);
      one.reset();
    }
  }

  // False: it failed on the way. Stops at `until`.
  bool walk(const char* sql, std::int64_t until = -1) {
    Statement select = db_.prepare(sql);
    if (!select) return false;
    for (;;) {
      switch (select.step()) {
        case Statement::Step::kDone:
          return true;
        case Statement::Step::kFailed:
          return false;
        case Statement::Step::kRow:
          break;
      }
      if (select.integer(0) == until) return true;
      take(select);
    }
  }

  void take(const Statement& row) {
    const auto id = row.integer(0), revision = row.integer(2), crc = row.integer(3);
    const auto key = row.text(1), doc = row.blob(4);
    const std::string name = key ? std::string(*key) : fmt::format("object {}", id.value_or(0));
    ++seen_;
    if (!id || !revision || !crc || !key || !doc)
      return damage(name, "a column is of the wrong type");
    if (!ids_.insert(*id).second) return twice(name);
    const auto at = static_cast<Revision>(*revision);
    const std::uint32_t sum = row_crc(*id, *key, at, *doc);
    digest_ += row_hash(*id, sum);
    if (sum != static_cast<std::uint32_t>(*crc)) return damage(name, "has a wrong checksum");
    newest = std::max(newest, at);
    if (state_read_ && at > state.revision) damage(name, "is newer than the state it is in");
    Result<kube::Object> object = kube::Object::parse(*doc, {.max_bytes = doc->size()});
    if (!object) return damage(name, fmt::format("cannot be read: {}", object.error().message));
    if (!keys_.insert(name).second) return twice(name);
    crcs.emplace(*id, sum);
    rows.push_back({*id, std::move(*object)});
  }

  // It must not make up for one that is missing.
  void twice(const std::string& name) {
    --seen_;
    damage(name, "is there twice");
  }

  Sqlite& db_;
  std::string file_;
  bool state_read_ = false;
  std::size_t seen_ = 0;
  std::uint64_t digest_ = 0;
  std::set<std::int64_t> ids_;
  std::set<std::string> keys_;
};

}  // namespace

bool SqliteJournal::State::open_database() {
  Result<Sqlite> opened = Sqlite::open(path(kDatabase), options.vfs);
  if (!opened) return false;
  db = std::move(*opened);
  db.tidy_on_close(false);  // until all is known to be well: a damaged log is evidence
  return db.run("PRAGMA page_size = 4096") && db.run("PRAGMA journal_mode = WAL") &&
         db.run(options.fsync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL") &&
         db.run("PRAGMA wal_autocheckpoint = 0") && db.run("PRAGMA journal_size_limit = 67108864");
}

bool SqliteJournal::State::prepare() {
  db.tidy_on_close(true);
  db.count_log_pages(&log_pages);
  begin = db.prepare("BEGIN IMMEDIATE");
  commit = db.prepare("COMMIT");
  rollback = db.prepare("ROLLBACK");
  put = db.prepare("INSERT OR REPLACE INTO object(id, key, rev, crc, doc) VALUES(?1,?2,?3,?4,?5)");
  erase = db.prepare("DELETE FROM object WHERE id = ?1");
  set_state = db.prepare(
      "UPDATE state SET rev = ?1, reserved = ?2, rows = ?3, digest = ?4, crc = ?5 WHERE one = 1");
  if (!begin || !commit || !rollback || !put || !erase || !set_state) return false;
  Result<Sqlite> other = Sqlite::open(path(kDatabase), options.vfs);
  if (!other) return false;
  checkpointer = std::move(*other);
  return checkpointer.run(options.fsync ? "PRAGMA synchronous = FULL"
                                        : "PRAGMA synchronous = NORMAL") &&
         checkpointer.run("PRAGMA wal_autocheckpoint = 0");
}

Result<Ok> SqliteJournal::State::start_anew(const Recovered& with) {
  const std::string insert =
      fmt::format("INSERT INTO state VALUES(1, {}, 0, 0, 0, 0, 0)", kJournalFormat);
  now = {};
  crcs.clear();
  JournalBatch all{with.rows, with.revision, with.reserved};
  // The tables and what is in them come in one commit: a kill leaves all or nothing.
  const auto fill = [&] {
    if (!db.run("BEGIN IMMEDIATE") || !db.run(kJournalSchema) || !db.run(insert.c_str()) ||
        !prepare())
      return false;
    JournalState next{.revision = all.revision, .reserved = all.reserved};
    std::vector<std::pair<std::int64_t, std::uint32_t>> sums;
    if (!write_rows(all, next, sums) || !write_state(next) || !commit.run()) return false;
    now = next;
    crcs.insert(sums.begin(), sums.end());
    return true;
  };
  if (!fill()) {
    const std::string why = db.error();
    db.run("ROLLBACK");
    return fail(Reason::kInternalError, fmt::format("{}: {}", path(kDatabase), why));
  }
  Result<MarkFile> made = MarkFile::create(path(kMark), all.revision, options.fsync);
  if (!made) return tl::unexpected(std::move(made.error()));
  mark = std::move(*made);
  return Ok{};
}

Result<Recovered> SqliteJournal::State::recover(Recovery how) {
  std::error_code failed;
  fs::create_directories(options.folder, failed);
  if (failed)
    return fail(Reason::kInternalError,
                fmt::format("{}: {}", options.folder.string(), failed.message()));
  if (Result<Ok> locked = lock.take(options.folder); !locked)
    return tl::unexpected(std::move(locked.error()));
  if (Result<Ok> old = Replacement(options.folder).take_back(); !old)
    return tl::unexpected(std::move(old.error()));

  const bool had_database = fs::exists(path(kDatabase), failed);
  const bool had_mark = fs::exists(path(kMark), failed);
  std::vector<Damage> found;
  Revision marked = 0;
  if (had_mark) {
    Result<MarkFile> opened = MarkFile::open(path(kMark));
    if (opened) {
      mark = std::move(*opened);
      marked = mark.revision();
    } else {
      found.push_back({path(kMark), "", opened.error().message});
    }
    if (!had_database) found.push_back({path(kDatabase), "", "is missing"});
  }
  const bool opened = open_database();
  Reader reader(db, path(kDatabase));
  if (!opened && !had_database)
    return fail(Reason::kInternalError, fmt::format("{} cannot be made: {}", path(kDatabase),
                                                    db ? db.error() : "no access"));
  if (opened)
    reader.read();
  else
    found.push_back({path(kDatabase), "", fmt::format("cannot be opened: {}", db.error())});
  found.insert(found.end(), std::make_move_iterator(reader.found.begin()),
               std::make_move_iterator(reader.found.end()));

  Recovered recovered{reader.state.revision, reader.state.reserved, std::move(reader.rows), {}};
  // Everything is new, or the very first start was killed before it had written its mark.
  const bool untouched = recovered.rows.empty() && recovered.revision <= 1;
  if (found.empty() && !had_mark && (reader.fresh || untouched)) {
    if (!reader.fresh && !db.run("DROP TABLE object; DROP TABLE state"))
      return fail(Reason::kInternalError, fmt::format("{}: {}", path(kDatabase), db.error()));
    if (Result<Ok> made = start_anew({.revision = 1, .reserved = 1}); !made)
      return tl::unexpected(std::move(made.error()));
    return Recovered{.revision = 1, .reserved = 1};
  }
  if (!had_mark) found.push_back({path(kMark), "", "is missing"});
  if (found.empty() && reader.fresh)
    found.push_back({path(kDatabase), "", "is empty, though it had been written to"});
  if (recovered.revision < marked && !reader.fresh)
    found.push_back({path(kDatabase) + "-wal", "",
                     fmt::format("writes up to revision {} were acknowledged, only those up to {} "
                                 "are there; the names of those missing cannot be told",
                                 marked, recovered.revision)});

  if (found.empty()) {
    now = reader.state;
    crcs = std::move(reader.crcs);
    if (!prepare())
      return fail(Reason::kInternalError, fmt::format("{}: {}", path(kDatabase), db.error()));
    return recovered;
  }
  if (how == Recovery::kWhole) {
    db = Sqlite();
    return tl::unexpected(damaged(options.folder.string(), found));
  }

  recovered.revision = std::max({recovered.revision, marked, reader.newest, Revision{1}});
  recovered.reserved = std::max(recovered.revision, recovered.reserved) + kAmple;
  if (Result<Ok> replaced = replace_by(recovered); !replaced)
    return tl::unexpected(std::move(replaced.error()));
  recovered.rows.clear();
  Result<Recovered> whole = recover(Recovery::kWhole);
  if (whole) whole->lost = std::move(found);
  return whole;
}

// What is intact stands beside what is damaged before anything of that is touched.
Result<Ok> SqliteJournal::State::replace_by(const Recovered& intact) {
  db = Sqlite();
  mark = MarkFile();
  Replacement replacement(options.folder);
  if (Result<Ok> begun = replacement.begin(); !begun) return begun;
  SqliteOptions beside = options;
  beside.folder = replacement.place();
  if (Result<Ok> built = State(disk, checkpoints, std::move(beside)).build(intact); !built) {
    if (Result<Ok> undone = replacement.take_back(); !undone) return undone;
    return built;
  }
  return replacement.finish();
}

Result<Ok> SqliteJournal::State::build(const Recovered& with) {
  if (!open_database())
    return fail(Reason::kInternalError, fmt::format("{} cannot be made: {}", path(kDatabase),
                                                    db ? db.error() : "no access"));
  if (Result<Ok> made = start_anew(with); !made) return made;
  if (!db.checkpoint(true))
    return fail(Reason::kInternalError, fmt::format("{}: {}", path(kDatabase), db.error()));
  return Ok{};
}

}  // namespace berth::apiserver
