// SPDX-License-Identifier: Apache-2.0
// As much of SQLite as the journal needs, with owners and results.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace berth::apiserver {

// A prepared statement. Thread-compatible; gone before its database.
class Statement {
 public:
  Statement() = default;
  explicit operator bool() const { return stmt_ != nullptr; }

  Statement& bind(int column, std::int64_t);
  Statement& bind_text(int column, std::string_view);  // not copied: valid until run
  Statement& bind_blob(int column, std::string_view);  // the same
  enum class Step : std::uint8_t { kRow, kDone, kFailed };
  Step step();
  void reset();
  bool run();  // a statement without rows; reset afterwards

  // Nothing where the value is of another type, as damage may make it.
  std::optional<std::int64_t> integer(int column) const;
  std::optional<std::string_view> text(int column) const;  // valid until the next step
  std::optional<std::string_view> blob(int column) const;

 private:
  friend class Sqlite;
  struct Finalize {
    void operator()(sqlite3_stmt*) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> stmt_;
};

// A connection. Thread-compatible.
class Sqlite {
 public:
  Sqlite() = default;
  explicit operator bool() const { return db_ != nullptr; }
  static Result<Sqlite> open(const std::string& file, const std::string& vfs);

  bool run(const char* sql);
  Statement prepare(const char* sql);  // empty: see error()
  std::string error() const;           // what went wrong last
  // Closing the last connection copies the log into the database and removes it; not while false.
  void tidy_on_close(bool);
  // Pages in the write-ahead log after each commit are written to `pages`.
  void count_log_pages(int* pages);
  bool checkpoint(bool restart);  // true: all of it was done

 private:
  struct Close {
    void operator()(sqlite3*) const;
  };
  std::unique_ptr<sqlite3, Close> db_;
};

}  // namespace berth::apiserver
