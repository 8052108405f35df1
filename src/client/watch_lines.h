// SPDX-License-Identifier: Apache-2.0
// Cuts a byte stream into lines, wherever the network cut it.
#pragma once

#include <string>
#include <string_view>

namespace berth::client {

// Thread-compatible.
class WatchLines {
 public:
  explicit WatchLines(std::size_t most_bytes) : most_(most_bytes) {}

  // Calls `on_line` with every line that `bytes` completes, without its newline; empty ones are
  // left out. The view is valid during the call only. False: a line is longer than allowed, or
  // `on_line` answered false; nothing more can be read then.
  template <class OnLine>
  bool feed(std::string_view bytes, OnLine&& on_line) {
    for (std::size_t end; (end = bytes.find('\n')) != std::string_view::npos;) {
      const std::string_view piece = bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      if (partial_.size() + piece.size() > most_) return false;
      std::string_view line = piece;
      if (!partial_.empty()) line = partial_.append(piece);
      const bool go_on = line.empty() || on_line(line);
      partial_.clear();
      if (!go_on) return false;
    }
    partial_.append(bytes);
    return partial_.size() <= most_;
  }
  bool between_lines() const { return partial_.empty(); }

 private:
  std::size_t most_;
  std::string partial_;
};

}  // namespace berth::client
