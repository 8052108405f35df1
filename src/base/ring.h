// SPDX-License-Identifier: Apache-2.0
// A queue that reuses its room: std::deque of tasks would allocate once for every eight.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace berth {

// Thread-compatible. T is default-constructible and cheap to move.
template <class T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  void push(T value) {
    if (size_ == slots_.size()) grow();
    slots_[(head_ + size_) & (slots_.size() - 1)] = std::move(value);
    ++size_;
  }
  T pop() {  // not when empty
    T value = std::move(slots_[head_]);
    head_ = (head_ + 1) & (slots_.size() - 1);
    --size_;
    return value;
  }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 8 : slots_.size() * 2);
    const std::size_t size = size_;
    for (std::size_t i = 0; i < size; ++i) larger[i] = pop();
    slots_ = std::move(larger);
    head_ = 0;
    size_ = size;
  }

  std::vector<T> slots_;  // a power of two of them
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace berth
