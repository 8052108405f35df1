// SPDX-License-Identifier: Apache-2.0
#include "json/value.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "json/cursor.h"
#include "json/slice.h"
#include "json/writer.h"

namespace berth::json {

namespace {

boost::json::string_view view(std::string_view s) { return {s.data(), s.size()}; }
std::string_view view(const boost::json::string& s) { return {s.data(), s.size()}; }

// Builds a tree from what a cursor walks over.
class Builder {
 public:
  Builder(Cursor& cursor, boost::json::storage_ptr storage)
      : cursor_(cursor), storage_(std::move(storage)) {}

  Value value() {
    switch (cursor_.peek()) {
      case Type::kObject:
        return object();
      case Type::kArray:
        return array();
      case Type::kString: {
        const std::string_view text = cursor_.string(scratch_);
        return Value(view(text), storage_);
      }
      case Type::kNumber:
        return number();
      case Type::kBool:
        return Value(cursor_.boolean(), storage_);
      case Type::kNull:
        break;
    }
    cursor_.null();
    return Value(nullptr, storage_);
  }

  bool too_large() const { return too_large_; }

 private:
  Value object() {
    Dict dict(storage_);
    cursor_.enter_object();
    for (std::string_view raw; cursor_.next_key(raw);) {
      if (raw.find('\\') == std::string_view::npos) {
        dict.insert_or_assign(view(raw), value());
      } else {
        const std::string key = unescape(raw);
        dict.insert_or_assign(view(std::string_view(key)), value());
      }
    }
    return dict;
  }

  Value array() {
    List list(storage_);
    cursor_.enter_array();
    while (cursor_.next_element()) list.push_back(value());
    return list;
  }

  Value number() {
    const std::string_view text = cursor_.number();
    std::int64_t whole = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (read.ec == std::errc{} && read.ptr == text.data() + text.size())
      return Value(whole, storage_);
    const std::optional<double> real = parse_double(text);
    if (!real) too_large_ = true;
    return Value(real.value_or(0), storage_);
  }

  Cursor& cursor_;
  boost::json::storage_ptr storage_;
  std::string scratch_;
  bool too_large_ = false;
};

}  // namespace

Result<Value> parse(std::string_view text, Arena& arena, const Limits& limits) {
  Cursor cursor(text, limits);
  Builder builder(cursor, arena.storage());
  Value value = builder.value();
  if (!cursor.finish()) return tl::unexpected(cursor.error());
  if (builder.too_large())
    return fail(Reason::kBadRequest, "a number is too large for a 64-bit float");
  return value;
}

Value parse_good(std::string_view good_json, Arena& arena) {
  Cursor cursor(good_json, {.max_bytes = good_json.size(), .max_depth = 10'000});
  Builder builder(cursor, arena.storage());
  Value value = builder.value();
  BERTH_CHECK(cursor.finish(), cursor.error().message);
  return value;
}

void append_value(std::string& out, const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      out += "null";
      break;
    case boost::json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      break;
    case boost::json::kind::int64: {
      char buffer[24];
      out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value.get_int64()).ptr);
      break;
    }
    case boost::json::kind::uint64:
      out += std::to_string(value.get_uint64());
      break;
    case boost::json::kind::double_:
      append_double(out, value.get_double());
      break;
    case boost::json::kind::string:
      append_quoted(out, view(value.get_string()));
      break;
    case boost::json::kind::array: {
      char before = '[';
      for (const Value& element : value.get_array()) {
        out.push_back(before);
        append_value(out, element);
        before = ',';
      }
      out += before == '[' ? "[]" : "]";
      break;
    }
    case boost::json::kind::object: {
      char before = '{';
      for (const auto& member : value.get_object()) {
        out.push_back(before);
        append_quoted(out, {member.key().data(), member.key().size()});
        out.push_back(':');
        append_value(out, member.value());
        before = ',';
      }
      out += before == '{' ? "{}" : "}";
      break;
    }
  }
}

std::string print(const Value& value) {
  std::string out;
  append_value(out, value);
  return out;
}

bool equal(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_array()) {
    const List& left = a.get_array();
    const List& right = b.get_array();
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), equal);
  }
  if (a.is_object()) {
    const Dict& left = a.get_object();
    const Dict& right = b.get_object();
    if (left.size() != right.size()) return false;
    return std::all_of(left.begin(), left.end(), [&right](const auto& member) {
      const Value* other = right.if_contains(member.key());
      return other != nullptr && equal(member.value(), *other);
    });
  }
  return a == b;
}

namespace {

// Keeps the order of what people write. Keeping it costs a walk over the rest, which somebody who
// sends a hundred thousand members to be left out must not be able to make us pay each time.
Dict::iterator erase_at(Dict& dict, Dict::iterator at) {
  constexpr std::size_t kOrdered = 1'000;
  return dict.size() <= kOrdered ? dict.stable_erase(at) : dict.erase(at);
}

}  // namespace

void erase(Dict& dict, std::string_view key) {
  if (const auto at = dict.find(view(key)); at != dict.end()) erase_at(dict, at);
}

unsigned depth_of(const Value& value) {
  unsigned deepest = 0;
  if (value.is_array()) {
    for (const Value& element : value.get_array()) deepest = std::max(deepest, depth_of(element));
  } else if (value.is_object()) {
    for (const auto& member : value.get_object())
      deepest = std::max(deepest, depth_of(member.value()));
  } else {
    return 0;
  }
  return deepest + 1;
}

void drop_nulls(Value& value) {
  if (value.is_array()) {
    for (Value& element : value.get_array()) drop_nulls(element);
  } else if (value.is_object()) {
    Dict& dict = value.get_object();
    for (auto at = dict.begin(); at != dict.end();) {
      if (at->value().is_null()) {
        at = erase_at(dict, at);
      } else {
        drop_nulls(at->value());
        ++at;
      }
    }
  }
}

}  // namespace berth::json
