// SPDX-License-Identifier: Apache-2.0
// How the parts of a document merge: which lists are sets or have keys, which maps and structs are
// owned as a whole. Built-in kinds are read from their schema tables; custom kinds bring a tree of
// their own; what has no schema is told by the values themselves.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/kinds/kind_row.h"
#include "json/schema.h"
#include "json/value.h"

namespace berth::apiserver {

enum class ScalarType : unsigned char { kAny, kText, kNumber, kBool };

// A node of a custom kind's tree. Immutable once built.
struct Layout {
  struct Member {
    std::shared_ptr<const Layout> layout;
    std::string preset = {};  // its default as JSON; "": none
  };

  const json::Message* message = nullptr;          // then nothing below counts: a built-in struct
  bool scalar = false, list = false, map = false;  // what a value may be
  ScalarType scalar_type = ScalarType::kAny;
  json::ListType list_type = json::ListType::kAtomic;
  std::vector<std::string> list_keys = {};   // of kMap
  std::shared_ptr<const Layout> items = {};  // null: told by the values, and atomic
  bool atomic_map = false;
  std::map<std::string, Member, std::less<>> members = {};
  bool other_members = false;                 // that are not among `members`
  std::shared_ptr<const Layout> others = {};  // what they are; null: told by the values
};

// A view of one type. Cheap to copy; what it views outlives it.
class Type {
 public:
  enum class Form : unsigned char { kNone, kScalar, kList, kMap };

  Type() = default;  // not allowed at all
  static Type of(const KindRow&);
  static Type of(const json::Message& message);
  static Type told_by_values();  // maps by their members, lists as a whole

  bool allowed() const { return from_ != From::kNothing; }
  bool may_be(Form) const;
  // Which of the forms a value takes; for none that it may be, the one that Kubernetes looks at.
  Form form_of(const json::Value*) const;

  ScalarType scalar_type() const;
  json::ListType list_type() const;  // kAtomic, kSet, kMap
  std::vector<std::string_view> list_keys() const;
  Type items() const;
  bool atomic_map() const;
  bool declares(std::string_view member) const;  // it is a field of a struct
  Type member(std::string_view) const;
  // What a key is where an element does not tell it.
  std::optional<json::Value> preset_of(std::string_view member) const;
  bool only_told_by_values() const { return from_ == From::kValues; }

 private:
  enum class From : unsigned char {
    kNothing,
    kValues,
    kUntyped,
    kMessage,
    kField,
    kElement,
    kTree
  };
  From from_ = From::kNothing;
  bool atomic_ = false;                     // kMessage
  const json::Message* message_ = nullptr;  // kMessage
  const json::Field* field_ = nullptr;      // kField: as a whole; kElement: what its list holds
  const Layout* tree_ = nullptr;
  static Type tree(const Layout*);
};

}  // namespace berth::apiserver
