// SPDX-License-Identifier: Apache-2.0
// For what serves people beside a cluster in virtual time: it runs on a real loop, and what it says
// of the cluster is in the cluster's time.
#pragma once

#include <memory>
#include <utility>

#include "base/executor.h"

namespace berth::cluster {

// The loop, with another's wall time; timers go by the loop's own clock. Like a loop, it stays
// until the threads of its runtime have ended: work that comes back late finds it.
class OnClusterTime final : public Executor {
 public:
  OnClusterTime(Executor& loop, std::shared_ptr<const Clock> cluster)
      : loop_(loop), clock_(loop, std::move(cluster)) {}

  void post(Task task) override { loop_.post(std::move(task)); }
  TimerId at(Instant when, Task task, Timer kind) override {
    return loop_.at(when, std::move(task), kind);
  }
  bool cancel(TimerId timer) override { return loop_.cancel(timer); }
  const Clock& clock() const override { return clock_; }
  bool here() const override { return loop_.here(); }
  bool dead() const override { return loop_.dead(); }

 private:
  class Both final : public Clock {
   public:
    Both(const Executor& loop, std::shared_ptr<const Clock> cluster)
        : loop_(loop), cluster_(std::move(cluster)) {}
    Instant now() const override { return loop_.clock().now(); }
    WallTime wall() const override { return cluster_->wall(); }

   private:
    const Executor& loop_;
    const std::shared_ptr<const Clock> cluster_;
  };
  Executor& loop_;
  Both clock_;
};

}  // namespace berth::cluster
