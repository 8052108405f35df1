// SPDX-License-Identifier: Apache-2.0
// A folder into which cases are written that somebody should look at.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::cli {

// Thread-compatible.
class CaseFolder {
 public:
  static constexpr int kMost = 100;  // files; the first ones tell enough

  explicit CaseFolder(std::string path) : path_(std::move(path)) {}
  Result<Ok> usable() const;  // it is there and can be written to; otherwise bad usage
  // Into a file of its own, named after the pod "ns/name"; its path.
  Result<std::string> write(std::string_view pod, std::string_view text);

 private:
  std::string path_;
  int written_ = 0;
};

}  // namespace berth::cli
