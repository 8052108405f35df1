// SPDX-License-Identifier: Apache-2.0
#include "cli/on_loop.h"

#include <future>
#include <memory>
#include <optional>

#include "net/loop.h"

namespace berth::cli {
namespace {

// Confined to the loop; `outcome` is set once, when the scope has closed.
struct Life {
  Life(Executor& home, std::promise<Result<int>> to)
      : scope(home, "command"), outcome(std::move(to)) {}

  void end(Result<int> result) {
    if (scope.closing()) return;
    scope.close(5s, [this, result = std::move(result)]() mutable {
      command.reset();
      outcome.set_value(std::move(result));
    });
  }

  Scope scope;
  std::promise<Result<int>> outcome;
  std::shared_ptr<void> command;
};

}  // namespace

Result<int> run_on_loop(int when_interrupted, const Start& start,
                        std::function<void()> on_user_signal) {
  std::promise<Result<int>> promise;
  std::future<Result<int>> outcome = promise.get_future();
  std::optional<Life> life;
  std::promise<void> gone;
  net::RealRuntime runtime;  // last, so that its threads have ended before the rest goes
  Executor& home = runtime.loop("main");
  const Logger log(stderr_sink(), home.clock(), LogLevel::kWarn);
  home.post([&] {
    life.emplace(home, std::move(promise));
    life->command =
        start(runtime, life->scope, log, [&](Result<int> result) { life->end(std::move(result)); });
  });
  runtime.on_interrupt(home, [&] {
    if (life) life->end(when_interrupted);
  });
  if (on_user_signal) runtime.on_user_signal(home, std::move(on_user_signal));
  Result<int> result = outcome.get();
  home.post([&] {  // a scope is destroyed where it lived
    life.reset();
    gone.set_value();
  });
  gone.get_future().wait();
  return result;
}

}  // namespace berth::cli
