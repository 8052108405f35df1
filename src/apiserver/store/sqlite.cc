// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace berth::apiserver {

void Statement::Finalize::operator()(sqlite3_stmt* stmt) const { sqlite3_finalize(stmt); }
void Sqlite::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

Statement& Statement::bind(int column, std::int64_t value) {
  sqlite3_bind_int64(stmt_.get(), column, value);
  return *this;
}
Statement& Statement::bind_text(int column, std::string_view text) {
  sqlite3_bind_text64(stmt_.get(), column, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}
Statement& Statement::bind_blob(int column, std::string_view bytes) {
  sqlite3_bind_blob64(stmt_.get(), column, bytes.data(), bytes.size(), SQLITE_STATIC);
  return *this;
}

Statement::Step Statement::step() {
  switch (sqlite3_step(stmt_.get())) {
    case SQLITE_ROW:
      return Step::kRow;
    case SQLITE_DONE:
      return Step::kDone;
    default:
      return Step::kFailed;
  }
}
void Statement::reset() { sqlite3_reset(stmt_.get()); }
bool Statement::run() {
  const bool done = step() == Step::kDone;
  reset();
  return done;
}

std::optional<std::int64_t> Statement::integer(int column) const {
  if (sqlite3_column_type(stmt_.get(), column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(stmt_.get(), column);
}
std::optional<std::string_view> Statement::text(int column) const {
  if (sqlite3_column_type(stmt_.get(), column) != SQLITE_TEXT) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(stmt_.get(), column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(stmt_.get(), column));
  if (text == nullptr) return std::nullopt;
  return std::string_view(text, size);
}
std::optional<std::string_view> Statement::blob(int column) const {
  if (sqlite3_column_type(stmt_.get(), column) != SQLITE_BLOB) return std::nullopt;
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(stmt_.get(), column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(stmt_.get(), column));
  if (bytes == nullptr) return std::nullopt;
  return std::string_view(bytes, size);
}

Result<Sqlite> Sqlite::open(const std::string& file, const std::string& vfs) {
  Sqlite out;
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &db,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                   vfs.empty() ? nullptr : vfs.c_str());
  out.db_.reset(db);
  if (code != SQLITE_OK)
    return fail(Reason::kInternalError,
                fmt::format("{}: {}", file, db == nullptr ? "out of memory" : sqlite3_errmsg(db)));
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, 5'000);
  return out;
}

bool Sqlite::run(const char* sql) {
  return sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

Statement Sqlite::prepare(const char* sql) {
  sqlite3_stmt* stmt = nullptr;
  sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, nullptr);
  Statement out;
  out.stmt_.reset(stmt);
  return out;
}

std::string Sqlite::error() const { return sqlite3_errmsg(db_.get()); }
void Sqlite::tidy_on_close(bool tidy) {
  sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, tidy ? 0 : 1, nullptr);
}

void Sqlite::count_log_pages(int* pages) {
  sqlite3_wal_hook(
      db_.get(),
      [](void* to, sqlite3*, const char*, int now) {
        *static_cast<int*>(to) = now;
        return SQLITE_OK;
      },
      pages);
}

bool Sqlite::checkpoint(bool restart) {
  int in_log = 0, done = 0;
  const int code = sqlite3_wal_checkpoint_v2(
      db_.get(), nullptr, restart ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE, &in_log,
      &done);
  return code == SQLITE_OK && in_log == done;
}

}  // namespace berth::apiserver
