// SPDX-License-Identifier: Apache-2.0
// How a command that reads a cluster begins, and how it says that the cluster did not answer.
#pragma once

#include <functional>
#include <memory>

#include "cli/on_loop.h"
#include "client/connect.h"

namespace berth::cli {

// Makes what the command consists of; it lives until the command has ended.
using StartWithCluster =
    std::function<std::shared_ptr<void>(Scope&, std::unique_ptr<client::Cluster>, Finish)>;

// run_on_loop() with the cluster that the options lead to; options that lead to none are bad usage.
Result<int> run_on_cluster(int when_interrupted, const client::ConnectOptions&,
                           const StartWithCluster&);

// What a request ended with, and which cluster it was sent to.
Error asked_of(const client::Cluster&, Error);

}  // namespace berth::cli
