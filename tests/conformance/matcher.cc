// SPDX-License-Identifier: Apache-2.0
#include "matcher.h"

#include <cctype>
#include <cstdlib>
#include <regex>
#include <set>

#include <fmt/format.h>

namespace berth::conformance {
namespace {

struct Shape {
  std::string_view name;
  const char* pattern;
};
constexpr Shape kShapes[] = {
    {"<uid>", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"},
    {"<time>", "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"},
    {"<microtime>", "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z"},
    {"<rv>", "[1-9][0-9]*"},
    {"<int>", "-?[0-9]+"},
    {"<text>", "[^]+"},
};

bool matches(std::string_view text, const std::string& pattern) {
  return std::regex_match(text.begin(), text.end(), std::regex(pattern));
}

// Shapes also stand inside of longer texts: "too old resource version: 1 (<int>)".
std::string pattern_of(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Shape* here = nullptr;
    for (const Shape& shape : kShapes)
      if (text.starts_with(shape.name)) here = &shape;
    if (here != nullptr) {
      out += here->pattern;
      text.remove_prefix(here->name.size());
      continue;
    }
    if (std::string_view(R"(\^$.|?*+()[]{})").find(text.front()) != std::string_view::npos)
      out += '\\';
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

std::string differs(const std::string& path, std::string_view expected, std::string_view actual) {
  return fmt::format("{}: expected {}\n  but it is {}", path.empty() ? "/" : path, expected,
                     actual.empty() ? "absent" : actual);
}

// The text of a scalar: a string's value, or the raw number or word.
std::string scalar(json::Slice value) {
  return value.is_string() ? value.text() : std::string(value.raw());
}

bool is_shape(std::string_view text) {
  return text.size() > 2 && text.front() == '<' && text.back() == '>';
}

std::string in_array(json::Slice expected, json::Slice actual, Variables& variables,
                     const std::string& path) {
  if (!actual.is_array()) return differs(path, expected.raw(), actual.raw());
  if (const json::Slice size = expected["<size>"])
    if (size.integer() != static_cast<std::int64_t>(actual.size()))
      return fmt::format("{}: expected {} elements, there are {}: {}", path, size.raw(),
                         actual.size(), actual.raw());
  for (json::Slice wanted : expected["<has>"].elements()) {
    bool found = false;
    for (json::Slice element : actual.elements())
      if (mismatch(wanted, element, variables).empty()) {
        found = true;
        break;
      }
    if (!found) return fmt::format("{}: {} is not in {}", path, wanted.raw(), actual.raw());
  }
  if (const json::Slice none = expected["<none>"])
    for (json::Slice element : actual.elements())
      if (mismatch(none, element, variables).empty())
        return fmt::format("{}: {} should not be in {}", path, element.raw(), actual.raw());
  return "";
}

}  // namespace

std::string filled(std::string_view text, const Variables& variables) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (text[at] == '$')
      while (end < text.size() &&
             (std::isupper(static_cast<unsigned char>(text[end])) != 0 ||
              std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
        ++end;
    const auto known = variables.find(std::string(text.substr(at + 1, end - at - 1)));
    if (end > at + 1 && known != variables.end())
      out += known->second;
    else
      out += text.substr(at, end - at);
    at = end;
  }
  return out;
}

std::string text_mismatch(std::string_view expected, std::string_view actual,
                          Variables& variables) {
  if (expected == "<any>") return "";
  for (const Shape& shape : kShapes)
    if (shape.name == expected)
      return matches(actual, shape.pattern) ? "" : differs("", expected, actual);
  if (is_shape(expected)) {
    const std::string_view inside = expected.substr(1, expected.size() - 2);
    if (inside.starts_with("set ")) {
      variables[std::string(inside.substr(4))] = actual;
      return "";
    }
    if (inside.starts_with("more ")) {
      const std::string& than = variables[std::string(inside.substr(5))];
      const bool more = std::strtoull(std::string(actual).c_str(), nullptr, 10) >
                        std::strtoull(than.c_str(), nullptr, 10);
      return more ? "" : differs("", "more than " + than, actual);
    }
    if (inside.starts_with("re "))
      return matches(actual, filled(inside.substr(3), variables)) ? ""
                                                                  : differs("", expected, actual);
  }
  if (expected == actual || matches(actual, pattern_of(expected))) return "";
  return differs("", expected, actual);
}

std::string mismatch(json::Slice expected, json::Slice actual, Variables& variables,
                     Compare compare, const std::string& path) {
  if (expected.is_string()) {
    const std::string text = expected.text();
    if (text == "<absent>") return actual.present() ? differs(path, text, actual.raw()) : "";
    if (!actual.present()) return differs(path, text, "");
    if (is_shape(text)) {
      const std::string why = text_mismatch(text, scalar(actual), variables);
      return why.empty() ? "" : path + why;
    }
    const bool same = actual.is_string() && text_mismatch(text, actual.text(), variables).empty();
    return same ? "" : differs(path, text, actual.raw());
  }
  if (expected.is_object() && (expected["<has>"] || expected["<none>"] || expected["<size>"]))
    return in_array(expected, actual, variables, path);
  if (expected.is_object()) {
    if (!actual.is_object()) return differs(path, expected.raw(), actual.raw());
    std::set<std::string> named;
    for (const auto [key, value] : expected.members()) {
      named.insert(std::string(key));
      if (key == "<only>") continue;
      if (std::string why =
              mismatch(value, actual[key], variables, compare, path + "/" + std::string(key));
          !why.empty())
        return why;
    }
    if (compare == Compare::kWhole || named.contains("<only>"))
      for (const auto [key, value] : actual.members())
        if (!named.contains(std::string(key)))
          return fmt::format("{}/{}: not expected: {}", path, key, value.raw());
    return "";
  }
  if (expected.is_array()) {
    if (!actual.is_array() || actual.size() != expected.size())
      return differs(path, expected.raw(), actual.raw());
    std::size_t i = 0;
    for (json::Slice element : expected.elements()) {
      if (std::string why =
              mismatch(element, actual[i], variables, compare, path + "/" + std::to_string(i));
          !why.empty())
        return why;
      ++i;
    }
    return "";
  }
  if (expected.is_number() && actual.is_number())
    return expected.number() == actual.number() ? "" : differs(path, expected.raw(), actual.raw());
  return expected.raw() == actual.raw() ? "" : differs(path, expected.raw(), actual.raw());
}

}  // namespace berth::conformance
