// SPDX-License-Identifier: Apache-2.0
// How often the cost of a running job may be written into its status: as often as it has steps in a
// window, and twice more. What is kept of that from run to run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/scavenge/cost.h"

namespace berth::controllers {

// Thread-compatible; a value.
class CostWrites {
 public:
  static CostWrites parse(std::string_view text);
  std::string text() const;  // "" when there is nothing to keep

  static std::size_t budget(const scavenge::CostBasis&);  // writes in a window
  void wrote(const scavenge::CostBasis&, WallTime now);
  // What changes little waits until its share of the window has passed; what changes much, only
  // until there is anything left of the budget.
  WallTime may_write(const scavenge::CostBasis&, bool much) const;

  std::int64_t refused = 0;  // since when the server refuses a Job; 0: it does not

 private:
  std::vector<std::int64_t> at_;  // when it was written, as far back as the budget counts
};

}  // namespace berth::controllers
