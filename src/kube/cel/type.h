// SPDX-License-Identifier: Apache-2.0
// What is known of a value before there is one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace berth::cel {

enum class Kind : std::uint8_t {
  kDyn,  // only a value tells
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kDuration,
  kTimestamp,
  kQuantity,
  kType,
  kList,
  kMap,
  kObject,  // members of fixed names
  kError,   // of values only
};

struct Type;
using TypePtr = std::shared_ptr<const Type>;

// Immutable once made.
struct Type {
  Kind kind = Kind::kDyn;
  TypePtr element = {};    // of a list, or a map's values
  bool unordered = false;  // a list in which the order does not count (set, map)
  struct Member {
    std::string key;  // in the document
    TypePtr type;
  };
  std::map<std::string, Member, std::less<>> members = {};  // by the name expressions use

  std::string text() const;  // "list(string)"
};

TypePtr simple(Kind);
TypePtr list_of(TypePtr element, bool unordered = false);
TypePtr map_of(TypePtr values);  // keys are texts

// The name by which an expression selects a member of this key; "": it cannot.
std::string member_name(std::string_view key);

}  // namespace berth::cel
