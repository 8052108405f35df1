// SPDX-License-Identifier: Apache-2.0
// A set of rows of one block: a bitset of fixed size.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace berth::scheduler {

// A value; thread-compatible.
class RowSet {
 public:
  RowSet() = default;
  explicit RowSet(std::uint32_t size, bool full = false) { reset(size, full); }

  void reset(std::uint32_t size, bool full) {
    size_ = size;
    words_.assign((size + 63) / 64, full ? ~std::uint64_t{0} : 0);
    if (full && size % 64 != 0) words_.back() = (std::uint64_t{1} << size % 64) - 1;
  }
  std::uint32_t size() const { return size_; }
  bool has(std::uint32_t row) const { return (words_[row / 64] >> row % 64 & 1) != 0; }
  void insert(std::uint32_t row) { words_[row / 64] |= std::uint64_t{1} << row % 64; }
  void erase(std::uint32_t row) { words_[row / 64] &= ~(std::uint64_t{1} << row % 64); }
  void assign(std::uint32_t row, bool in) { in ? insert(row) : erase(row); }
  void clear() { words_.assign(words_.size(), 0); }
  bool empty() const {
    for (std::uint64_t word : words_)
      if (word != 0) return false;
    return true;
  }
  std::uint32_t count() const {
    std::uint32_t n = 0;
    for (std::uint64_t word : words_) n += static_cast<std::uint32_t>(std::popcount(word));
    return n;
  }
  // Calls f(row) in rising order; f may erase the row it is called with.
  template <class F>
  void for_each(F&& f) const {
    for (std::uint32_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        f(w * 64 + static_cast<std::uint32_t>(std::countr_zero(rest)));
  }
  RowSet& operator&=(const RowSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    return *this;
  }
  RowSet& operator-=(const RowSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
    return *this;
  }
  const std::vector<std::uint64_t>& words() const { return words_; }
  std::vector<std::uint64_t>& words() { return words_; }
  friend bool operator==(const RowSet&, const RowSet&) = default;

 private:
  std::vector<std::uint64_t> words_;
  std::uint32_t size_ = 0;
};

}  // namespace berth::scheduler
