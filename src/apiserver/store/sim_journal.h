// SPDX-License-Identifier: Apache-2.0
// A journal on a disk that exists only in a virtual world, and that fails the way disks fail: full,
// torn, a bit flipped, a sync that did nothing.
#pragma once

#include <cstdint>
#include <string>

#include "apiserver/store/journal.h"
#include "base/faults.h"
#include "base/random.h"

namespace berth::apiserver {

// What survives the process. Bytes that were written but not synced survive a kill, not a power
// cut.
struct SimDisk {
  std::string synced, unsynced;
  kube::Revision mark = 0;         // the newest write that was kept
  kube::Revision synced_mark = 0;  // the same for what is synced
  bool full = false;
  bool loses_syncs = false;  // says it synced and did not

  // Of what was not synced a part is left, or nothing.
  void cut_power(Random&);
  void flip_bit(std::uint64_t bit);  // counted over all bytes
  std::uint64_t bits() const { return (synced.size() + unsynced.size()) * 8; }
};

// An append-only log of batches. Loop-confined, but for its work on the disk's executor. Points:
// "journal.commit" may fail it, "journal.half" stands in the middle of its writing,
// "journal.kept" between keeping a batch and saying so.
class SimJournal final : public Journal {
 public:
  struct Options {
    bool sync = false;
    Fn<void()> work = nullptr;  // what a commit takes, such as World::busy
  };
  SimJournal(Executor& disk_loop, SimDisk&, Faults&, Options);

  Result<Recovered> recover(Recovery) override;
  void commit(JournalBatch, Done<Ok>) override;
  void probe(Done<Ok>) override;

 private:
  Result<Ok> keep(const JournalBatch&);

  Executor& loop_;
  SimDisk& disk_;
  Faults& faults_;
  Options options_;
};

}  // namespace berth::apiserver
