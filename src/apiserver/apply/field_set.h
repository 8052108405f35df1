// SPDX-License-Identifier: Apache-2.0
// A set of fields of a document, as a trie: what stands in managedFields as fieldsV1.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace berth::apiserver {

// A value that tells an element of a list from the others. Ordered as Kubernetes orders values:
// numbers, texts, booleans, the rest.
struct KeyValue {
  enum class Kind : std::uint8_t { kNumber, kText, kBool, kOther };
  Kind kind = Kind::kOther;
  bool whole = false;         // of a number: `integer` counts, not `number`
  std::int64_t integer = 0;   // also of a boolean
  double number = 0;          // the same as a double where it is whole
  std::string text = "null";  // kOther: as JSON

  static KeyValue of(const json::Value&);
  std::string json() const;
  std::string shown() const;  // as Go's %q and %v show it
  std::weak_ordering operator<=>(const KeyValue&) const;
  bool operator==(const KeyValue& other) const { return (*this <=> other) == 0; }
};

// One step of a path: a member by its name, an element of a list by its keys or, of a set, by its
// value. An index only comes from outside. Ordered as Kubernetes orders them.
struct PathElement {
  enum class Kind : std::uint8_t { kField, kKey, kValue, kIndex };
  Kind kind = Kind::kField;
  std::string name = {};                                     // kField
  std::vector<std::pair<std::string, KeyValue>> parts = {};  // kKey: sorted by name; kValue: one
  std::int64_t index = 0;                                    // kIndex

  static PathElement field(std::string_view name) { return {.name = std::string(name)}; }
  static PathElement value(const json::Value&);
  static Result<PathElement> parse(std::string_view text);  // "f:spec", "k:{\"name\":\"a\"}", "v:1"

  std::string text() const;   // as in fieldsV1
  std::string shown() const;  // as in messages: .spec, [name="a"], [=1]
  std::weak_ordering operator<=>(const PathElement&) const;
  bool operator==(const PathElement& other) const { return (*this <=> other) == 0; }
};

using FieldPath = std::span<const PathElement>;

// Thread-compatible; a value. There are no nodes without a member in or below them.
class FieldSet {
 public:
  FieldSet();
  FieldSet(const FieldSet&);
  FieldSet(FieldSet&&) noexcept;
  FieldSet& operator=(const FieldSet&);
  FieldSet& operator=(FieldSet&&) noexcept;
  ~FieldSet();

  // The error is why it is no fieldsV1. Steps of kinds that nobody knows are left out.
  static Result<FieldSet> parse(const json::Value& fields_v1);
  void append_json(std::string& out) const;
  std::string json() const;

  bool empty() const { return nodes_.empty(); }
  std::size_t size() const;  // how many fields
  void insert(FieldPath);    // the empty path is nothing
  bool has(FieldPath) const;
  bool has(const PathElement&) const;
  const FieldSet* below(const PathElement&) const;  // null: nothing

  friend FieldSet operator|(FieldSet, const FieldSet&);
  friend FieldSet operator&(const FieldSet&, const FieldSet&);
  friend FieldSet operator-(const FieldSet&, const FieldSet&);
  FieldSet& operator-=(const FieldSet&);
  friend bool operator==(const FieldSet&, const FieldSet&);
  // Without the fields of the other set and all that is below them.
  FieldSet without_trees(const FieldSet&) const;

  // As Kubernetes walks: at each level first the members, then what is below.
  void each(const std::function<void(FieldPath)>&) const;

  struct Node;
  const std::map<PathElement, Node>& nodes() const { return nodes_; }
  Node& node(const PathElement&);  // made where there is none; the caller puts something in it

 private:
  void walk(std::vector<PathElement>& path, const std::function<void(FieldPath)>&) const;
  std::map<PathElement, Node> nodes_;
};

struct FieldSet::Node {
  bool member = false;
  FieldSet below = {};
};

std::string shown(FieldPath);  // ".spec.containers[name=\"a\"].image"

}  // namespace berth::apiserver
