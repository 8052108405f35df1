// SPDX-License-Identifier: Apache-2.0
// The schedulers that are compared, beside a simulated cluster: one that knows nothing of scavenger
// jobs and does as kube-scheduler does, the same with our extender, and Berth's as it is.
#pragma once

#include <memory>

#include "base/log.h"
#include "base/metrics.h"
#include "base/scope.h"
#include "base/world.h"
#include "client/transport.h"
#include "simulate/comparison.h"

namespace berth::gateway {
class ExtenderService;
}
namespace berth::scheduler {
class App;
}

namespace berth::simulate {

// Confined to its world. Must be stopped before it goes; the world, the transport and the metrics
// outlive it.
class Contender {
 public:
  Contender(World&, client::Transport&, Metrics&, Logger, Seed, Variant);
  ~Contender();

  void start();
  void stop();  // takes a moment of the world's time

 private:
  class Wire;

  World& world_;
  client::Transport& transport_;
  Metrics& metrics_;
  Logger log_;
  Random random_;
  Variant setup_;
  Scope extender_scope_, scheduler_scope_;
  std::unique_ptr<gateway::ExtenderService> extender_;
  std::unique_ptr<scheduler::App> scheduler_;
};

// The ScavengerPolicy that goes with Variant::kPacked.
std::string packing_policy();

}  // namespace berth::simulate
