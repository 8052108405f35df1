// SPDX-License-Identifier: Apache-2.0
#include "kube/cel/lexer.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/cel/syntax.h"

namespace berth::cel {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool starts_name(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | (point >> 6));
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3F));
    put(0x80 | ((point >> 6) & 0x3F));
    put(0x80 | (point & 0x3F));
  }
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> all() {
    std::vector<Token> out;
    for (;;) {
      skip_blank();
      if (at_ >= text_.size()) break;
      Result<Token> token = next();
      if (!token) return tl::unexpected(token.error());
      out.push_back(std::move(*token));
    }
    out.push_back({.kind = Token::Kind::kEnd, .at = text_.size()});
    return out;
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  tl::unexpected<Error> wrong(std::size_t at, std::string_view what) const {
    return tl::unexpected(Error{.reason = Reason::kInvalid, .message = complaint(text_, at, what)});
  }

  void skip_blank() {
    for (;;) {
      while (at_ < text_.size() && (peek() == ' ' || peek() == '\t' || peek() == '\n' ||
                                    peek() == '\r' || peek() == '\f'))
        ++at_;
      if (peek() != '/' || peek(1) != '/') return;
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
  }

  Result<Token> next() {
    const std::size_t from = at_;
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '"' || c == '\'') return quoted(from, false);
    if ((c == 'r' || c == 'R') && (peek(1) == '"' || peek(1) == '\'')) {
      ++at_;
      return quoted(from, true);
    }
    if ((c == 'b' || c == 'B') && (peek(1) == '"' || peek(1) == '\''))
      return wrong(from, "literals of bytes are not supported by this server");
    if (starts_name(c)) {
      while (starts_name(peek()) || is_digit(peek())) ++at_;
      return Token{.kind = Token::Kind::kName, .at = from, .text = text_.substr(from, at_ - from)};
    }
    for (const std::string_view mark : {"&&", "||", "==", "!=", "<=", ">="})
      if (text_.substr(at_).starts_with(mark)) {
        at_ += 2;
        return Token{.kind = Token::Kind::kMark, .at = from, .text = mark};
      }
    if (std::string_view("+-*/%!<>?:.,()[]{}").find(c) == std::string_view::npos)
      return wrong(from, fmt::format("Syntax error: token recognition error at: '{}'",
                                     text_.substr(from, 1)));
    ++at_;
    return Token{.kind = Token::Kind::kMark, .at = from, .text = text_.substr(from, 1)};
  }

  // Its value is read where the sign before it is known.
  Result<Token> number() {
    const std::size_t from = at_;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X') && is_hex(peek(2))) {
      at_ += 2;
      while (is_hex(peek())) ++at_;
    } else {
      while (is_digit(peek())) ++at_;
      if (peek() == '.' && is_digit(peek(1))) {
        ++at_;
        while (is_digit(peek())) ++at_;
      }
      if (peek() == 'e' || peek() == 'E') {
        const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
        if (is_digit(peek(1 + sign))) {
          at_ += 1 + sign;
          while (is_digit(peek())) ++at_;
        }
      }
    }
    if (peek() == 'u' || peek() == 'U') ++at_;
    if (starts_name(peek())) return wrong(at_, "Syntax error: a number ends in a letter");
    return Token{.kind = Token::Kind::kLiteral, .at = from, .text = text_.substr(from, at_ - from)};
  }

  Result<Token> quoted(std::size_t from, bool raw) {
    const char quote = peek();
    const bool thrice = peek(1) == quote && peek(2) == quote;
    at_ += thrice ? 3 : 1;
    std::string out;
    for (;;) {
      if (at_ >= text_.size() || (!thrice && (peek() == '\n' || peek() == '\r')))
        return wrong(from, "Syntax error: a text that does not end");
      if (peek() == quote && (!thrice || (peek(1) == quote && peek(2) == quote))) break;
      if (peek() != '\\') {
        out += text_[at_++];
      } else if (raw) {
        out += text_[at_++];
        if (at_ < text_.size()) out += text_[at_++];
      } else if (!escape(out)) {
        return wrong(at_, "Syntax error: an escape that is not known");
      }
    }
    at_ += thrice ? 3 : 1;
    return Token{.kind = Token::Kind::kLiteral,
                 .at = from,
                 .text = text_.substr(from, at_ - from),
                 .value = Value::text(std::move(out))};
  }

  bool escape(std::string& out) {
    ++at_;
    const char c = peek();
    constexpr std::string_view kLetters = "abfnrtv\\'\"`?", kMeans = "\a\b\f\n\r\t\v\\'\"`?";
    if (const std::size_t which = kLetters.find(c); which != std::string_view::npos && c != '\0') {
      out += kMeans[which];
      ++at_;
      return true;
    }
    std::size_t digits = 0;
    std::uint32_t base = 16;
    if (c == 'x' || c == 'X') {
      digits = 2;
    } else if (c == 'u') {
      digits = 4;
    } else if (c == 'U') {
      digits = 8;
    } else if (c >= '0' && c <= '3') {
      digits = 3;
      base = 8;
    } else {
      return false;
    }
    if (base == 16) ++at_;
    std::uint32_t point = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
      const char d = peek();
      if (!is_hex(d) || (base == 8 && d > '7')) return false;
      const int value = is_digit(d) ? d - '0' : (d | 0x20) - 'a' + 10;
      point = point * base + static_cast<std::uint32_t>(value);
    }
    if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return false;
    append_utf8(out, point);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<Token>> tokens_of(std::string_view text) { return Lexer(text).all(); }

}  // namespace berth::cel
