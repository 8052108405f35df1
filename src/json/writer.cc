// SPDX-License-Identifier: Apache-2.0
#include "json/writer.h"

#include <charconv>
#include <cmath>

#include "base/check.h"
#include "json/scan.h"

namespace berth::json {

namespace {

void append_escape(std::string& out, unsigned char c) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\b':
      out += "\\b";
      break;
    case '\f':
      out += "\\f";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += "\\u00";
      out.push_back(kHex[c >> 4]);
      out.push_back(kHex[c & 15]);
  }
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  const char* p = text.data();
  const char* const end = p + text.size();
  while (true) {
    const char* const stop = scan::string_special(p, end);
    out.append(p, stop);
    p = stop;
    if (p == end) break;
    const auto c = static_cast<unsigned char>(*p);
    if (c < 0x80) {
      append_escape(out, c);
      ++p;
      continue;
    }
    const std::size_t length = scan::utf8_length(p, end);
    if (length == 0) {
      out += "\\ufffd";
      ++p;
      continue;
    }
    const std::string_view rune(p, length);
    // These two end a line in JavaScript; Go escapes them always.
    if (rune == "\xE2\x80\xA8") {
      out += "\\u2028";
    } else if (rune == "\xE2\x80\xA9") {
      out += "\\u2029";
    } else {
      out += rune;
    }
    p += length;
  }
  out.push_back('"');
}

std::string quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

void append_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char buffer[32];
  const auto printed =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<std::size_t>(printed.ptr - buffer));
  if (text.front() == '-') {
    out.push_back('-');
    text.remove_prefix(1);
  }
  // The form is d[.ddd]e(+|-)xx, with the fewest digits that read back the same.
  const std::size_t e = text.find('e');
  std::string digits(1, text[0]);
  if (e > 2) digits += text.substr(2, e - 2);
  int exponent = 0;
  std::from_chars(text.data() + e + 2, text.data() + text.size(), exponent);
  if (text[e + 1] == '-') exponent = -exponent;

  // Go's encoder: exponent form below 1e-6 and from 1e21 on.
  if (value != 0 && (exponent < -6 || exponent >= 21)) {
    out.push_back(digits[0]);
    if (digits.size() > 1) out.append(".").append(digits, 1);
    out += exponent < 0 ? "e-" : "e+";
    out += std::to_string(std::abs(exponent));
  } else if (exponent < 0) {
    out.append("0.").append(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
  } else {
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() < whole) digits.append(whole - digits.size(), '0');
    out.append(digits, 0, whole);
    if (digits.size() > whole) out.append(".").append(digits, whole);
  }
}

void Writer::before_value() {
  if (open_.empty()) {
    BERTH_CHECK(out_.empty(), "a document has one value");
  } else if (open_.back() == '{') {
    BERTH_CHECK(after_key_, "a member starts with its key");
  } else if (comma_) {
    out_.push_back(',');
  }
  after_key_ = false;
  comma_ = true;
}

Writer& Writer::object() {
  before_value();
  out_.push_back('{');
  open_.push_back('{');
  comma_ = false;
  return *this;
}

Writer& Writer::array() {
  before_value();
  out_.push_back('[');
  open_.push_back('[');
  comma_ = false;
  return *this;
}

Writer& Writer::end() {
  BERTH_CHECK(!open_.empty() && !after_key_, "nothing to close, or a key without its value");
  out_.push_back(open_.back() == '{' ? '}' : ']');
  open_.pop_back();
  comma_ = true;
  return *this;
}

Writer& Writer::member(std::string_view key) {
  BERTH_CHECK(!open_.empty() && open_.back() == '{' && !after_key_, "members belong into objects");
  if (comma_) out_.push_back(',');
  append_quoted(out_, key);
  out_.push_back(':');
  after_key_ = true;
  return *this;
}

Writer& Writer::string(std::string_view text) {
  before_value();
  append_quoted(out_, text);
  return *this;
}

Writer& Writer::integer(std::int64_t value) {
  char buffer[24];
  const auto printed = std::to_chars(buffer, buffer + sizeof buffer, value);
  return raw({buffer, static_cast<std::size_t>(printed.ptr - buffer)});
}

Writer& Writer::number(double value) {
  before_value();
  append_double(out_, value);
  return *this;
}

Writer& Writer::boolean(bool value) { return raw(value ? "true" : "false"); }
Writer& Writer::null() { return raw("null"); }

Writer& Writer::raw(std::string_view good_json) {
  before_value();
  out_ += good_json;
  return *this;
}

bool Writer::complete() const { return open_.empty() && !out_.empty(); }

const std::string& Writer::text() const {
  BERTH_CHECK(complete(), "the document is not complete");
  return out_;
}

std::string Writer::take() {
  BERTH_CHECK(complete(), "the document is not complete");
  std::string text = std::move(out_);
  *this = Writer();
  return text;
}

}  // namespace berth::json
