// SPDX-License-Identifier: Apache-2.0
// A pretended API server with one of the doors beside it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fixture.h"
#include "gateway/extender/extender_service.h"
#include "lab.h"
#include "scheduler/doors/reclaimer.h"

namespace berth::scavenger_doors {

enum class Door {
  kScheduler,  // ours
  kExtender,   // beside a scheduler that goes by kube-scheduler's order
  kOperator,
  kStock,  // kube-scheduler's order, and nothing else
};
inline constexpr Door kDoors[] = {Door::kScheduler, Door::kExtender, Door::kOperator};
inline const char* name_of(Door door) {
  constexpr const char* kNames[] = {"scheduler", "extender", "operator", "stock"};
  return kNames[static_cast<int>(door)];
}

struct StageOptions {
  Door door = Door::kScheduler;
  bool names_only = true;  // nodeCacheCapable
};

class Stage {
 public:
  explicit Stage(StageOptions);
  ~Stage();

  static WallTime begin();  // the wall clock when a stage is ready and shows its first fixture
  // The fixture is there, and two seconds later known to all.
  void show(const Fixture&);
  // One second in which it comes and is looked at; nobody's cost changes.
  void preemptor_comes(const Fixture&);
  void run(Duration time) { world.run_for(time); }

  // Pods that were told to go, in that order.
  std::vector<std::string> victims() const;
  bool asked() const { return asked_ > 0; }  // the extender
  kube::Object job(const std::string& name);
  std::vector<std::string> events_of(const std::string& name) { return server.events_of(name); }
  void kill_extender();
  WallTime now() const { return world.clock().wall(); }

  World world{1};
  scheduler::stories::PodServer server;
  Metrics metrics;
  StringSink log;
  StageOptions options;
  std::unique_ptr<scheduler::stories::Replica> scheduler;
  std::unique_ptr<gateway::ExtenderService> extender;
  std::unique_ptr<scheduler::Reclaimer> reclaimer;
  std::vector<std::string> bodies, replies;  // of the extender

 private:
  class Way;
  std::unique_ptr<Scope> scope_;
  std::unique_ptr<client::Transport> transport_;
  bool extender_dead_ = false;
  int asked_ = 0;
};

}  // namespace berth::scavenger_doors
