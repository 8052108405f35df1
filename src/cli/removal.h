// SPDX-License-Identifier: Apache-2.0
// Takes from a cluster what would be in the way once Berth is gone: webhooks that nobody answers,
// and finalizers that nobody removes.
#pragma once

#include "base/result.h"
#include "cli/command.h"
#include "client/connect.h"

namespace berth::cli {

struct RemovalOptions {
  client::ConnectOptions connect = {};
  std::string ns = "berth-system";
  std::string lease_name = "berth-controllers";
  bool force = false;  // also while the controllers run
};

Result<int> remove_from_cluster(const RemovalOptions&, Context&);

}  // namespace berth::cli
