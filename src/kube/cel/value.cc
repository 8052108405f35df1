// SPDX-License-Identifier: Apache-2.0
#include "kube/cel/value.h"

#include <cmath>

#include <fmt/format.h>

#include "base/base64.h"
#include "kube/time.h"

namespace berth::cel {
namespace {

const Type& any() {
  static const TypePtr type = simple(Kind::kDyn);
  return *type;
}
const Type& element_type(const Type& of) { return of.element == nullptr ? any() : *of.element; }

Text text_in(const Node& node) {
  std::string scratch;
  const std::string_view view = node.text(scratch);
  if (view.data() < scratch.data() || view.data() > scratch.data() + scratch.size())
    return {view, nullptr};
  auto own = std::make_shared<const std::string>(view);
  return {*own, own};
}

std::string shown(const Value& key) {
  switch (key.kind()) {
    case Kind::kString:
      return std::string(key.text());
    case Kind::kInt:
      return std::to_string(key.integer());
    case Kind::kUint:
      return std::to_string(key.unsigned_integer());
    case Kind::kBool:
      return key.boolean() ? "true" : "false";
    default:
      return "?";
  }
}

bool is_number(Kind kind) {
  return kind == Kind::kInt || kind == Kind::kUint || kind == Kind::kDouble;
}
bool same_number(const Value& a, const Value& b) {
  if (a.kind() == b.kind()) {
    if (a.kind() == Kind::kInt) return a.integer() == b.integer();
    if (a.kind() == Kind::kUint) return a.unsigned_integer() == b.unsigned_integer();
    return a.number() == b.number();
  }
  if (a.kind() == Kind::kDouble || b.kind() == Kind::kDouble) {
    const Value& real = a.kind() == Kind::kDouble ? a : b;
    const Value& whole = a.kind() == Kind::kDouble ? b : a;
    return real.number() == (whole.kind() == Kind::kInt
                                 ? static_cast<double>(whole.integer())
                                 : static_cast<double>(whole.unsigned_integer()));
  }
  const std::int64_t with_sign = a.kind() == Kind::kInt ? a.integer() : b.integer();
  const std::uint64_t without =
      a.kind() == Kind::kInt ? b.unsigned_integer() : a.unsigned_integer();
  return with_sign >= 0 && static_cast<std::uint64_t>(with_sign) == without;
}

// Comparing may ask for more than anybody may spend; then the answer does not count any more.
constexpr std::uint64_t kMostCost = 100'000'000;

bool equal_lists(const Value& a, const Value& b, std::uint64_t& cost) {
  const std::size_t size = a.size();
  if (size != b.size()) return false;
  Values left, right;
  a.each([&](const Value& each) { return left.push_back(each), true; });
  b.each([&](const Value& each) { return right.push_back(each), true; });
  if (!a.unordered() && !b.unordered()) {
    for (std::size_t i = 0; i < size; ++i)
      if (!equal(left[i], right[i], cost)) return false;
    return true;
  }
  std::vector<bool> taken(size);
  for (const Value& each : left) {
    bool found = false;
    for (std::size_t i = 0; i < size && !found && cost < kMostCost; ++i)
      if (!taken[i] && equal(each, right[i], cost)) taken[i] = found = true;
    if (!found) return false;
  }
  return true;
}

}  // namespace

Value Value::text(std::string value) {
  auto own = std::make_shared<const std::string>(std::move(value));
  return Value(Kind::kString, Text{*own, own});
}
Value Value::timestamp(WallTime value) { return Value(Kind::kTimestamp, value.unix_nanos); }
Value Value::quantity(kube::Quantity value) {
  return Value(Kind::kQuantity, std::make_shared<const kube::Quantity>(std::move(value)));
}
Value Value::list(Values values) {
  return Value(Kind::kList, std::make_shared<const Values>(std::move(values)));
}
Value Value::map(Entries entries) {
  return Value(Kind::kMap, std::make_shared<const Entries>(std::move(entries)));
}
Value Value::error(std::string why) {
  auto own = std::make_shared<const std::string>(std::move(why));
  return Value(Kind::kError, Text{*own, own});
}

Value Value::of(const Node& node, const Type& type) {
  switch (node.shape()) {
    case Shape::kAbsent:
    case Shape::kNull:
      return {};
    case Shape::kBool:
      return boolean(node.boolean());
    case Shape::kInt:
      return type.kind == Kind::kDouble ? number(node.number()) : integer(node.integer());
    case Shape::kDouble:
      if (type.kind == Kind::kInt && std::fabs(node.number()) < 9.2e18)
        return integer(static_cast<std::int64_t>(node.number()));
      return number(node.number());
    case Shape::kList:
      return Value(Kind::kList, Part{node, &type});
    case Shape::kMap:
      return Value(Kind::kMap, Part{node, &type});
    case Shape::kText:
      break;
  }
  Text text = text_in(node);
  switch (type.kind) {
    case Kind::kTimestamp: {
      // A date alone is its midnight.
      const auto time = kube::parse_time(
          text.view.size() == 10 ? fmt::format("{}T00:00:00Z", text.view) : std::string(text.view));
      return time ? timestamp(*time)
                  : error(fmt::format("Invalid timestamp {}, err: no time", text.view));
    }
    case Kind::kDuration: {
      const auto time = kube::parse_duration(text.view);
      return time ? duration(*time)
                  : error(fmt::format("Invalid duration {}, err: no duration", text.view));
    }
    case Kind::kBytes: {
      auto bytes = from_base64(text.view);
      if (!bytes) return error("byte format field is not valid base64");
      auto own = std::make_shared<const std::string>(std::move(*bytes));
      return Value(Kind::kBytes, Text{*own, own});
    }
    default:
      return text_of(std::move(text));
  }
}

std::size_t Value::size() const {
  if (const Part* part = this->part()) return part->node.size();
  if (const List* list = std::get_if<List>(&data_)) return (*list)->size();
  if (const Map* map = std::get_if<Map>(&data_)) return (*map)->size();
  return 0;
}

Value Value::element(std::size_t index) const {
  if (const Part* part = this->part())
    return of(part->node.element(index), element_type(*part->type));
  return (*std::get<List>(data_))[index];
}

Value Value::member(const Value& key) const {
  const auto none = [&] { return error("no such key: " + shown(key)); };
  if (const Map* map = std::get_if<Map>(&data_)) {
    std::uint64_t cost = 0;
    for (const auto& [each, value] : **map)
      if (equal(each, key, cost)) return value;
    return none();
  }
  const Part* part = this->part();
  if (part == nullptr || key.kind() != Kind::kString) return none();
  if (part->type->kind == Kind::kObject) {
    const auto known = part->type->members.find(key.text());
    if (known == part->type->members.end()) return none();
    const Node found = part->node.member(known->second.key);
    return found.present() ? of(found, *known->second.type) : none();
  }
  const Node found = part->node.member(key.text());
  return found.present() ? of(found, element_type(*part->type)) : none();
}

bool Value::has(const Value& key) const { return !member(key).is_error(); }

void Value::each(const std::function<bool(const Value&)>& visit) const {
  if (const List* list = std::get_if<List>(&data_)) {
    for (const Value& each : **list)
      if (!visit(each)) return;
  } else if (const Map* map = std::get_if<Map>(&data_)) {
    for (const auto& [key, value] : **map)
      if (!visit(key)) return;
  } else if (const Part* part = this->part()) {
    const bool keys = kind_ == Kind::kMap;
    part->node.each([&](std::string_view key, const Node& node) {
      return visit(keys ? text(std::string(key)) : of(node, element_type(*part->type)));
    });
  }
}

bool Value::unordered() const {
  const Part* part = this->part();
  return part != nullptr && part->type->unordered;
}

bool equal(const Value& a, const Value& b, std::uint64_t& cost) {
  ++cost;
  if (is_number(a.kind()) && is_number(b.kind())) return same_number(a, b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return a.boolean() == b.boolean();
    case Kind::kString:
    case Kind::kBytes:
      cost += std::min(a.text().size(), b.text().size()) / 10;
      return a.text() == b.text();
    case Kind::kDuration:
    case Kind::kTimestamp:
      return a.integer() == b.integer();
    case Kind::kQuantity:
      return a.quantity() == b.quantity();
    case Kind::kType:
      return a.type_kind() == b.type_kind();
    case Kind::kList:
      return equal_lists(a, b, cost);
    case Kind::kMap: {
      // By the document's keys: of an object, also what its type does not know.
      if (a.size() != b.size()) return false;
      bool same = true;
      a.each([&](const Value& key) {
        const Part *left = a.part(), *right = b.part();
        if (left != nullptr && right != nullptr && left->type->kind == Kind::kObject) {
          const Node other = right->node.member(key.text());
          same = other.present() && equal(Value::of(left->node.member(key.text()), any()),
                                          Value::of(other, any()), cost);
        } else {
          const Value other = b.member(key);
          same = !other.is_error() && equal(a.member(key), other, cost);
        }
        return same && cost < kMostCost;
      });
      return same;
    }
    default:
      return false;
  }
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "null_type";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kUint:
      return "uint";
    case Kind::kDouble:
      return "double";
    case Kind::kString:
      return "string";
    case Kind::kBytes:
      return "bytes";
    case Kind::kDuration:
      return "google.protobuf.Duration";
    case Kind::kTimestamp:
      return "google.protobuf.Timestamp";
    case Kind::kQuantity:
      return "kubernetes.Quantity";
    case Kind::kType:
      return "type";
    case Kind::kList:
      return "list";
    case Kind::kMap:
    case Kind::kObject:
      return "map";
    default:
      return "dyn";
  }
}

}  // namespace berth::cel
