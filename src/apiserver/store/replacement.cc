// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/replacement.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "apiserver/store/sqlite_journal.h"

namespace berth::apiserver {
namespace {

namespace fs = std::filesystem;

const std::string kNewFiles[] = {SqliteJournal::kDatabase, SqliteJournal::kMark};
const std::string kOldFiles[] = {
    SqliteJournal::kDatabase, SqliteJournal::kDatabase + std::string("-wal"),
    SqliteJournal::kDatabase + std::string("-shm"), SqliteJournal::kMark};

tl::unexpected<Error> cannot(std::string_view what, const fs::path& path,
                             const std::error_code& why) {
  return fail(Reason::kInternalError,
              fmt::format("{} cannot be {}: {}", path.string(), what, why.message()));
}

bool is_there(const fs::path& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

Result<Ok> move(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::rename(from, to, failed);
  if (failed) return cannot(fmt::format("moved to {}", to.string()), from, failed);
  return Ok{};
}

template <class Names>
Result<Ok> move_those_there(const Names& names, const fs::path& from, const fs::path& to) {
  for (const std::string& name : names)
    if (is_there(from / name))
      if (Result<Ok> moved = move(from / name, to / name); !moved) return moved;
  return Ok{};
}

Result<Ok> make(const fs::path& folder) {
  std::error_code failed;
  fs::create_directory(folder, failed);
  if (failed) return cannot("made", folder, failed);
  return Ok{};
}

fs::path first_free(const fs::path& folder) {
  for (int i = 1;; ++i)
    if (fs::path to = folder / fmt::format("damaged-{}", i); !is_there(to)) return to;
}

}  // namespace

Replacement::Replacement(fs::path folder)
    : folder_(std::move(folder)), place_(folder_ / "salvaging"), old_(place_ / "old") {}

// The steps of finish() backwards, each of which may be done, or not, or have been taken back.
Result<Ok> Replacement::take_back() {
  if (is_there(old_)) {
    for (const std::string& name : kNewFiles)
      if (!is_there(place_ / name) && is_there(folder_ / name))
        if (Result<Ok> moved = move(folder_ / name, place_ / name); !moved) return moved;
    if (Result<Ok> moved = move_those_there(kOldFiles, old_, folder_); !moved) return moved;
  }
  std::error_code failed;
  fs::remove(old_, failed);  // first, because it is what tells that files may have to go back
  if (!failed) fs::remove_all(place_, failed);
  if (failed) return cannot("removed", place_, failed);
  return Ok{};
}

Result<Ok> Replacement::begin() {
  if (Result<Ok> clear = take_back(); !clear) return clear;
  return make(place_);
}

Result<Ok> Replacement::finish() {
  if (Result<Ok> made = make(old_); !made) return made;
  if (Result<Ok> moved = move_those_there(kOldFiles, folder_, old_); !moved) return moved;
  if (Result<Ok> moved = move_those_there(kNewFiles, place_, folder_); !moved) return moved;
  // From here on it is done.
  if (Result<Ok> moved = move(old_, first_free(folder_)); !moved) return moved;
  return take_back();
}

}  // namespace berth::apiserver
