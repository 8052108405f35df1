// SPDX-License-Identifier: Apache-2.0
// Every filter asked about every node: not only the first that says no, as in a decision.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/explain/judgement.h"

namespace berth::gateway {

// A value.
struct Verdicts {
  struct Column {
    std::string_view plugin;
    std::vector<std::uint32_t> verdict;  // by row; 0: yes, else 1 + its place among `reasons`
  };
  std::vector<Column> filters;      // in the order they run; those that were skipped say yes
  std::vector<std::int32_t> first;  // by row: which filter said no first; -1: none
  std::vector<std::string> reasons;

  std::uint32_t against(std::uint32_t row) const;  // how many filters say no
  // Only that one says no.
  bool only(std::uint32_t row, std::string_view plugin) const;
  bool refuses(std::uint32_t row, std::string_view plugin) const;
};

// Of a judgement that looked at nodes; else no filters.
Verdicts all_verdicts(const scheduler::Judgement&);

}  // namespace berth::gateway
