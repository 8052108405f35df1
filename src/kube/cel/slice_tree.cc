// SPDX-License-Identifier: Apache-2.0
#include "kube/cel/tree.h"

namespace berth::cel {
namespace {

json::Slice slice_of(const Node& node) {
  return json::Slice(std::string_view(static_cast<const char*>(node.at()), node.more()));
}

Shape shape(const Node& node) {
  const json::Slice slice = slice_of(node);
  if (!slice) return Shape::kAbsent;
  if (slice.is_object()) return Shape::kMap;
  if (slice.is_array()) return Shape::kList;
  if (slice.is_string()) return Shape::kText;
  if (slice.is_bool()) return Shape::kBool;
  if (slice.is_number())
    return slice.raw().find_first_of(".eE") == std::string_view::npos && slice.integer()
               ? Shape::kInt
               : Shape::kDouble;
  return Shape::kNull;
}

void each(const Node& node, const std::function<bool(std::string_view, const Node&)>& visit) {
  const json::Slice slice = slice_of(node);
  if (slice.is_object()) {
    for (const auto [key, value] : slice.members())
      if (!visit(key, node_of(value))) return;
  } else if (slice.is_array()) {
    for (const json::Slice value : slice.elements())
      if (!visit("", node_of(value))) return;
  }
}

constexpr TreeOps kSlices = {
    .shape = shape,
    .boolean = [](const Node& node) { return slice_of(node).boolean(); },
    .integer = [](const Node& node) { return slice_of(node).integer().value_or(0); },
    .number = [](const Node& node) { return slice_of(node).number().value_or(0); },
    .text = [](const Node& node, std::string& scratch) { return slice_of(node).text(scratch); },
    .size = [](const Node& node) { return slice_of(node).size(); },
    .element = [](const Node& node, std::size_t index) { return node_of(slice_of(node)[index]); },
    .member = [](const Node& node, std::string_view key) { return node_of(slice_of(node)[key]); },
    .each = each,
};

}  // namespace

Node node_of(json::Slice slice) {
  return slice ? Node(kSlices, slice.raw().data(), slice.raw().size()) : Node();
}

}  // namespace berth::cel
