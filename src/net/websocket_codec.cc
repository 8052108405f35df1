// SPDX-License-Identifier: Apache-2.0
#include "net/websocket_codec.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::net {
namespace {

constexpr std::size_t kMostControl = 125;

tl::unexpected<WsFault> fault(std::uint16_t code, std::string message) {
  return tl::unexpected(WsFault{code, std::move(message)});
}

unsigned char at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

bool is_control(WsType type) { return static_cast<unsigned>(type) >= 8; }

bool may_be_sent(std::uint16_t code) {
  if (code >= 3000 && code < 5000) return true;
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014);
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char first = at(text, i);
    if (first < 0x80) {
      ++i;
      continue;
    }
    const std::size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || text.size() - i <= more) return false;
    std::uint32_t point = first & (0x3fU >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      if ((at(text, i + k) & 0xc0) != 0x80) return false;
      point = (point << 6) | (at(text, i + k) & 0x3fU);
    }
    constexpr std::array<std::uint32_t, 4> kLeast{0, 0x80, 0x800, 0x10000};
    if (point < kLeast[more] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
      return false;
    i += more + 1;
  }
  return true;
}

// True once the head is complete.
tl::expected<bool, WsFault> WsDecoder::head(std::string_view& in) {
  const auto need = [&](std::size_t bytes) {
    const std::size_t taken = std::min(bytes - std::min(bytes, head_.size()), in.size());
    head_.append(in.substr(0, taken));
    in.remove_prefix(taken);
    return head_.size() >= bytes;
  };
  if (!need(2)) return false;
  const unsigned char first = at(head_, 0), second = at(head_, 1);
  if ((first & 0x70) != 0) return fault(1002, "a reserved bit is set");
  if ((second & 0x80) == 0) return fault(1002, "a client's frame is not masked");
  const unsigned opcode = first & 0x0fU, small = second & 0x7fU;
  if ((opcode > 2 && opcode < 8) || opcode > 10)
    return fault(1002, fmt::format("there is no opcode {}", opcode));
  type_ = static_cast<WsType>(opcode);
  fin_ = (first & 0x80) != 0;
  if (is_control(type_) && (!fin_ || small > kMostControl))
    return fault(1002, "a control frame is in fragments or too long");
  const std::size_t extra = small == 126 ? 2 : small == 127 ? 8 : 0;
  if (!need(2 + extra + 4)) return false;
  length_ = extra == 0 ? small : 0;
  for (std::size_t i = 0; i < extra; ++i) length_ = (length_ << 8) | at(head_, 2 + i);
  if ((extra == 2 && length_ < 126) || (extra == 8 && (length_ < 65536 || length_ >> 63 != 0)))
    return fault(1002, "a length is not in its shortest form");
  for (std::size_t i = 0; i < 4; ++i) mask_[i] = at(head_, 2 + extra + i);
  if (!is_control(type_)) {
    const bool goes_on = type_ == WsType::kContinuation;
    if (goes_on != message_type_.has_value())
      return fault(1002, goes_on ? "nothing is there to continue" : "a message is not finished");
    if (length_ > most_ - message_.size())
      return fault(1009, fmt::format("a message has more than {} bytes", most_));
    if (!goes_on) message_type_ = type_;
  }
  return true;
}

tl::expected<std::optional<WsDecoder::Event>, WsFault> WsDecoder::frame_done() {
  head_.clear();
  in_payload_ = false;
  taken_ = 0;
  if (!is_control(type_)) {
    if (!fin_) return std::nullopt;
    Event event{.type = *message_type_, .bytes = std::move(message_)};
    message_.clear();
    message_type_.reset();
    if (event.type == WsType::kText && !is_utf8(event.bytes))
      return fault(1007, "a text is not UTF-8");
    return event;
  }
  Event event{.type = type_, .bytes = std::move(payload_)};
  payload_.clear();
  if (type_ != WsType::kClose) return event;
  event.code = 1005;
  if (event.bytes.empty()) return event;
  if (event.bytes.size() < 2) return fault(1002, "a close has half a code");
  event.code = static_cast<std::uint16_t>((at(event.bytes, 0) << 8) | at(event.bytes, 1));
  event.bytes.erase(0, 2);
  if (!may_be_sent(event.code))
    return fault(1002, fmt::format("{} is no code to close with", event.code));
  if (!is_utf8(event.bytes)) return fault(1007, "a reason is not UTF-8");
  return event;
}

tl::expected<std::optional<WsDecoder::Event>, WsFault> WsDecoder::step(std::string_view& in) {
  while (true) {
    if (!in_payload_) {
      const auto complete = head(in);
      if (!complete) return tl::unexpected(complete.error());
      if (!*complete) return std::nullopt;
      in_payload_ = true;
    }
    std::string& into = is_control(type_) ? payload_ : message_;
    const auto bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(length_ - taken_, in.size()));
    for (std::size_t i = 0; i < bytes; ++i)
      into += static_cast<char>(at(in, i) ^ mask_[(taken_ + i) % 4]);
    in.remove_prefix(bytes);
    taken_ += bytes;
    if (taken_ < length_) return std::nullopt;
    auto event = frame_done();
    if (!event || *event) return event;
  }
}

std::string ws_head(WsType type, std::size_t length) {
  std::string out;
  out += static_cast<char>(0x80U | static_cast<unsigned>(type));
  const auto big_endian = [&](int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
      out += static_cast<char>((static_cast<std::uint64_t>(length) >> shift) & 0xff);
  };
  if (length < 126) {
    out += static_cast<char>(length);
  } else if (length < 65536) {
    out += '\x7e';
    big_endian(2);
  } else {
    out += '\x7f';
    big_endian(8);
  }
  return out;
}

std::string ws_close_payload(std::uint16_t code, std::string_view reason) {
  std::string out;
  out += static_cast<char>(code >> 8);
  out += static_cast<char>(code & 0xff);
  std::size_t most = std::min(reason.size(), kMostControl - 2);
  while (most > 0 && most < reason.size() && (at(reason, most) & 0xc0) == 0x80) --most;
  return out.append(reason.substr(0, most));
}

}  // namespace berth::net
