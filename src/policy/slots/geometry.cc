// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/geometry.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

namespace berth::slots {
namespace {

// How many slots of each class a node has in the blocks.
std::map<std::pair<std::string_view, std::string_view>, int> counted(
    const std::vector<Block>& blocks) {
  std::map<std::pair<std::string_view, std::string_view>, int> count;
  for (const Block& block : blocks)
    for (const std::string& node : block.nodes) count[{block.slot_class, node}] += block.per_node;
  return count;
}

}  // namespace

std::optional<int> node_number(std::string_view label_value) {
  int number = 0;
  const char* const end = label_value.data() + label_value.size();
  const auto [at, error] = std::from_chars(label_value.data(), end, number);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

void put_in_order(std::vector<LabelledNode>& nodes) {
  const auto order = [](const LabelledNode& node) {
    const std::optional<int> number = node_number(node.value);
    return std::tuple(!number, number.value_or(0), number ? std::string_view() : node.value,
                      std::string_view(node.name));
  };
  std::sort(nodes.begin(), nodes.end(),
            [&](const LabelledNode& a, const LabelledNode& b) { return order(a) < order(b); });
}

std::vector<Cell> cells_of(const std::vector<Block>& blocks,
                           const std::vector<WantedClass>& wanted) {
  std::map<std::pair<std::string_view, std::string_view>, int> left;
  for (const WantedClass& each : wanted)
    for (const std::string& node : each.nodes) left[{each.name, node}] = each.per_node;
  std::map<std::string_view, int> on_node;
  std::vector<Cell> cells;
  for (const Block& block : blocks) {
    for (int row = 0; row < block.per_node; ++row) {
      for (std::size_t rank = 0; rank < block.nodes.size(); ++rank) {
        const std::string& node = block.nodes[rank];
        const auto found = left.find({block.slot_class, node});
        const bool is_wanted = found != left.end() && found->second > 0;
        if (is_wanted) --found->second;
        cells.push_back({.slot = block.base + row * static_cast<int>(block.nodes.size()) +
                                 static_cast<int>(rank),
                         .slot_class = block.slot_class,
                         .node = node,
                         .on_node = on_node[node]++,
                         .wanted = is_wanted});
      }
    }
  }
  std::sort(cells.begin(), cells.end(),
            [](const Cell& a, const Cell& b) { return a.slot < b.slot; });
  return cells;
}

std::vector<Block> next_blocks(const std::vector<Block>& now,
                               const std::vector<WantedClass>& wanted, bool settled) {
  std::vector<Block> next;
  if (!settled) next = now;
  const auto have = counted(next);
  SlotNumber base = end_of(next);
  for (const WantedClass& each : wanted) {
    std::map<int, std::vector<std::string>> missing;  // nodes, by how many slots they lack
    for (const std::string& node : each.nodes) {
      const auto found = have.find({each.name, node});
      const int lacks = each.per_node - (found == have.end() ? 0 : found->second);
      if (lacks > 0) missing[lacks].push_back(node);
    }
    for (auto& [lacks, nodes] : missing) {
      next.push_back({each.name, base, lacks, std::move(nodes)});
      base += next.back().size();
    }
  }
  return next;
}

SlotNumber end_of(const std::vector<Block>& blocks) {
  SlotNumber end = 0;
  for (const Block& block : blocks) end = std::max(end, block.base + block.size());
  return end;
}

}  // namespace berth::slots
