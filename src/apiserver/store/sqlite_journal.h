// SPDX-License-Identifier: Apache-2.0
// The journal of a real process: one SQLite database in a folder. What was acknowledged survives
// kill -9, and with `fsync` a power cut. Every row has a checksum, all rows together a digest, and
// the newest revision stands in a file of its own: damage is found when the store starts, and never
// served. One copy can report damage, not undo it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "apiserver/store/journal.h"
#include "base/executor.h"

namespace berth::apiserver {

struct SqliteOptions {
  std::filesystem::path folder = {};  // made if it is not there
  bool fsync = false;
  int checkpoint_pages = 1'000;  // of 4 KiB in the log: begin to copy them over
  int restart_pages = 16'384;    // 64 MiB: wait with the next batch until that is done
  std::string vfs = {};          // what stands for the file system; "": the real one
};

// Works on the disk executor; checkpoints are made on another, so that no commit waits for them.
// Loop-confined to whoever owns it; outlived by its executors.
class SqliteJournal final : public Journal {
 public:
  SqliteJournal(Executor& disk, Executor& checkpoints, SqliteOptions);
  ~SqliteJournal() override;

  // Refuses a folder that another process uses.
  Result<Recovered> recover(Recovery) override;
  void commit(JournalBatch, Done<Ok>) override;
  void probe(Done<Ok>) override;

  static constexpr const char* kDatabase = "store.db";
  static constexpr const char* kMark = "mark";
  static constexpr const char* kLock = "lock";

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the work under way
};

}  // namespace berth::apiserver
