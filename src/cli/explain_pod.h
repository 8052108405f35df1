// SPDX-License-Identifier: Apache-2.0
// berth explain pod: reads a cluster, or manifests, once and shows what the scheduler makes of one
// of its pods.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "client/connect.h"

namespace berth::cli {

struct ExplainPodOptions {
  std::string name;
  std::vector<std::string> files;  // manifests to read instead of a cluster
  client::ConnectOptions connect;
  std::string config;
  std::string output = "table";
  bool all_nodes = false;
};

Result<int> explain_pod(const ExplainPodOptions&, Context&);

}  // namespace berth::cli
