// SPDX-License-Identifier: Apache-2.0
// berth explain pod: reads a cluster once and shows what the scheduler makes of one of its pods.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "client/connect.h"

namespace berth::cli {

struct ExplainPodOptions {
  std::string name;
  client::ConnectOptions connect;
  std::string config;
  std::string output = "table";
  bool all_nodes = false;
};

Result<int> explain_pod(const ExplainPodOptions&, Context&);

}  // namespace berth::cli
