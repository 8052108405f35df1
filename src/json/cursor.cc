// SPDX-License-Identifier: Apache-2.0
#include "json/cursor.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "json/scan.h"

namespace berth::json {

namespace {

constexpr const char* kTooLarge = "the document is too large";
constexpr const char* kTooDeep = "nested too deeply";
constexpr const char* kUnclosedString = "the string has no end";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The code unit of a \u escape at p (at the backslash), or -1.
int code_unit(const char* p, const char* end) {
  if (end - p < 6 || p[0] != '\\' || p[1] != 'u') return -1;
  int unit = 0;
  for (int i = 2; i < 6; ++i) {
    const int digit = hex_digit(p[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

void append_utf8(std::string& out, unsigned code) {
  const auto add = [&out](unsigned byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | (code >> 6));
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | (code >> 12));
    add(0x80 | ((code >> 6) & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | (code >> 18));
    add(0x80 | ((code >> 12) & 0x3F));
    add(0x80 | ((code >> 6) & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

char plain_escape(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;  // quote, backslash, slash
  }
}

void append_unescaped(std::string& out, std::string_view raw) {
  const char* p = raw.data();
  const char* const end = p + raw.size();
  while (p != end) {
    const auto* slash =
        static_cast<const char*>(std::memchr(p, '\\', static_cast<std::size_t>(end - p)));
    if (slash == nullptr || slash + 1 == end) slash = end;
    out.append(p, slash);
    p = slash;
    if (p == end) break;
    const int unit = code_unit(p, end);
    if (unit < 0) {
      out.push_back(plain_escape(p[1]));
      p += 2;
      continue;
    }
    p += 6;
    if (unit < 0xD800 || unit > 0xDFFF) {
      append_utf8(out, static_cast<unsigned>(unit));
      continue;
    }
    const int low = unit < 0xDC00 ? code_unit(p, end) : -1;
    if (low >= 0xDC00 && low <= 0xDFFF) {
      append_utf8(out, 0x10000U + (static_cast<unsigned>(unit - 0xD800) << 10) +
                           static_cast<unsigned>(low - 0xDC00));
      p += 6;
    } else {
      append_utf8(out, 0xFFFD);
    }
  }
}

}  // namespace

Cursor::Cursor(std::string_view bytes, const Limits& limits)
    : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()), max_depth_(limits.max_depth) {
  if (bytes.size() > limits.max_bytes) fail(kTooLarge);
}

bool Cursor::fail(const char* problem) { return fail_at(at_, problem); }

bool Cursor::fail_at(const char* place, const char* problem) {
  if (problem_ == nullptr) {
    problem_ = problem;
    problem_at_ = place;
  }
  at_ = end_;
  return false;
}

inline void Cursor::skip_space() {
  while (at_ != end_ && static_cast<unsigned char>(*at_) <= ' ' && scan::is_space(*at_)) ++at_;
}

Type Cursor::peek() {
  skip_space();
  if (at_ == end_) {
    fail("expected a value, found the end");
    return Type::kNull;
  }
  switch (*at_) {
    case '{':
      return Type::kObject;
    case '[':
      return Type::kArray;
    case '"':
      return Type::kString;
    case 't':
    case 'f':
      return Type::kBool;
    case 'n':
      return Type::kNull;
    default:
      if (*at_ == '-' || scan::is_digit(*at_)) return Type::kNumber;
      fail("expected a value");
      return Type::kNull;
  }
}

bool Cursor::enter(char bracket, const char* problem) {
  skip_space();
  if (at_ == end_ || *at_ != bracket) return fail(problem);
  if (depth_ >= max_depth_) return fail(kTooDeep);
  ++depth_;
  ++at_;
  first_ = true;
  return true;
}

// True when another member or element follows; false at the closing bracket (consumed) or on error.
inline bool Cursor::next(char bracket, const char* problem) {
  skip_space();
  if (at_ == end_) return fail(problem);
  if (*at_ == bracket) {
    ++at_;
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_) {
    if (*at_ != ',') return fail(problem);
    ++at_;
    skip_space();
  }
  first_ = false;
  return true;
}

bool Cursor::enter_object() { return enter('{', "expected '{'"); }
bool Cursor::enter_array() { return enter('[', "expected '['"); }
bool Cursor::next_element() { return next(']', "expected ',' or ']'"); }

bool Cursor::next_key(std::string_view& raw_key) {
  if (!next('}', "expected ',' or '}'")) return false;
  if (at_ == end_ || *at_ != '"') return fail("expected a key in quotes");
  bool escaped = false;
  if (!scan_string(raw_key, escaped)) return false;
  skip_space();
  if (at_ == end_ || *at_ != ':') return fail("expected ':'");
  ++at_;
  return true;
}

// What string_special() stopped at, other than the closing quote: returns where to go on, or null.
const char* Cursor::scan_odd(const char* p, bool& escaped) {
  if (*p == '\\') {
    escaped = true;
    if (end_ - p < 2) return fail_at(end_, kUnclosedString), nullptr;
    if (p[1] == 'u') {
      if (code_unit(p, end_) < 0)
        return fail_at(p, "\\u is not followed by four hexadecimal digits"), nullptr;
      return p + 6;
    }
    if (std::memchr("\"\\/bfnrt", p[1], 8) == nullptr)
      return fail_at(p, "unknown escape in a string"), nullptr;
    return p + 2;
  }
  if (static_cast<unsigned char>(*p) < 0x20)
    return fail_at(p, "a control character in a string must be escaped"), nullptr;
  const std::size_t length = scan::utf8_length(p, end_);
  if (length == 0) return fail_at(p, "a string is not valid UTF-8"), nullptr;
  return p + length;
}

inline bool Cursor::scan_string(std::string_view& raw, bool& escaped) {
  const char* const start = at_ + 1;
  const char* p = start;
  while (true) {
    p = scan::string_special(p, end_);
    if (p == end_) return fail(kUnclosedString);
    if (*p == '"') break;
    p = scan_odd(p, escaped);
    if (p == nullptr) return false;
  }
  raw = std::string_view(start, static_cast<std::size_t>(p - start));
  at_ = p + 1;
  return true;
}

std::string_view Cursor::raw_string() {
  skip_space();
  std::string_view raw;
  bool escaped = false;
  if (at_ == end_ || *at_ != '"') {
    fail("expected a string");
  } else {
    scan_string(raw, escaped);
  }
  return raw;
}

std::string_view Cursor::string(std::string& scratch) {
  skip_space();
  std::string_view raw;
  bool escaped = false;
  if (at_ == end_ || *at_ != '"') {
    fail("expected a string");
    return {};
  }
  if (!scan_string(raw, escaped)) return {};
  if (!escaped) return raw;
  scratch.clear();
  append_unescaped(scratch, raw);
  return scratch;
}

bool Cursor::word(std::string_view text, const char* problem) {
  if (static_cast<std::size_t>(end_ - at_) < text.size() ||
      std::memcmp(at_, text.data(), text.size()) != 0)
    return fail(problem);
  at_ += text.size();
  return true;
}

bool Cursor::boolean() {
  skip_space();
  if (at_ != end_ && *at_ == 't') return word("true", "expected true");
  word("false", "expected true or false");
  return false;
}

bool Cursor::null() {
  skip_space();
  return at_ != end_ && *at_ == 'n' && word("null", "expected null");
}

inline bool Cursor::scan_number() {
  const char* p = at_;
  const auto digits = [&] {
    const char* const from = p;
    while (p != end_ && scan::is_digit(*p)) ++p;
    return p != from;
  };
  if (p != end_ && *p == '-') ++p;
  if (p != end_ && *p == '0') {
    ++p;
  } else if (!digits()) {
    return fail("expected a number");
  }
  if (p != end_ && *p == '.') {
    ++p;
    if (!digits()) return fail_at(p, "expected a digit after '.'");
  }
  if (p != end_ && (*p == 'e' || *p == 'E')) {
    ++p;
    if (p != end_ && (*p == '+' || *p == '-')) ++p;
    if (!digits()) return fail_at(p, "expected a digit in the exponent");
  }
  at_ = p;
  return true;
}

std::string_view Cursor::number() {
  skip_space();
  const char* const start = at_;
  if (!scan_number()) return {};
  return {start, static_cast<std::size_t>(at_ - start)};
}

// One value at at_, white space before it already skipped. Recursion is bounded by max_depth_.
bool Cursor::scan_value() {
  if (at_ == end_) return fail("expected a value, found the end");
  switch (*at_) {
    case '"': {
      std::string_view raw;
      bool escaped = false;
      return scan_string(raw, escaped);
    }
    case '{':
      return scan_members('}');
    case '[':
      return scan_members(']');
    case 't':
      return word("true", "expected true");
    case 'f':
      return word("false", "expected false");
    case 'n':
      return word("null", "expected null");
    default:
      if (*at_ == '-' || scan::is_digit(*at_)) return scan_number();
      return fail("expected a value");
  }
}

bool Cursor::scan_members(char close) {
  if (depth_ >= max_depth_) return fail(kTooDeep);
  ++depth_;
  ++at_;
  const bool object = close == '}';
  const char* const problem = object ? "expected ',' or '}'" : "expected ',' or ']'";
  for (bool first = true;; first = false) {
    skip_space();
    if (at_ == end_) return fail(problem);
    if (*at_ == close && first) break;
    if (!first) {
      if (*at_ == close) break;
      if (*at_ != ',') return fail(problem);
      ++at_;
      skip_space();
    }
    if (object) {
      std::string_view raw;
      bool escaped = false;
      if (at_ == end_ || *at_ != '"') return fail("expected a key in quotes");
      if (!scan_string(raw, escaped)) return false;
      skip_space();
      if (at_ == end_ || *at_ != ':') return fail("expected ':'");
      ++at_;
      skip_space();
    }
    if (!scan_value()) return false;
  }
  ++at_;
  --depth_;
  return true;
}

std::string_view Cursor::skip() {
  skip_space();
  const char* const start = at_;
  if (!scan_value()) return {};
  first_ = false;
  return {start, static_cast<std::size_t>(at_ - start)};
}

bool Cursor::finish() {
  skip_space();
  if (!ok()) return false;
  if (depth_ != 0) return fail("the document is not complete");
  if (at_ != end_) return fail("nothing may follow the document");
  return true;
}

Error Cursor::error() const {
  if (ok()) return {};
  if (problem_ == kTooLarge)
    return {.reason = Reason::kRequestEntityTooLarge,
            .message = fmt::format("{}: {} bytes", problem_, end_ - begin_)};
  const auto line = 1 + std::count(begin_, problem_at_, '\n');
  const char* start = problem_at_;
  while (start != begin_ && start[-1] != '\n') --start;
  const auto column = 1 + std::count_if(start, problem_at_, [](char c) {
                        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                      });
  return {.reason = Reason::kBadRequest,
          .message = fmt::format("line {}, column {}: {}", line, column, problem_)};
}

bool key_is(std::string_view raw_key, std::string_view name) {
  if (raw_key == name) return raw_key.find('\\') == std::string_view::npos;
  return raw_key.size() > name.size() && raw_key.find('\\') != std::string_view::npos &&
         unescape(raw_key) == name;
}

std::string unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  append_unescaped(out, raw);
  return out;
}

Result<Ok> check(std::string_view bytes, const Limits& limits) {
  Cursor cursor(bytes, limits);
  cursor.skip();
  if (!cursor.finish()) return tl::unexpected(cursor.error());
  return Ok{};
}

}  // namespace berth::json
