// SPDX-License-Identifier: Apache-2.0
// The nodes as columns of numbers: whole for who comes, then the rows that change.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/observe/records.h"

namespace berth::json {
class Writer;
}

namespace berth::gateway {

// What was measured on a node: millicores, MiB.
struct Usage {
  std::int64_t cpu = 0, memory = 0;
  friend bool operator==(const Usage&, const Usage&) = default;
};

// Loop-confined to the gateway's.
class ClusterMap {
 public:
  // Labels with more values than this are no way to group nodes.
  static constexpr std::size_t kMostValues = 100;

  void take(const MapChange&);
  void measured(std::map<std::string, Usage>);  // by node

  bool empty() const { return !any_; }
  std::string snapshot_json() const;  // MapSnapshot of ui/src/api/types.ts
  // What changed since this was last asked: a snapshot where rows were laid out anew, else MapRows;
  // nothing: nullopt. First the event's name.
  std::optional<std::pair<std::string, std::string>> changes();

 private:
  std::string rows_json(const std::vector<std::uint32_t>& rows) const;
  void write_columns(json::Writer&, const std::vector<std::uint32_t>& rows) const;

  bool any_ = false, whole_ = false, measures_ = false;
  std::uint64_t layout_ = 0;
  std::vector<std::string> names_;
  std::vector<scheduler::LabelsPtr> labels_;
  std::vector<MapRow> rows_;
  std::map<std::string, Usage> usage_;      // as measured last
  std::vector<std::optional<Usage>> used_;  // the same by row
  std::vector<std::uint32_t> dirty_;
};

}  // namespace berth::gateway
