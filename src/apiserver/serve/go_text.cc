// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/go_text.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "apiserver/edit/peek.h"

namespace berth::apiserver {
namespace {

// Follows Go's scanner as far as its first complaint.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // "": it has none.
  std::string complaint() {
    value();
    if (why_.empty()) {
      space();
      if (at_ < text_.size()) wrong("after top-level value");
    }
    return why_;
  }

 private:
  bool failed() const { return !why_.empty(); }
  void space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  void wrong(std::string_view context) {
    if (failed()) return;
    if (at_ >= text_.size()) {
      why_ = "unexpected end of JSON input";
      return;
    }
    const char c = text_[at_];
    // As strconv.Quote shows a character between single quotes.
    std::string shown(1, c);
    if (c == '\'') shown = "\\'";
    if (c == '\n') shown = "\\n";
    if (c == '\t') shown = "\\t";
    if (c == '\r') shown = "\\r";
    if (c == '\\') shown = "\\\\";
    if (static_cast<unsigned char>(c) >= 0x80)
      shown = fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else if (static_cast<unsigned char>(c) < 0x20 && shown.size() == 1)
      shown = fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    why_ = fmt::format("invalid character '{}' {}", shown, context);
  }
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void value() {
    space();
    // Go goes deeper, but nothing that deep is taken here.
    if (++depth_ > 1'000) {
      why_ = "exceeded max depth";
      return;
    }
    switch (here()) {
      case '{':
        object();
        break;
      case '[':
        array();
        break;
      case '"':
        string();
        break;
      case 't':
        literal("true");
        break;
      case 'f':
        literal("false");
        break;
      case 'n':
        literal("null");
        break;
      default:
        if (here() == '-' || (here() >= '0' && here() <= '9'))
          number();
        else
          wrong("looking for beginning of value");
    }
    --depth_;
  }

  void object() {
    ++at_;
    space();
    if (here() == '}') {
      ++at_;
      return;
    }
    while (!failed()) {
      space();
      if (here() != '"') return wrong("looking for beginning of object key string");
      string();
      if (failed()) return;
      space();
      if (here() != ':') return wrong("after object key");
      ++at_;
      value();
      if (failed()) return;
      space();
      if (here() == '}') {
        ++at_;
        return;
      }
      if (here() != ',') return wrong("after object key:value pair");
      ++at_;
    }
  }

  void array() {
    ++at_;
    space();
    if (here() == ']') {
      ++at_;
      return;
    }
    while (!failed()) {
      value();
      if (failed()) return;
      space();
      if (here() == ']') {
        ++at_;
        return;
      }
      if (here() != ',') return wrong("after array element");
      ++at_;
    }
  }

  void string() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return;
      }
      if (static_cast<unsigned char>(c) < 0x20) return wrong("in string literal");
      if (c != '\\') continue;
      ++at_;
      if (here() == 'u') {
        for (int i = 0; i < 4; ++i) {
          ++at_;
          const char h = here();
          const bool hex =
              (h >= '0' && h <= '9') || (h >= 'a' && h <= 'f') || (h >= 'A' && h <= 'F');
          if (!hex) return wrong("in \\u hexadecimal character escape");
        }
      } else if (at_ >= text_.size() ||
                 std::string_view("\"\\/bfnrt").find(here()) == std::string_view::npos) {
        return wrong("in string escape code");
      }
    }
    wrong("");
  }

  void digits(std::string_view context) {
    if (here() < '0' || here() > '9') return wrong(context);
    while (here() >= '0' && here() <= '9') ++at_;
  }
  void number() {
    if (here() == '-') ++at_;
    if (here() == '0')
      ++at_;
    else
      digits("in numeric literal");
    if (!failed() && here() == '.') {
      ++at_;
      digits("after decimal point in numeric literal");
    }
    if (!failed() && (here() == 'e' || here() == 'E')) {
      ++at_;
      if (here() == '+' || here() == '-') ++at_;
      digits("in exponent of numeric literal");
    }
  }
  void literal(std::string_view word) {
    for (std::size_t i = 0; i < word.size(); ++i, ++at_)
      if (at_ >= text_.size() || text_[at_] != word[i])
        return wrong(fmt::format("in literal {} (expecting '{}')", word, word[i]));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
  std::string why_;
};

}  // namespace

