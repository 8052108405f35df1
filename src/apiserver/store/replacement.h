// SPDX-License-Identifier: Apache-2.0
// New files of a store in the place of damaged ones. Whatever fails on the way, and at whatever
// moment the process is killed, either the old ones are there or the new ones, and never neither.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace berth::apiserver {

// Thread-compatible. Nobody has the files open meanwhile.
class Replacement {
 public:
  explicit Replacement(std::filesystem::path folder);

  Result<Ok> take_back();  // one that was cut short
  Result<Ok> begin();      // makes place()
  // Where the new database and its mark are written; no log is left of them.
  const std::filesystem::path& place() const { return place_; }
  Result<Ok> finish();  // the old files are in a folder damaged-N afterwards

 private:
  const std::filesystem::path folder_, place_;
  const std::filesystem::path old_;  // files, on their way to damaged-N
};

}  // namespace berth::apiserver
