// SPDX-License-Identifier: Apache-2.0
// gzip, with a bound on what a small input may grow to.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct z_stream_s;

namespace berth::net {

// Level 1 costs a third of the default's time and little size on JSON.
inline constexpr int kGzipLevel = 1;

std::string gzip(std::string_view, int level = kGzipLevel);
// RequestEntityTooLarge when more than `limit` bytes would come out.
Result<std::string> gunzip(std::string_view, std::size_t limit);

// Makes one gzip stream piece by piece. Thread-compatible.
class Compressor {
 public:
  explicit Compressor(int level = kGzipLevel);
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  void add(std::string_view piece, bool last, std::string& out);  // appends

 private:
  std::unique_ptr<z_stream_s> state_;
};

// Reads gzip (also several members in a row) and zlib streams, whatever the cuts, and gives out all
// that can be known so far. Thread-compatible.
class Decompressor {
 public:
  explicit Decompressor(std::size_t limit);
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  Result<Ok> add(std::string_view piece, std::string& out);  // appends
  Result<Ok> finish() const;                                 // an error when the end is missing

 private:
  std::unique_ptr<z_stream_s> state_;
  std::size_t left_;
  bool started_ = false;
  bool complete_ = false;
};

}  // namespace berth::net