std::string go_json_error(std::string_view text, const Error& ours) {
  std::string theirs = Scanner(text).complaint();
  return theirs.empty() ? ours.message : theirs;
}

std::string_view go_type_name(const json::Value& value) {
  switch (value.kind()) {
    case boost::json::kind::object:
      return "object";
    case boost::json::kind::array:
      return "array";
    case boost::json::kind::string:
      return "string";
    case boost::json::kind::bool_:
      return "bool";
    case boost::json::kind::null:
      return "null";
    default:
      return "number";
  }
}

std::string go_plus_v(const json::Value& value) {
  if (value.is_object()) {
    std::map<std::string, const json::Value*> sorted;
    for (const auto& member : value.get_object())
      sorted[std::string(sv(member.key()))] = &member.value();
    std::string out = "map[";
    for (const auto& [key, inner] : sorted) {
      if (out.size() > 4) out += ' ';
      out += key + ":" + go_plus_v(*inner);
    }
    return out + "]";
  }
  if (value.is_array()) {
    std::string out = "[";
    for (const json::Value& element : value.get_array()) {
      if (out.size() > 1) out += ' ';
      out += go_plus_v(element);
    }
    return out + "]";
  }
  if (value.is_null()) return "<nil>";
  if (value.is_string()) return std::string(sv(value.get_string()));
  return json::print(value);
}

std::string go_conversion_error(std::string_view decoder_error) {
  constexpr std::string_view kStart = "json: cannot unmarshal ", kType = " of type ";
  const std::size_t type_at = decoder_error.rfind(kType);
  if (!decoder_error.starts_with(kStart) || type_at == std::string_view::npos)
    return std::string(decoder_error);
  const std::string_view rest = decoder_error.substr(kStart.size());
  std::string_view found = rest.substr(0, rest.find(' '));
  const std::string_view wanted = decoder_error.substr(type_at + kType.size());
  if (found == "number") found = "int64";
  if (found == "array") found = "slice";
  if (found == "object") found = "map";
  if (wanted.starts_with("[]")) return fmt::format("cannot restore slice from {}", found);
  if (wanted.starts_with("map[")) return fmt::format("cannot restore map from {}", found);
  const bool scalar = wanted == "string" || wanted == "bool" || wanted.starts_with("int") ||
                      wanted.starts_with("float");
  // k8s 1.36: Go converts between numbers, and numbers to strings, but knows no other way.
  const bool numeric = wanted.starts_with("int") || wanted.starts_with("float");
  if ((numeric && found != "int64") || (wanted == "bool" && found != "bool") ||
      (wanted == "string" && found != "int64"))
    return fmt::format("unrecognized type: {}", wanted);
  if (!scalar && found != "int64" && found != "string" && found != "bool")
    return fmt::format("cannot restore struct from: {}", found);
  // Go knows how to turn a number into a string or another number, though Kubernetes will not have
  // it; for all else it has no conversion at all.
  if (scalar && found != "int64") return fmt::format("unrecognized type: {}", wanted);
  if (wanted == "bool") return "unrecognized type: bool";
  return fmt::format("cannot convert {} to {}", found, wanted);
}

std::string go_summary(std::string_view body) {
  constexpr std::size_t kMost = 30;
  if (body.empty()) return "<empty>";
  const std::string_view shown = body.substr(0, kMost);
  std::string out;
  if (body.front() == '{')
    out = shown;
  else
    for (const char c : shown) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return body.size() > kMost ? out + " ..." : out;
}

}  // namespace berth::apiserver
