// SPDX-License-Identifier: Apache-2.0
// What plugins may do besides deciding: call the API, tell people, wait.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/fn.h"
#include "base/random.h"
#include "base/scope.h"
#include "scheduler/cache/pod.h"
#include "scheduler/framework/nominated_pods.h"
#include "scheduler/framework/plugin_set.h"
#include "scheduler/framework/preemption_candidate.h"

namespace berth {
class Logger;
namespace client {
class Api;
}
}  // namespace berth

namespace berth::slots {
class SlotBoard;
}

namespace berth::scheduler {

class StorageState;
class SlotHolds;
class ScavengerDoor;

// A pod that Permit plugins asked to wait.
class WaitingPod {
 public:
  virtual ~WaitingPod() = default;
  virtual const Pod& pod() const = 0;
  virtual std::vector<PluginId> pending() const = 0;
  virtual void allow(PluginId) = 0;
  virtual void reject(PluginId, std::string message) = 0;
  virtual void preempt(PluginId, std::string message) = 0;  // ends as an error, not a rejection
};

// Loop-confined; outlives the plugins.
class Services {
 public:
  virtual ~Services() = default;
  virtual Scope& scope() = 0;  // closes when scheduling ends
  virtual client::Api& api() = 0;
  virtual Logger& log() = 0;
  virtual Random& random() = 0;
  virtual const NominatedPods& nominated() const = 0;
  virtual WaitingPod* waiting(std::string_view uid) = 0;  // null: it does not wait
  virtual void for_each_waiting(Fn<void(WaitingPod&)>) = 0;
  // Stops a pod that is in PreBind; false: it is not, or cannot be stopped any more.
  virtual bool cancel_pre_bind(std::string_view uid) = 0;
  // It was stopped: what is in PreBind and waits should give up.
  virtual bool pre_bind_cancelled(std::string_view /*uid*/) const { return false; }
  // Of the cluster that is being scheduled, to assume in it what is about to be written. Null where
  // nothing may be reserved.
  virtual StorageState* storage() { return nullptr; }
  // The slots of Testbeds; null where nobody follows them.
  virtual slots::SlotBoard* slots() { return nullptr; }
  virtual SlotHolds* holds() {
    return nullptr;
  }  // with slots(), where there is a cluster to hold in
  // The scavenger jobs that may have to go; null where nobody follows them.
  virtual ScavengerDoor* scavengers() { return nullptr; }
  virtual void activate(const std::vector<PodPtr>&) = 0;
  virtual PodPtr pending_pod(std::string_view ns,
                             std::string_view name) const = 0;  // as last seen; null: gone or bound
  virtual void clear_nomination(const Pod&) = 0;                // in memory and in its status
  virtual PodPtr placed_pod(std::string_view /*uid*/) const { return nullptr; }  // null: on no node
  // Some extender has a say about whom this pod preempts.
  virtual bool extenders_preempt(const Pod&) const { return false; }
  // The candidates that such extenders leave of these, perhaps with other victims.
  virtual void ask_to_preempt(const PodPtr& /*preemptor*/, std::vector<PreemptionCandidate>,
                              Done<std::vector<PreemptionCandidate>>) {}
  // Victims are evicted while other pods are tried; false: nobody is tried before they were told.
  virtual bool preempts_asynchronously() const { return true; }
  // No other pod is tried until the attempt of this one, which is under way, has ended.
  virtual void pause_for(const Pod&) {}
  // For the metrics: PostFilter was asked, so many victims were chosen, they were told to go.
  virtual void preemption_attempted() {}
  virtual void preempted(std::size_t /*victims*/) {}
  virtual void evictions_ended(bool /*ok*/, Duration) {}
  virtual void event(const Pod& regarding, bool warning, std::string reason, std::string action,
                     std::string note, const Pod* related = nullptr) = 0;
};

}  // namespace berth::scheduler
