// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explain/lines.h"

#include <limits>

#include <fmt/format.h>

#include "net/gzip.h"

namespace berth::scheduler {
namespace {

constexpr std::size_t kBlock = 64 << 10;
constexpr std::size_t kLongestLine = std::size_t{256} << 20;

}  // namespace

LineReader::LineReader(std::istream& in) : in_(in) {}
LineReader::~LineReader() = default;

Result<std::optional<std::string_view>> LineReader::next() {
  for (std::size_t searched = at_;;) {
    const std::size_t end = text_.find('\n', searched);
    if (end == text_.npos && !ended_) {
      text_.erase(0, at_);
      at_ = 0;
      searched = text_.size();
      if (searched > kLongestLine)
        return invalid("the line is longer than 256 MiB; a case must be a line of its own");
      if (Result<bool> more = fill(); !more) return tl::unexpected(std::move(more.error()));
      continue;
    }
    if (at_ == text_.size()) return std::nullopt;
    const std::size_t stop = end == text_.npos ? text_.size() : end;
    const std::string_view line = std::string_view(text_).substr(at_, stop - at_);
    at_ = end == text_.npos ? stop : stop + 1;
    searched = at_;
    ++number_;
    if (line.find_first_not_of(" \t\r") != line.npos) return line;
  }
}

Result<bool> LineReader::fill() {
  std::string block(kBlock, '\0');
  in_.read(block.data(), static_cast<std::streamsize>(block.size()));
  block.resize(static_cast<std::size_t>(in_.gcount()));
  consumed_ += block.size();
  if (!started_) {
    started_ = true;
    if (std::string_view(block).starts_with("\x1f\x8b"))
      gzip_ = std::make_unique<net::Decompressor>(std::numeric_limits<std::size_t>::max());
  }
  if (block.empty()) {
    ended_ = true;
    if (in_.bad()) return fail(Reason::kUnknown, "the file could not be read to its end");
    if (gzip_)
      if (Result<Ok> whole = gzip_->finish(); !whole)
        return tl::unexpected(std::move(whole.error()));
    return false;
  }
  if (!gzip_) {
    text_ += block;
    return true;
  }
  if (Result<Ok> unpacked = gzip_->add(block, text_); !unpacked)
    return tl::unexpected(std::move(unpacked.error()));
  return true;
}

}  // namespace berth::scheduler
