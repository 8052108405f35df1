// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/strict.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json/cursor.h"
#include "json/slice.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

constexpr std::size_t kMostComplaints = 100;

std::size_t keys_in(json::Cursor& cursor) {
  std::size_t count = 0;
  switch (cursor.peek()) {
    case json::Type::kObject:
      cursor.enter_object();
      for (std::string_view key; cursor.next_key(key);) count += 1 + keys_in(cursor);
      return count;
    case json::Type::kArray:
      cursor.enter_array();
      while (cursor.next_element()) count += keys_in(cursor);
      return count;
    default:
      cursor.skip();
      return 0;
  }
}

class Walker {
 public:
  explicit Walker(const std::vector<std::string>& unknown)
      : unknown_(unknown.begin(), unknown.end()) {}

  void walk(json::Slice value, std::string& path) {
    if (value.is_object()) {
      std::set<std::string> seen;
      const json::Slice::Members members = value.members();
      for (auto at = members.begin(); at != nullptr; ++at) {
        const auto [key, inner] = *at;
        const std::size_t before = path.size();
        if (!path.empty()) path += '.';
        path += key;
        if (!seen.emplace(key).second) complain("duplicate", path);
        if (unknown_.contains(path))
          complain("unknown", path);
        else
          walk(inner, path);
        path.resize(before);
      }
    } else if (value.is_array()) {
      std::size_t index = 0;
      for (auto at = value.elements().begin(); at != nullptr; ++at) {
        const std::size_t before = path.size();
        path += fmt::format("[{}]", index++);
        walk(*at, path);
        path.resize(before);
      }
    }
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  void complain(std::string_view what, std::string_view path) {
    if (found_.size() == kMostComplaints) return;
    std::string text = fmt::format("{} field {}", what, json::quoted(path));
    if (said_.insert(text).second) found_.push_back(std::move(text));
  }

  std::set<std::string, std::less<>> unknown_;
  std::set<std::string> said_;
  std::vector<std::string> found_;
};

}  // namespace

std::size_t members_in(const json::Value& value) {
  std::size_t count = 0;
  if (value.is_object()) {
    for (const auto& member : value.get_object()) count += 1 + members_in(member.value());
  } else if (value.is_array()) {
    for (const json::Value& element : value.get_array()) count += members_in(element);
  }
  return count;
}

std::vector<std::string> complaints_about(std::string_view good_json, std::size_t members,
                                          const std::vector<std::string>& unknown) {
  json::Cursor cursor(good_json, {.max_bytes = good_json.size(), .max_depth = 10'000});
  if (unknown.empty() && keys_in(cursor) == members) return {};
  Walker walker(unknown);
  std::string path;
  walker.walk(json::Slice(good_json), path);
  return walker.take();
}

std::string strict_error(const std::vector<std::string>& complaints) {
  return fmt::format("strict decoding error: {}", fmt::join(complaints, ", "));
}

}  // namespace berth::apiserver
