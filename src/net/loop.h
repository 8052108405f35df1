// SPDX-License-Identifier: Apache-2.0
// The real runtime: one thread per loop on Asio, the system's clocks, a small pool for offloaded
// work.
#pragma once

#include <functional>
#include <memory>

#include "base/runtime.h"

namespace berth::net {

// Thread-safe. Loops start on first use and stop, joined, in the destructor; tasks not yet run are
// dropped then.
class RealRuntime final : public Runtime {
 public:
  RealRuntime();
  ~RealRuntime() override;
  Executor& loop(std::string_view role) override;
  void offload(Executor& back, Task work, Task then) override;

  // Calls `then` on `home` at the first SIGINT or SIGTERM; a second signal ends the process at once
  // with 130.
  void on_interrupt(Executor& home, Task then);
  // Calls `then` on `home` at every SIGUSR2, until the runtime ends. After on_interrupt; once.
  void on_user_signal(Executor& home, std::function<void()> then);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::net
