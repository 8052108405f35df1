// SPDX-License-Identifier: Apache-2.0
// Lines of a file that may be compressed, one at a time.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::net {
class Decompressor;
}

namespace berth::scheduler {

// Plain text or gzip, told by its first bytes. Holds one line and one block. Thread-compatible.
class LineReader {
 public:
  explicit LineReader(std::istream& in);
  ~LineReader();
  // The next line that is not blank, valid until the next call; nullopt at the end.
  Result<std::optional<std::string_view>> next();
  std::uint64_t number() const { return number_; }        // of the line last given, from 1
  std::uint64_t bytes_read() const { return consumed_; }  // of the file

 private:
  Result<bool> fill();  // false: there is no more

  std::istream& in_;
  std::unique_ptr<net::Decompressor> gzip_;
  std::string text_;
  std::size_t at_ = 0;
  std::uint64_t number_ = 0, consumed_ = 0;
  bool started_ = false, ended_ = false;
};

}  // namespace berth::scheduler
