// SPDX-License-Identifier: Apache-2.0
// The newest write that was kept, written down outside of the database. A flipped bit in SQLite's
// write-ahead log makes that and every later commit vanish without a word, and the database looks
// whole; beside the mark it does not.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "kube/object.h"

namespace berth::apiserver {

// 32 bytes: two slots of revision, checksum and zeros, written in turns, so that one is whole
// whatever happens to the other. Thread-compatible.
class MarkFile {
 public:
  MarkFile() = default;
  MarkFile(MarkFile&&) noexcept;
  MarkFile& operator=(MarkFile&&) noexcept;
  ~MarkFile();

  // Writes it whole or not at all. `sync`: also against a power cut.
  static Result<MarkFile> create(const std::filesystem::path&, kube::Revision, bool sync);
  // An error when any of it is damaged: nothing short of that leaves a slot half written.
  static Result<MarkFile> open(const std::filesystem::path&);

  kube::Revision revision() const { return revision_; }
  // False: it could not be written. The mark is then too low, which is no harm: it is a bound.
  bool set(kube::Revision);

 private:
  int file_ = -1;
  kube::Revision revision_ = 0;
  int next_slot_ = 0;
};

}  // namespace berth::apiserver
