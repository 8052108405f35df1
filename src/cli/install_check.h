// SPDX-License-Identifier: Apache-2.0
// What would happen if these manifests were applied: asked of the cluster itself, as a dry run.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "client/connect.h"

namespace berth::cli {

// Exit code 1 where something would conflict.
Result<int> check_against_cluster(const client::ConnectOptions&, const std::string& manifests,
                                  Context&);

}  // namespace berth::cli
