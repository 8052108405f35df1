// SPDX-License-Identifier: Apache-2.0
// Sets of completion indexes, as intervals: "0-3,5,7".
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace berth::controllers {

// A value.
class Indexes {
 public:
  Indexes() = default;
  explicit Indexes(const std::set<std::int64_t>&);
  // Those below `completions`; what cannot be read is left out.
  static Indexes parse(std::string_view, std::int64_t completions);

  bool empty() const { return intervals_.empty(); }
  bool has(std::int64_t) const;
  std::int64_t total() const;
  std::int64_t common_with(const Indexes&) const;  // how many are in both
  Indexes with(const Indexes&) const;
  // The first `count` that are not in it, below `end`.
  std::vector<std::int64_t> missing(std::int64_t count, std::int64_t end) const;
  std::string text() const;  // two neighbours are written "3,4"

 private:
  struct Interval {
    std::int64_t first, last;
  };
  void append(Interval);
  std::vector<Interval> intervals_;  // ordered, apart from each other
};

}  // namespace berth::controllers
