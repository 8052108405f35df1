// SPDX-License-Identifier: Apache-2.0
// Why nodes left, 16 bits a node: made only when somebody asks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/framework/plugin_set.h"
#include "scheduler/framework/status.h"

namespace berth::scheduler {

// A distinct verdict: plugin, code and reasons ("Insufficient cpu" and "Too many pods" together are
// one). 0 is "none".
enum class ReasonId : std::uint16_t { kNone = 0 };

// Loop-confined; one for a framework.
class ReasonTable {
 public:
  ReasonId id(PluginId plugin, Code code, std::vector<std::string> reasons);
  const Status& status(ReasonId) const;

 private:
  std::vector<Status> all_{Status{}};
  std::map<std::tuple<PluginId, Code, std::vector<std::string>>, ReasonId> ids_;
};

// The verdicts about a block of rows. A plugin writes only rows that it clears from `keep`.
class Rejections {
 public:
  Rejections(ReasonTable& table, std::uint32_t rows) : table_(table), by_row_(rows) {}
  void reject(std::uint32_t row, ReasonId reason) { by_row_[row] = reason; }
  ReasonId at(std::uint32_t row) const { return by_row_[row]; }
  const Status& status(std::uint32_t row) const { return table_.status(by_row_[row]); }
  ReasonTable& table() { return table_; }
  const std::vector<ReasonId>& by_row() const { return by_row_; }

 private:
  ReasonTable& table_;
  std::vector<ReasonId> by_row_;
};

}  // namespace berth::scheduler
