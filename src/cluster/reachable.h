// SPDX-License-Identifier: Apache-2.0
// A cluster in this process that others reach over HTTPS, at the pace that is wanted: on real
// loops, or in a world on one of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/runtime.h"
#include "cluster/cluster.h"
#include "cluster/identity.h"
#include "cluster/pace.h"

namespace berth::cluster {

struct ReachableOptions {
  ClusterOptions cluster = {};
  Speed speed = {};
  Identity identity = {};
  std::string address = "127.0.0.1";  // to be bound to
  std::string advertised = {};        // by which others find it; "": the same
  std::uint16_t port = 0;             // 0 takes a free one
  std::uint64_t seed = 1;
};

// Made and destroyed on a thread that is none of its loops.
class ReachableCluster {
 public:
  // `real` is a RealRuntime; it and `metrics` outlive this.
  ReachableCluster(Runtime& real, Metrics& metrics, Logger log, ReachableOptions);
  ~ReachableCluster();  // stops everything, and waits for that
  ReachableCluster(const ReachableCluster&) = delete;
  ReachableCluster& operator=(const ReachableCluster&) = delete;

  // `ready` is called on a loop of the cluster, with the URL under which it answers, or the reason
  // why it does not.
  void start(std::function<void(Result<std::string>)> ready);
  // The way in for this process, as its owner, once ready. Null where time is virtual: callers with
  // deadlines of their own time go through the door there.
  std::unique_ptr<client::Transport> owner();
  // Whose wall time is the cluster's, thread-safe; once ready. Null where it is everybody's.
  std::shared_ptr<const Clock> clock() const;
  // The way onto the scheduler's loop, from any thread; once ready.
  Executor& scheduler_loop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::cluster
