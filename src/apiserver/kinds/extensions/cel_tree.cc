// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/peek.h"
#include "apiserver/kinds/extensions/cel_rules.h"

namespace berth::apiserver {
namespace {

const json::Value& value_of(const cel::Node& node) {
  return *static_cast<const json::Value*>(node.at());
}

cel::Shape shape(const cel::Node& node) {
  switch (value_of(node).kind()) {
    case boost::json::kind::bool_:
      return cel::Shape::kBool;
    case boost::json::kind::int64:
      return cel::Shape::kInt;
    case boost::json::kind::double_:
      return cel::Shape::kDouble;
    case boost::json::kind::string:
      return cel::Shape::kText;
    case boost::json::kind::array:
      return cel::Shape::kList;
    case boost::json::kind::object:
      return cel::Shape::kMap;
    default:
      return cel::Shape::kNull;
  }
}

cel::Node member(const cel::Node& node, std::string_view key) {
  const json::Value* found = Peek(value_of(node))[key].value();
  return found == nullptr ? cel::Node() : node_of(*found);
}

void each(const cel::Node& node,
          const std::function<bool(std::string_view, const cel::Node&)>& visit) {
  const Peek value(value_of(node));
  for (const json::Value& element : value.elements())
    if (!visit("", node_of(element))) return;
  for (const auto& entry : value.members())
    if (!visit(sv(entry.key()), node_of(entry.value()))) return;
}

constexpr cel::TreeOps kValues = {
    .shape = shape,
    .boolean = [](const cel::Node& node) { return value_of(node).get_bool(); },
    .integer = [](const cel::Node& node) { return value_of(node).get_int64(); },
    .number =
        [](const cel::Node& node) {
          const json::Value& value = value_of(node);
          return value.is_int64() ? static_cast<double>(value.get_int64()) : value.get_double();
        },
    .text = [](const cel::Node& node, std::string&) { return sv(value_of(node).get_string()); },
    .size = [](const cel::Node& node) { return Peek(value_of(node)).size(); },
    .element = [](const cel::Node& node,
                  std::size_t index) { return node_of(Peek(value_of(node)).elements()[index]); },
    .member = member,
    .each = each,
};

}  // namespace

cel::Node node_of(const json::Value& value) { return {kValues, &value}; }

}  // namespace berth::apiserver
