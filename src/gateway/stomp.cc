// SPDX-License-Identifier: Apache-2.0
#include "gateway/stomp.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace berth::gateway {
namespace {

// A service account's token is longer than what is enough for everything else.
constexpr std::size_t kMostPasscode = 16 << 10;
constexpr std::size_t kMostCommand = 32;

tl::unexpected<std::string> bad(std::string why) { return tl::unexpected(std::move(why)); }

constexpr std::string_view kFromClient[] = {
    "CONNECT", "STOMP", "SEND",       "SUBSCRIBE", "ACK",     "NACK",    "BEGIN", "UNSUBSCRIBE",
    "COMMIT",  "ABORT", "DISCONNECT", "CONNECTED", "MESSAGE", "RECEIPT", "ERROR"};

bool has_body(std::string_view command) {
  return command == "SEND" || command == "MESSAGE" || command == "ERROR";
}

// Those two are exchanged before it is known that both sides escape.
bool escapes(std::string_view command) { return command != "CONNECT" && command != "CONNECTED"; }

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    switch (text[i]) {
      case 'r':
        out += '\r';
        break;
      case 'n':
        out += '\n';
        break;
      case 'c':
        out += ':';
        break;
      case '\\':
        out += '\\';
        break;
      default:
        return std::nullopt;
    }
  }
  return out;
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '\r':
        out += "\\r";
        break;
      case '\n':
        out += "\\n";
        break;
      case ':':
        out += "\\c";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += c;
    }
  }
}

}  // namespace

std::optional<std::string> StompFrame::get(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return std::nullopt;
}

tl::expected<std::optional<StompFrame>, std::string> StompDecoder::step(std::string_view& in) {
  while (true) {
    const auto complete = state_ == State::kBody ? body(in) : line(in);
    if (!complete) return bad(complete.error());
    if (!*complete) {
      if (in.empty()) return std::nullopt;
      continue;
    }
    StompFrame frame = std::exchange(frame_, {});
    state_ = State::kCommand;
    taken_ = 0;
    length_.reset();
    return frame;
  }
}

// Takes a line, or what there is of it; never completes a frame.
tl::expected<bool, std::string> StompDecoder::line(std::string_view& in) {
  const std::size_t end = in.find('\n');
  const std::string_view piece = in.substr(0, end);
  const bool connects = frame_.command == "CONNECT" || frame_.command == "STOMP";
  const std::size_t most = state_ == State::kCommand ? kMostCommand
                           : connects                ? kMostPasscode
                                                     : limits_.frame_header_bytes;
  if (line_.size() + piece.size() > most)
    return bad(fmt::format("a {} has more than {} bytes",
                           state_ == State::kCommand ? "command" : "header", most));
  line_.append(piece);
  taken_ += piece.size();
  in.remove_prefix(std::min(piece.size() + 1, in.size()));
  if (end == std::string_view::npos) return false;
  ++taken_;
  if (line_.ends_with('\r')) line_.pop_back();
  if (state_ == State::kCommand) {
    if (line_.empty()) {
      taken_ = 0;
      return false;
    }
    if (std::find(std::begin(kFromClient), std::end(kFromClient), line_) == std::end(kFromClient))
      return bad("there is no such command");
    frame_.command = std::exchange(line_, {});
    state_ = State::kHeaders;
    return false;
  }
  return line_.empty() ? head_done() : add_header();
}

tl::expected<bool, std::string> StompDecoder::add_header() {
  const std::string text = std::exchange(line_, {});
  if (frame_.headers.size() >= limits_.frame_headers)
    return bad(fmt::format("a frame has more than {} headers", limits_.frame_headers));
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return bad("a header has no colon");
  const std::string_view name = std::string_view(text).substr(0, colon);
  const std::string_view value = std::string_view(text).substr(colon + 1);
  if (name != "passcode" && text.size() > limits_.frame_header_bytes)
    return bad(fmt::format("a header has more than {} bytes", limits_.frame_header_bytes));
  if (!escapes(frame_.command)) {
    frame_.headers.emplace_back(name, value);
    return false;
  }
  auto plain_name = unescaped(name), plain_value = unescaped(value);
  if (!plain_name || !plain_value) return bad("a header has an escape that is none");
  frame_.headers.emplace_back(*std::move(plain_name), *std::move(plain_value));
  return false;
}

tl::expected<bool, std::string> StompDecoder::head_done() {
  state_ = State::kBody;
  const auto length = frame_.get("content-length");
  if (!length) return false;
  std::size_t bytes = 0;
  const char* const end = length->data() + length->size();
  const auto [stop, problem] = std::from_chars(length->data(), end, bytes);
  if (problem != std::errc() || stop != end || length->empty())
    return bad("content-length is no number");
  if (bytes > limits_.frame_bytes)
    return bad(fmt::format("a frame has more than {} bytes", limits_.frame_bytes));
  length_ = bytes;
  return false;
}

tl::expected<bool, std::string> StompDecoder::body(std::string_view& in) {
  const std::size_t end = length_ ? *length_ - frame_.body.size() : in.find('\0');
  const std::string_view piece = in.substr(0, end);
  taken_ += piece.size();
  if (taken_ > limits_.frame_bytes + kMostPasscode ||
      frame_.body.size() + piece.size() > limits_.frame_bytes)
    return bad(fmt::format("a frame has more than {} bytes", limits_.frame_bytes));
  frame_.body.append(piece);
  in.remove_prefix(piece.size());
  if (in.empty()) return false;
  if (in.front() != '\0') return bad("a body is longer than its content-length");
  in.remove_prefix(1);
  if (!frame_.body.empty() && !has_body(frame_.command))
    return bad(fmt::format("{} has no body", frame_.command));
  return true;
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  append_escaped(out, name);
  out += ':';
  append_escaped(out, value);
  out += '\n';
}

std::string encode(const StompFrame& frame) {
  std::string out = frame.command + '\n';
  for (const auto& [name, value] : frame.headers) {
    if (escapes(frame.command)) {
      append_header(out, name, value);
      continue;
    }
    // What cannot be said is left out of it.
    std::string line = name + ':' + value;
    std::erase_if(line, [](char c) { return c == '\n' || c == '\r'; });
    out += line + '\n';
  }
  if (!frame.body.empty()) out += fmt::format("content-length:{}\n", frame.body.size());
  out += '\n';
  out += frame.body;
  return out += '\0';
}

}  // namespace berth::gateway
