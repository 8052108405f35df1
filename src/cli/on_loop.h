// SPDX-License-Identifier: Apache-2.0
// How a command that talks to a cluster runs: on a loop, in a scope, until it is done or
// interrupted.
#pragma once

#include <functional>
#include <memory>

#include "base/log.h"
#include "base/result.h"
#include "base/runtime.h"
#include "base/scope.h"

namespace berth::cli {

using Finish = std::function<void(Result<int>)>;
// Makes what the command consists of; it lives until the command has ended.
using Start = std::function<std::shared_ptr<void>(Runtime&, Scope&, const Logger&, Finish)>;

// Calls `start` on a loop of a RealRuntime of its own and waits until `finish` was called or SIGINT
// or SIGTERM came (then the answer is `when_interrupted`). Either way the scope is closed first,
// with five seconds for calls in progress. Warnings go to stderr. `on_user_signal` runs on the loop
// at every SIGUSR2; without it that signal ends the process, as usual.
Result<int> run_on_loop(int when_interrupted, const Start& start,
                        std::function<void()> on_user_signal = nullptr);

}  // namespace berth::cli
