// SPDX-License-Identifier: Apache-2.0
// Reads JSON that Go wrote, or that is meant for Go, as Go's decoder would.
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/result.h"
#include "json/cursor.h"
#include "scheduler/extender/extender_wire.h"

namespace berth::scheduler {

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Go takes a member's name in any case.
inline bool same_name(std::string_view raw_key, std::string_view name) {
  std::string unescaped;
  if (raw_key.find('\\') != std::string_view::npos) raw_key = unescaped = json::unescape(raw_key);
  return std::equal(raw_key.begin(), raw_key.end(), name.begin(), name.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

inline std::string_view type_name(json::Type type) {
  switch (type) {
    case json::Type::kNull:
      return "null";
    case json::Type::kBool:
      return "a bool";
    case json::Type::kNumber:
      return "a number";
    case json::Type::kString:
      return "a string";
    case json::Type::kArray:
      return "a list";
    case json::Type::kObject:
      return "an object";
  }
  return "";
}

// Reads a text as Go's decoder fills a struct: null leaves a value as it is, a name may come in
// any case, unknown members are skipped, and a value of the wrong type fails the whole. After the
// first problem everything else does nothing.
class GoReader {
 public:
  explicit GoReader(std::string_view text)
      : text_(first_value(text)), cursor_(text_, {.max_bytes = text_.size() + 1}) {}

  // Enters an object and calls member(key) for each of its members; member returns false for what
  // it does not know. False: null.
  template <class F>
  bool object(std::string_view where, F member) {
    if (!begin(json::Type::kObject, where)) return false;
    cursor_.enter_object();
    for (std::string_view key; good() && cursor_.next_key(key);)
      if (!member(key)) cursor_.skip();
    return good();
  }
  template <class F>
  bool list(std::string_view where, F element) {
    if (!begin(json::Type::kArray, where)) return false;
    cursor_.enter_array();
    while (good() && cursor_.next_element()) element();
    return good();
  }
  void string(std::string& out, std::string_view where) {
    if (!begin(json::Type::kString, where)) return;
    std::string scratch;
    out = cursor_.string(scratch);
  }
  // k8s 1.36: 1.0 and 1e3 are not integers to Go.
  void integer(std::int64_t& out, std::string_view where) {
    if (!begin(json::Type::kNumber, where)) return;
    const std::string_view digits = cursor_.number();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      return complain(fmt::format("{}: {} is not a 64-bit integer", where, digits));
    out = value;
  }
  void strings(std::map<std::string, std::string, std::less<>>& out, std::string_view where) {
    const bool any = object(where, [&](std::string_view key) {
      string(out[json::unescape(key)], where);
      return true;
    });
    if (!any && good()) out.clear();
  }
  std::string_view raw() { return cursor_.skip(); }
  bool null() { return good() && cursor_.null(); }

  void complain(std::string problem) {
    if (good()) problem_ = std::move(problem);
  }
  bool good() const { return problem_.empty() && cursor_.ok(); }
  Result<Ok> end() {
    if (!problem_.empty()) return invalid(problem_);
    if (!cursor_.finish()) return invalid(cursor_.error().message);
    return Ok{};
  }

 private:
  static std::string_view first_value(std::string_view text) {
    ValueEnd end;
    return end.feed(text) == ValueEnd::Found::kEnd ? text.substr(0, end.length()) : text;
  }

  bool begin(json::Type want, std::string_view where) {
    if (!good()) return false;
    const json::Type found = cursor_.peek();
    if (!cursor_.ok()) return false;
    if (found == want) return true;
    if (found == json::Type::kNull)
      cursor_.null();
    else
      complain(fmt::format("{}: expected {}, found {}", where, type_name(want), type_name(found)));
    return false;
  }

  std::string_view text_;
  json::Cursor cursor_;
  std::string problem_;
};

}  // namespace berth::scheduler
