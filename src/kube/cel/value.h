// SPDX-License-Identifier: Apache-2.0
// What an expression evaluates to. Errors are values: `false && error` is false.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "kube/cel/tree.h"
#include "kube/cel/type.h"
#include "kube/quantity.h"

namespace berth::cel {

class Value;
using Values = std::vector<Value>;
using Entries = std::vector<std::pair<Value, Value>>;

// A text: in the document, or its own.
struct Text {
  std::string_view view;
  std::shared_ptr<const std::string> own = {};
};
// A list or map of the document; `type` lives as long as the program.
struct Part {
  Node node;
  const Type* type = nullptr;
};

// Immutable; copies share. Valid as long as the document that it was made from.
class Value {
 public:
  Value() = default;  // null
  static Value boolean(bool value) { return Value(Kind::kBool, value); }
  static Value integer(std::int64_t value) { return Value(Kind::kInt, value); }
  static Value unsigned_integer(std::uint64_t value) { return Value(Kind::kUint, value); }
  static Value number(double value) { return Value(Kind::kDouble, value); }
  static Value text(std::string value);
  static Value text_of(Text value, Kind kind = Kind::kString) {
    return Value(kind, std::move(value));
  }
  static Value duration(Duration value) { return Value(Kind::kDuration, value.count()); }
  static Value timestamp(WallTime value);
  static Value quantity(kube::Quantity);
  static Value type(Kind of) { return Value(Kind::kType, of); }
  static Value list(Values);
  static Value map(Entries);
  static Value error(std::string why);
  // A part of a document, seen as `type`.
  static Value of(const Node&, const Type& type);

  Kind kind() const { return kind_; }
  bool is_error() const { return kind_ == Kind::kError; }
  bool is_true() const { return kind_ == Kind::kBool && std::get<bool>(data_); }
  bool is_false() const { return kind_ == Kind::kBool && !std::get<bool>(data_); }

  // Of the kind that they say.
  bool boolean() const { return std::get<bool>(data_); }
  std::int64_t integer() const { return std::get<std::int64_t>(data_); }  // also times, in ns
  std::uint64_t unsigned_integer() const { return std::get<std::uint64_t>(data_); }
  double number() const { return std::get<double>(data_); }
  std::string_view text() const { return std::get<Text>(data_).view; }  // also an error's
  const kube::Quantity& quantity() const { return *std::get<Amount>(data_); }
  Kind type_kind() const { return std::get<Kind>(data_); }

  // Of lists and maps.
  std::size_t size() const;
  Value element(std::size_t index) const;
  // An error: there is no such key.
  Value member(const Value& key) const;
  bool has(const Value& key) const;
  // Elements, or a map's keys, until it says false.
  void each(const std::function<bool(const Value&)>&) const;
  bool unordered() const;
  // By name: what an object's type knows, or a map has.
  const Part* part() const { return std::get_if<Part>(&data_); }

 private:
  using Amount = std::shared_ptr<const kube::Quantity>;
  using List = std::shared_ptr<const Values>;
  using Map = std::shared_ptr<const Entries>;
  using Data = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, Text, Amount,
                            Kind, List, Map, Part>;
  Value(Kind kind, Data data) : kind_(kind), data_(std::move(data)) {}

  Kind kind_ = Kind::kNull;
  Data data_ = {};
};

// Counts what comparing costs.
bool equal(const Value&, const Value&, std::uint64_t& cost);
std::string_view name_of(Kind);  // of a type: "int", "list", "null_type"

}  // namespace berth::cel
