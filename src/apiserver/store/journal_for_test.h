// SPDX-License-Identifier: Apache-2.0
// Stores in folders, as one process after another has them, and what harms them.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <stdlib.h>

#include "apiserver/store/sqlite_journal.h"
#include "apiserver/store/store_lab.h"

namespace berth::apiserver {

namespace fs = std::filesystem;

class TempFolder {
 public:
  TempFolder() {
    std::string name = (fs::temp_directory_path() / "berth-store-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string file(const std::string& name) const { return (path / name).string(); }
  fs::path path;
};

inline std::string bytes_of(const std::string& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return out.str();
}
inline void write_bytes(const std::string& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

// A store on a database in a folder, as one process has it. `killed`: it leaves no tidy end.
class Process {
 public:
  explicit Process(const TempFolder& folder, SqliteOptions options = {},
                   Recovery how = Recovery::kWhole) {
    options.folder = folder.path;
    journal_ =
        std::make_unique<SqliteJournal>(world_.loop("disk"), world_.loop("checkpoints"), options);
    store_ =
        std::make_unique<Store>(scope_, StoreOptions{.indexes = usual_indexes()}, journal_.get());
    const Result<std::vector<Damage>> gone = store_->recover(how);
    if (!gone)
      error = gone.error().message;
    else
      for (const Damage& damage : *gone) lost.push_back(damage.text());
  }
  ~Process() {
    scope_.close({}, [] {});
    world_.run_until_idle(1h);
  }
  bool started() const { return error.empty(); }
  Store& store() { return *store_; }
  World& world() { return world_; }
  std::shared_ptr<std::optional<Result<Committed>>> start(Write write) {
    auto answer = std::make_shared<std::optional<Result<Committed>>>();
    store_->write(std::move(write), scope_.done<Committed>(kNoLimit, [answer](Result<Committed> r) {
      *answer = std::move(r);
    }));
    return answer;
  }
  Result<Committed> write(Write write) {
    const auto answer = start(std::move(write));
    world_.run_until_idle(Duration{});
    return answer->has_value() ? **answer : fail(Reason::kTimeout, "not answered");
  }
  kube::Revision put(const std::string& name, const std::string& node = "") {
    const Result<Committed> done = write(apiserver::put(pod({"a", name}, {.node = node})));
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return done ? done->revision : 0;
  }
  std::vector<kube::Object> items() { return store_->list({.kind = kube::kPod})->items; }
  std::vector<std::string> keys() { return keys_of(items()); }
  std::string all() {
    std::string text;
    for (const kube::Object& object : items()) text += object.json() + "\n";
    return text;
  }

  std::string error;
  std::vector<std::string> lost;

 private:
  World world_{1};
  Scope scope_{world_.loop("api"), "process"};
  std::unique_ptr<SqliteJournal> journal_;
  std::unique_ptr<Store> store_;
};

// Copies what a killed process would leave: the files as they are now.
inline void copy_files(const TempFolder& from, const TempFolder& to) {
  for (const char* name : {"store.db", "store.db-wal", "mark"}) {
    std::error_code failed;
    fs::copy_file(from.path / name, to.path / name, fs::copy_options::overwrite_existing, failed);
  }
}
inline void flip(const std::string& file, std::size_t at, int bit = 0) {
  std::string bytes = bytes_of(file);
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ (1 << bit));
  write_bytes(file, bytes);
}
// Flips a bit where this text is, and says where that was.
inline std::size_t flip_in(const std::string& file, const std::string& text) {
  const std::size_t at = bytes_of(file).rfind(text);
  EXPECT_NE(at, std::string::npos);
  flip(file, at + 1);
  return at + 1;
}

}  // namespace berth::apiserver
