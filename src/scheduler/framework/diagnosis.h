// SPDX-License-Identifier: Apache-2.0
// Why a pod fits nowhere: a verdict for every node, and the text that people read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/framework/plugin_set.h"
#include "scheduler/framework/reasons.h"
#include "scheduler/framework/status.h"

namespace berth::scheduler {

// A value. Rows are those of the cluster's table when the attempt was made.
struct Diagnosis {
  std::uint32_t nodes = 0;                        // all of them
  std::optional<Status> prefilter;                // the pod was refused as a whole; by_row is empty
  std::vector<ReasonId> by_row;                   // kNone: no verdict of its own
  std::vector<std::optional<Status>> other = {};  // by row, where an extender spoke; may be empty
  Status absent = {Code::kUnresolvable, {}};      // what a row without a verdict of its own has
  PluginSet unschedulable, pending;               // who refused
  const ReasonTable* table = nullptr;

  // Of one row: `absent` where it has no verdict of its own.
  const Status& status(std::uint32_t row) const;
  bool explicit_verdict(std::uint32_t row) const;
};

// "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s). <post filter>".
std::string fit_error_text(const Diagnosis&, std::string_view post_filter_message);

}  // namespace berth::scheduler
