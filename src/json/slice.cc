// SPDX-License-Identifier: Apache-2.0
#include "json/slice.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "json/scan.h"

namespace berth::json {

namespace {

std::string_view without_space(std::string_view s) {
  while (!s.empty() && scan::is_space(s.front())) s.remove_prefix(1);
  return s;
}

std::string_view take(std::string_view& rest, const char* end) {
  const auto length = static_cast<std::size_t>(end - rest.data());
  const std::string_view taken = rest.substr(0, length);
  rest.remove_prefix(length);
  return taken;
}

// Past the string that starts at p (at its quote).
const char* after_string(const char* p, const char* end) {
  ++p;
  while (true) {
    p = scan::quote_or_backslash(p, end);
    if (p == end) return end;
    if (*p == '"') return p + 1;
    if (end - p < 2) return end;
    p += 2;
  }
}

// Past the bracket that closes the one at p.
const char* after_brackets(const char* p, const char* end) {
  std::size_t open = 0;
  bool in_string = false;
  bool escaped = false;  // the next byte is
#if defined(__SSE2__)
  for (; end - p >= 64; p += 64) {
    scan::Marks marks(p);
    std::uint64_t skipped = escaped ? 1 : 0;
    escaped = false;
    for (std::uint64_t left = marks.backslashes & ~skipped; left != 0;) {
      const int at = std::countr_zero(left);
      escaped = at == 63;
      if (!escaped) skipped |= std::uint64_t{2} << at;
      left &= ~(std::uint64_t{3} << at);
    }
    const std::uint64_t inside =
        scan::running_parity(marks.quotes & ~skipped) ^ (in_string ? ~std::uint64_t{0} : 0);
    in_string = inside >> 63 != 0;
    const std::uint64_t opening = marks.opening & ~inside;
    for (std::uint64_t left = opening | (marks.closing & ~inside); left != 0; left &= left - 1) {
      const int at = std::countr_zero(left);
      if ((opening >> at & 1) != 0) {
        ++open;
      } else if (--open == 0) {
        return p + at + 1;
      }
    }
  }
#endif
  for (; p != end; ++p) {
    if (escaped) {
      escaped = false;
    } else if (*p == '"') {
      in_string = !in_string;
    } else if (in_string) {
      escaped = *p == '\\';
    } else if (*p == '{' || *p == '[') {
      ++open;
    } else if ((*p == '}' || *p == ']') && --open == 0) {
      return p + 1;
    }
  }
  return end;
}

// The value at the start of `rest`, which moves past it. White space before it is skipped.
std::string_view take_value(std::string_view& rest) {
  rest = without_space(rest);
  if (rest.empty()) return {};
  const char* const end = rest.data() + rest.size();
  if (rest[0] == '{' || rest[0] == '[') return take(rest, after_brackets(rest.data(), end));
  if (rest[0] == '"') return take(rest, after_string(rest.data(), end));
  const char* p = rest.data();
  while (p != end && *p != ',' && *p != '}' && *p != ']' && !scan::is_space(*p)) ++p;
  return take(rest, p);
}

// After a bracket or a value: moves to the next member or element; false when there is none.
bool to_next(std::string_view& rest) {
  rest = without_space(rest);
  if (!rest.empty() && rest[0] == ',') {
    rest.remove_prefix(1);
    rest = without_space(rest);
  }
  return !rest.empty() && rest[0] != '}' && rest[0] != ']';
}

// The raw key at the start of `rest`, which moves past its colon.
bool take_key(std::string_view& rest, std::string_view& raw_key) {
  if (rest.empty() || rest[0] != '"') return false;
  const std::string_view quoted = take(rest, after_string(rest.data(), rest.data() + rest.size()));
  if (quoted.size() < 2) return false;
  raw_key = quoted.substr(1, quoted.size() - 2);
  rest = without_space(rest);
  if (rest.empty() || rest[0] != ':') return false;
  rest.remove_prefix(1);
  return true;
}

bool has_escape(std::string_view raw) { return raw.find('\\') != std::string_view::npos; }

// A number written with a point or an exponent, when it is whole and fits.
std::optional<std::int64_t> whole(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  std::string digits;
  std::int64_t exponent = 0;
  bool fraction = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (scan::is_digit(c)) {
      digits.push_back(c);
      if (fraction) --exponent;
    } else if (c == '.') {
      fraction = true;
    } else {  // e or E, then a signed number
      std::string_view power = text.substr(i + 1);
      if (!power.empty() && power[0] == '+') power.remove_prefix(1);
      int value = 0;
      if (std::from_chars(power.data(), power.data() + power.size(), value).ec != std::errc{})
        value = power.starts_with('-') ? -1'000'000'000 : 1'000'000'000;
      exponent += value;
      break;
    }
  }
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  digits.erase(0, digits.find_first_not_of('0'));
  if (digits.empty()) return 0;
  if (exponent < 0 || exponent > 18) return std::nullopt;
  digits.append(static_cast<std::size_t>(exponent), '0');
  if (negative) digits.insert(digits.begin(), '-');
  std::int64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> parse_double(std::string_view number) {
  double value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  if (read.ec == std::errc{} && read.ptr == number.data() + number.size()) return value;
  if (read.ec != std::errc::result_out_of_range) return std::nullopt;
  // Too large is refused, too small is zero; from_chars does not say which it was.
  value = std::strtod(std::string(number).c_str(), nullptr);
  if (std::isinf(value)) return std::nullopt;
  return value;
}

Slice::Slice(std::string_view good_json) : raw_(without_space(good_json)) {
  while (!raw_.empty() && scan::is_space(raw_.back())) raw_.remove_suffix(1);
}

bool Slice::is_null() const { return present() && raw_[0] == 'n'; }
bool Slice::is_object() const { return present() && raw_[0] == '{'; }
bool Slice::is_array() const { return present() && raw_[0] == '['; }
bool Slice::is_string() const { return present() && raw_[0] == '"'; }
bool Slice::is_bool() const { return present() && (raw_[0] == 't' || raw_[0] == 'f'); }
bool Slice::is_number() const { return present() && (raw_[0] == '-' || scan::is_digit(raw_[0])); }

Slice Slice::operator[](std::string_view key) const {
  Slice found;
  if (!is_object()) return found;
  std::string_view rest = raw_.substr(1);
  for (std::string_view raw_key; to_next(rest) && take_key(rest, raw_key);) {
    const std::string_view value = take_value(rest);
    if (key_is(raw_key, key)) found.raw_ = value;
  }
  return found;
}

Slice Slice::operator[](std::size_t index) const {
  Slice found;
  if (!is_array()) return found;
  std::string_view rest = raw_.substr(1);
  while (to_next(rest)) {
    const std::string_view value = take_value(rest);
    if (value.empty()) break;
    if (index-- == 0) {
      found.raw_ = value;
      break;
    }
  }
  return found;
}

std::size_t Slice::size() const {
  std::size_t count = 0;
  if (is_object()) {
    for (auto at = members().begin(); at != nullptr; ++at) ++count;
  } else if (is_array()) {
    for (auto at = elements().begin(); at != nullptr; ++at) ++count;
  }
  return count;
}

std::string Slice::text() const {
  std::string scratch;
  return std::string(text(scratch));
}

std::string_view Slice::text(std::string& scratch) const {
  if (!is_string() || raw_.size() < 2) return {};
  const std::string_view raw = raw_.substr(1, raw_.size() - 2);
  if (!has_escape(raw)) return raw;
  scratch = unescape(raw);
  return scratch;
}

std::optional<std::int64_t> Slice::integer() const {
  if (!is_number()) return std::nullopt;
  std::int64_t value = 0;
  const auto read = std::from_chars(raw_.data(), raw_.data() + raw_.size(), value);
  if (read.ptr != raw_.data() + raw_.size()) return whole(raw_);
  if (read.ec != std::errc{}) return std::nullopt;
  return value;
}

std::optional<double> Slice::number() const {
  if (!is_number()) return std::nullopt;
  return parse_double(raw_);
}

bool Slice::boolean(bool otherwise) const { return is_bool() ? raw_[0] == 't' : otherwise; }

bool Slice::equals(std::string_view text) const {
  return is_string() && raw_.size() >= 2 && key_is(raw_.substr(1, raw_.size() - 2), text);
}

Slice::Members Slice::members() const {
  Members members;
  if (is_object()) members.raw_ = raw_;
  return members;
}

Slice::Elements Slice::elements() const {
  Elements elements;
  if (is_array()) elements.raw_ = raw_;
  return elements;
}

Slice::Members::iterator Slice::Members::begin() const {
  iterator at;
  if (raw_.empty()) return at;
  at.rest_ = raw_.substr(1);
  at.advance();
  return at;
}

void Slice::Members::iterator::advance() {
  end_ = !to_next(rest_) || !take_key(rest_, raw_key_);
  if (end_) return;
  escaped_ = has_escape(raw_key_);
  if (escaped_) scratch_ = unescape(raw_key_);
  value_.raw_ = take_value(rest_);
}

Slice::Elements::iterator Slice::Elements::begin() const {
  iterator at;
  if (raw_.empty()) return at;
  at.rest_ = raw_.substr(1);
  at.advance();
  return at;
}

void Slice::Elements::iterator::advance() {
  end_ = !to_next(rest_);
  if (end_) return;
  value_.raw_ = take_value(rest_);
  end_ = value_.raw_.empty();
}

}  // namespace berth::json
