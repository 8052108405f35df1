// SPDX-License-Identifier: Apache-2.0
// Kubernetes' keyed heap over Go's container/heap, written down as it stands there: keys in an
// array, positions found by looking. Only tests include this.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace berth::scheduler::test {

template <class T>
class LiteralHeap {
 public:
  using Less = std::function<bool(const T&, const T&)>;
  struct Entry {
    std::string key;
    T value;
  };
  explicit LiteralHeap(Less less) : less_(std::move(less)) {}

  const std::vector<Entry>& entries() const { return h_; }
  int len() const { return static_cast<int>(h_.size()); }
  int index(const std::string& key) const {
    for (int i = 0; i < len(); ++i)
      if (at(i).key == key) return i;
    return -1;
  }
  T* get(const std::string& key) {
    const int i = index(key);
    return i < 0 ? nullptr : &at(i).value;
  }
  void add_or_update(const std::string& key, T value) {
    const int i = index(key);
    if (i >= 0) {
      at(i).value = std::move(value);
      fix(i);
      return;
    }
    h_.push_back({key, std::move(value)});
    up(len() - 1);
  }
  bool erase(const std::string& key) {
    const int i = index(key);
    if (i < 0) return false;
    const int n = len() - 1;
    if (n != i) {
      swap(i, n);
      if (!down(i, n)) up(i);
    }
    h_.pop_back();
    return true;
  }
  T pop() {
    const int n = len() - 1;
    swap(0, n);
    down(0, n);
    T value = std::move(h_.back().value);
    h_.pop_back();
    return value;
  }

 private:
  Entry& at(int i) { return h_[static_cast<std::size_t>(i)]; }
  const Entry& at(int i) const { return h_[static_cast<std::size_t>(i)]; }
  bool less(int i, int j) const { return less_(at(i).value, at(j).value); }
  void swap(int i, int j) { std::swap(at(i), at(j)); }
  void fix(int i) {
    if (!down(i, len())) up(i);
  }
  void up(int j) {
    for (;;) {
      const int i = (j - 1) / 2;
      if (i == j || !less(j, i)) break;
      swap(i, j);
      j = i;
    }
  }
  bool down(int i0, int n) {
    int i = i0;
    for (;;) {
      const int j1 = 2 * i + 1;
      if (j1 >= n || j1 < 0) break;
      int j = j1;
      if (const int j2 = j1 + 1; j2 < n && less(j2, j1)) j = j2;
      if (!less(j, i)) break;
      swap(i, j);
      i = j;
    }
    return i > i0;
  }

  Less less_;
  std::vector<Entry> h_;
};

}  // namespace berth::scheduler::test
