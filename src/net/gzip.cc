// SPDX-License-Identifier: Apache-2.0
#include "net/gzip.h"

#include <algorithm>

#include <zlib.h>

#include "base/check.h"

namespace berth::net {
namespace {

constexpr std::size_t kStep = 64 << 10;
constexpr int kGzipFormat = 15 + 16;
constexpr int kGzipOrZlib = 15 + 32;

// zlib counts in 32 bits.
uInt take(std::string_view& bytes) {
  const std::size_t size = std::min<std::size_t>(bytes.size(), 1u << 30);
  bytes.remove_prefix(size);
  return static_cast<uInt>(size);
}

Bytef* bytes_of(const char* text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text));  // zlib 1.2 does not know const
}

}  // namespace

Compressor::Compressor(int level) : state_(std::make_unique<z_stream_s>()) {
  const int made =
      deflateInit2(state_.get(), level, Z_DEFLATED, kGzipFormat, 8, Z_DEFAULT_STRATEGY);
  BERTH_CHECK(made == Z_OK, "zlib has no memory");
}

Compressor::~Compressor() { deflateEnd(state_.get()); }

void Compressor::add(std::string_view piece, bool last, std::string& out) {
  z_stream_s& z = *state_;
  do {
    z.next_in = bytes_of(piece.data());
    z.avail_in = take(piece);
    const int flush = last && piece.empty() ? Z_FINISH : Z_NO_FLUSH;
    do {
      const std::size_t before = out.size();
      out.resize(before + kStep);
      z.next_out = bytes_of(out.data() + before);
      z.avail_out = kStep;
      deflate(&z, flush);
      out.resize(before + kStep - z.avail_out);
    } while (z.avail_out == 0);
  } while (!piece.empty());
}

Decompressor::Decompressor(std::size_t limit)
    : state_(std::make_unique<z_stream_s>()), left_(limit) {
  BERTH_CHECK(inflateInit2(state_.get(), kGzipOrZlib) == Z_OK, "zlib has no memory");
}

Decompressor::~Decompressor() { inflateEnd(state_.get()); }

Result<Ok> Decompressor::add(std::string_view piece, std::string& out) {
  z_stream_s& z = *state_;
  while (!piece.empty()) {
    z.next_in = bytes_of(piece.data());
    z.avail_in = take(piece);
    bool full = false;
    while (z.avail_in > 0 || full) {
      if (complete_) {
        inflateReset2(&z, kGzipFormat);  // another member, or garbage
        complete_ = false;
      }
      started_ = true;
      const std::size_t before = out.size();
      out.resize(before + kStep);
      z.next_out = bytes_of(out.data() + before);
      z.avail_out = kStep;
      const int result = inflate(&z, Z_SYNC_FLUSH);
      const std::size_t made = kStep - z.avail_out;
      out.resize(before + std::min(made, left_));
      if (made > left_)
        return fail(Reason::kRequestEntityTooLarge, "the compressed data unpacks to too much");
      left_ -= made;
      full = z.avail_out == 0;
      if (result == Z_STREAM_END) {
        complete_ = true;
        full = false;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        return invalid("the compressed data is damaged");
      }
    }
  }
  return Ok{};
}

Result<Ok> Decompressor::finish() const {
  if (started_ && !complete_) return invalid("the compressed data is cut short");
  return Ok{};
}

std::string gzip(std::string_view text, int level) {
  std::string out;
  Compressor(level).add(text, true, out);
  return out;
}

Result<std::string> gunzip(std::string_view data, std::size_t limit) {
  std::string out;
  Decompressor decompressor(limit);
  if (data.empty()) return invalid("the compressed data is cut short");
  if (auto added = decompressor.add(data, out); !added)
    return tl::unexpected(std::move(added.error()));
  if (auto finished = decompressor.finish(); !finished)
    return tl::unexpected(std::move(finished.error()));
  return out;
}

}  // namespace berth::net
