// SPDX-License-Identifier: Apache-2.0
// Writing YAML the way kubectl does: block style, lists at the level of their key.
#include <fmt/format.h>

#include "json/scan.h"
#include "json/slice.h"
#include "json/yaml.h"
#include "json/yaml_scalar.h"

namespace berth::json {

namespace {

// YAML finds a key without a mark before it only up to this length.
constexpr std::size_t kLongestKey = 1000;

// Characters that YAML wants escaped: controls, and what other readers take for line ends or marks.
bool must_escape(std::string_view rune) {
  const auto lead = static_cast<unsigned char>(rune[0]);
  if (rune.size() == 1) return lead < 0x20 || lead == 0x7F;
  if (rune.size() == 2) return lead == 0xC2 && rune < "\xC2\xA0";
  return rune == "\xE2\x80\xA8" || rune == "\xE2\x80\xA9" || rune == "\xEF\xBB\xBF" ||
         rune == "\xEF\xBF\xBE" || rune == "\xEF\xBF\xBF";
}

unsigned code_point(std::string_view rune) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rune[i]) & 0x3FU; };
  if (rune.size() == 1) return static_cast<unsigned char>(rune[0]);
  if (rune.size() == 2) return (static_cast<unsigned char>(rune[0]) & 0x1FU) << 6 | byte(1);
  return (static_cast<unsigned char>(rune[0]) & 0x0FU) << 12 | byte(1) << 6 | byte(2);
}

// Calls f for each character of good UTF-8 until it answers false.
template <class F>
bool each_rune(std::string_view text, F f) {
  for (const char *p = text.data(), *const end = p + text.size(); p != end;) {
    const std::size_t length = scan::utf8_length(p, end);
    if (length == 0 || !f(std::string_view(p, length))) return false;
    p += length;
  }
  return true;
}

std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  each_rune(text, [&](std::string_view rune) {
    if (rune == "\"" || rune == "\\") {
      out.append("\\").append(rune);
    } else if (rune == "\n") {
      out += "\\n";
    } else if (rune == "\t") {
      out += "\\t";
    } else if (must_escape(rune)) {
      out += fmt::format("\\u{:04x}", code_point(rune));
    } else {
      out += rune;
    }
    return true;
  });
  return out + "\"";
}

// Would the text, written without quotes, read back as itself, here and in other readers?
bool plain_is_safe(std::string_view text) {
  if (text.empty() || text.size() > kLongestKey) return false;
  const char first = text.front();
  const bool letter = (first | 0x20) >= 'a' && (first | 0x20) <= 'z';
  const bool number = scan::is_digit(first);
  if (!letter && !number && first != '/' && first != '_' && first != '.' &&
      static_cast<unsigned char>(first) < 0x80)
    return false;
  if (text.back() == ' ' || text.back() == ':' || text == "=" || text.starts_with("---") ||
      text.starts_with("..."))
    return false;
  if (text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos)
    return false;
  if (resolve_plain(text).kind != YamlScalar::Kind::kString || looks_like_timestamp(text))
    return false;
  // Numbers in base 60, which YAML 1.1 has.
  if (number && text.find_first_not_of("0123456789_:.") == std::string_view::npos) return false;
  return each_rune(text, [](std::string_view rune) {
    return !must_escape(rune) && rune != "\xC2\xA0" && rune != "\xC2\x85";
  });
}

// Lines of text that can stand as they are under a '|'.
bool block_is_safe(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.front() == ' ' || text.front() == '\n' ||
      text.front() == '\t' || text.ends_with("\n\n") ||
      text.find(" \n") != std::string_view::npos || text.find("\t\n") != std::string_view::npos ||
      text.back() == ' ' || text.back() == '\t')
    return false;
  return each_rune(text, [](std::string_view rune) {
    return rune == "\n" || rune == "\t" || !must_escape(rune);
  });
}

class YamlWriter {
 public:
  std::string run(Slice value) {
    if (is_block(value)) {
      block(value, 0, false);
    } else {
      scalar(value, 0);
    }
    return std::move(out_);
  }

 private:
  static bool is_block(Slice value) {
    return value.members().begin() != nullptr || value.elements().begin() != nullptr;
  }

  void indent(std::size_t level) { out_.append(level, ' '); }

  // An object or a list with something in it. `inlined`: its first line continues a "- ".
  void block(Slice value, std::size_t level, bool inlined) {
    if (value.is_array()) {
      for (const Slice element : value.elements()) {
        if (!inlined) indent(level);
        inlined = false;
        out_ += "- ";
        if (is_block(element)) {
          block(element, level + 2, true);
        } else {
          scalar(element, level);
        }
      }
      return;
    }
    for (const auto [key, member] : value.members()) {
      if (!inlined) indent(level);
      inlined = false;
      const std::string name = plain_is_safe(key) ? std::string(key) : yaml_quoted(key);
      if (name.size() > kLongestKey) {
        out_.append("? ").append(name).push_back('\n');
        indent(level);
      } else {
        out_ += name;
      }
      out_ += is_block(member) ? ":\n" : ": ";
      if (is_block(member)) {
        block(member, member.is_array() ? level : level + 2, false);
      } else {
        scalar(member, level);
      }
    }
  }

  void scalar(Slice value, std::size_t level) {
    if (value.is_string()) {
      const std::string text = value.text();
      if (block_is_safe(text)) return literal(text, level + 2);
      out_ += plain_is_safe(text) ? text : yaml_quoted(text);
    } else if (value.is_object()) {
      out_ += "{}";
    } else if (value.is_array()) {
      out_ += "[]";
    } else {
      out_ += value.raw();
    }
    out_.push_back('\n');
  }

  void literal(std::string_view text, std::size_t level) {
    out_ += text.ends_with('\n') ? "|\n" : "|-\n";
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (end > 0) indent(level);
      out_.append(text.substr(0, end)).push_back('\n');
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  std::string out_;
};

}  // namespace

std::string json_to_yaml(std::string_view good_json) { return YamlWriter().run(Slice(good_json)); }

}  // namespace berth::json
