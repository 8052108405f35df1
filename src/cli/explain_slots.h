// SPDX-License-Identifier: Apache-2.0
// berth explain job|slot|scheduling|testbed: reads a cluster, or manifests, once and says what one
// of them waits for and what to do about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "client/connect.h"
#include "controllers/diagnosis.h"

namespace berth::cli {

struct ExplainSlotsOptions {
  std::string subject;             // one of kExplainedBySlots
  std::string name;                // of a slot: "testbed/3"
  std::vector<std::string> files;  // manifests to read instead of a cluster
  client::ConnectOptions connect;
  std::string output = "table";
};
inline constexpr std::string_view kExplainedBySlots[] = {"job", "slot", "scheduling", "testbed"};

Result<int> explain_slots(const ExplainSlotsOptions&, Context&);

// What was found, as sentences or as JSON.
Result<int> print_diagnosis(const controllers::Diagnosis&, std::string_view output, Context&);

}  // namespace berth::cli
