// SPDX-License-Identifier: Apache-2.0
// Go's container/heap, step by step: which of several equal items comes out first depends on the
// algorithm, and equal timestamps are common. Items know where they stand.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace berth::scheduler {

// Thread-compatible; holds pointers it does not own. Item has a member `std::size_t heap_index`,
// which is the heap's while the item is in it: an item is in one heap at a time.
template <class Item, class Less>
class GoHeap {
 public:
  explicit GoHeap(Less less) : less_(std::move(less)) {}

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  Item* top() const { return items_.front(); }                // not when empty
  const std::vector<Item*>& items() const { return items_; }  // as they stand in the array

  void push(Item& item) {
    item.heap_index = items_.size();
    items_.push_back(&item);
    up(items_.size() - 1);
  }
  Item* pop() {  // not when empty
    const std::size_t last = items_.size() - 1;
    swap(0, last);
    down(0, last);
    return take_last();
  }
  void remove(Item& item) {
    const std::size_t i = item.heap_index;
    const std::size_t last = items_.size() - 1;
    if (i != last) {
      swap(i, last);
      if (!down(i, last)) up(i);
    }
    take_last();
  }
  // The item's order has changed.
  void fix(Item& item) {
    const std::size_t i = item.heap_index;
    if (!down(i, items_.size())) up(i);
  }

 private:
  Item* take_last() {
    Item* item = items_.back();
    items_.pop_back();
    return item;
  }
  void swap(std::size_t i, std::size_t j) {
    std::swap(items_[i], items_[j]);
    items_[i]->heap_index = i;
    items_[j]->heap_index = j;
  }
  void up(std::size_t j) {
    while (j > 0) {
      const std::size_t parent = (j - 1) / 2;
      if (!less_(*items_[j], *items_[parent])) break;
      swap(parent, j);
      j = parent;
    }
  }
  // Whether it moved.
  bool down(std::size_t start, std::size_t n) {
    std::size_t i = start;
    while (true) {
      std::size_t child = 2 * i + 1;
      if (child >= n) break;
      if (child + 1 < n && less_(*items_[child + 1], *items_[child])) ++child;
      if (!less_(*items_[child], *items_[i])) break;
      swap(i, child);
      i = child;
    }
    return i > start;
  }

  Less less_;
  std::vector<Item*> items_;
};

}  // namespace berth::scheduler
