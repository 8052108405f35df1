// SPDX-License-Identifier: Apache-2.0
// Reads the members of one object strictly: types are checked, and whatever nobody asked for is a
// problem. Absent and null leave the default, as in Go.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/slice.h"
#include "scheduler/config/problems.h"

namespace berth::scheduler {

std::string type_name(json::Slice);  // "a list"
// profiles[0] and score make profiles[0].score; a name that would not read as one is in brackets.
std::string child(const std::string& path, std::string_view name);
std::string child(const std::string& path, std::size_t index);

// Thread-compatible. Ask for every field, then finish().
class Fields {
 public:
  // Anything but an object is a problem, and has no fields.
  Fields(Problems&, json::Slice, std::string path);

  const std::string& path() const { return path_; }
  std::string path(std::string_view key) const { return child(path_, key); }
  bool has(std::string_view key);  // present and not null

  // True where the field was there and could be read.
  bool text(std::string_view key, std::string& out);
  bool boolean(std::string_view key, bool& out);
  bool number(std::string_view key, float& out);
  bool duration(std::string_view key, Duration& out);
  bool bytes(std::string_view key, std::string& out);  // base64
  template <std::signed_integral Int>
  bool integer(std::string_view key, Int& out) {
    std::int64_t value = 0;
    if (!integer(key, value, std::numeric_limits<Int>::min(), std::numeric_limits<Int>::max()))
      return false;
    out = static_cast<Int>(value);
    return true;
  }
  template <std::signed_integral Int>
  bool integer(std::string_view key, std::optional<Int>& out) {
    Int value = 0;
    if (!integer(key, value)) return false;
    out = value;
    return true;
  }
  std::vector<std::string> texts(std::string_view key);
  json::Slice any(std::string_view key);  // whatever it is, unchecked; null is absent
  // f(Slice element, std::string path) for each element of a list.
  template <class F>
  void each(std::string_view key, F&& f) {
    const json::Slice list = typed(key, json::Type::kArray);
    if (!list) return;
    std::size_t index = 0;
    for (const json::Slice element : list.elements()) f(element, child(path(key), index++));
  }
  // f(Fields&) for an object's fields; finished afterwards.
  template <class F>
  bool object(std::string_view key, F&& f) {
    const json::Slice value = typed(key, json::Type::kObject);
    if (!value) return false;
    Fields fields(problems_, value, path(key));
    f(fields);
    fields.finish();
    return true;
  }

  void complain(std::string_view key, std::string_view what) { problems_.add(path(key), what); }
  // What was not asked for, and what comes twice.
  void finish();

 private:
  json::Slice get(std::string_view key);  // absent where it is null
  json::Slice typed(std::string_view key, json::Type);
  bool integer(std::string_view key, std::int64_t& out, std::int64_t least, std::int64_t most);

  Problems& problems_;
  json::Slice value_;
  std::string path_;
  std::vector<std::string_view> known_;
};

}  // namespace berth::scheduler
