// SPDX-License-Identifier: Apache-2.0
// STOMP 1.2 frames from bytes and to bytes. Pure; a frame may come in any number of pieces, and
// several in one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "gateway/limits.h"

namespace berth::gateway {

struct StompFrame {
  std::string command = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};

  // Of headers with the same name the first counts.
  std::optional<std::string> get(std::string_view name) const;
  std::string text(std::string_view name) const { return get(name).value_or(""); }
};

// Thread-compatible. After an error nothing more can be read: frames have no other border.
class StompDecoder {
 public:
  explicit StompDecoder(const Limits& limits) : limits_(limits) {}

  // Takes from the front of `in` until a frame is complete; nothing: all was taken. Line ends
  // between frames are heart-beats and pass by.
  tl::expected<std::optional<StompFrame>, std::string> step(std::string_view& in);

 private:
  enum class State : unsigned char { kCommand, kHeaders, kBody };
  tl::expected<bool, std::string> line(std::string_view& in);
  tl::expected<bool, std::string> body(std::string_view& in);
  tl::expected<bool, std::string> add_header();
  tl::expected<bool, std::string> head_done();

  Limits limits_;
  State state_ = State::kCommand;
  StompFrame frame_;
  std::string line_;
  std::size_t taken_ = 0;  // bytes of this frame
  std::optional<std::size_t> length_;
};

// With content-length where there is a body. Nothing in headers can break out of its line.
std::string encode(const StompFrame&);
// One header's line, escaped.
void append_header(std::string& out, std::string_view name, std::string_view value);

}  // namespace berth::gateway
