// SPDX-License-Identifier: Apache-2.0
// Which slots a Testbed has, and how they are numbered. Numbers are sticky: while anything is
// granted or waits, a slot keeps its number whatever nodes come and go.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::slots {

using SlotNumber = int;

// Slots base + row * nodes.size() + rank, for every row below per_node.
struct Block {
  std::string slot_class;
  SlotNumber base = 0;
  int per_node = 0;
  std::vector<std::string> nodes;

  int size() const { return per_node * static_cast<int>(nodes.size()); }
  friend bool operator==(const Block&, const Block&) = default;
};

// What a Testbed asks for: a class and the nodes that have its slots, in order.
struct WantedClass {
  std::string name;
  int per_node = 0;
  std::vector<std::string> nodes;
};

struct LabelledNode {
  std::string name;
  std::string value;  // of the Testbed's label
};
std::optional<int> node_number(std::string_view label_value);  // where it is an integer
// By number; those without one after them, by value; then by name.
void put_in_order(std::vector<LabelledNode>&);

// A slot and where it is. Views into the blocks.
struct Cell {
  SlotNumber slot = 0;
  std::string_view slot_class, node;
  int on_node = 0;      // unique on the node, whatever its class
  bool wanted = false;  // in the geometry of today; others are holes, or drain
};
// All cells of the blocks, ascending by slot.
std::vector<Cell> cells_of(const std::vector<Block>&, const std::vector<WantedClass>&);

// The numbering that follows from the present one. `settled`: nothing is granted and nobody waits,
// so that all may be numbered anew: a block a class, row by row over the nodes. Otherwise what is
// missing is appended, and a node that returns has its old numbers.
std::vector<Block> next_blocks(const std::vector<Block>& now, const std::vector<WantedClass>&,
                               bool settled);

SlotNumber end_of(const std::vector<Block>&);  // the first number that is not in use

}  // namespace berth::slots
