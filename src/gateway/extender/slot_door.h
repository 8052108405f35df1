// SPDX-License-Identifier: Apache-2.0
// The door to slots for a kube-scheduler that is not ours: filter and preempt of its extender
// protocol, by the same board that our scheduler's plugin asks. A slot is promised in the status of
// its BatchJob before it is named, so an answer holds whoever gives the next one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/scope.h"
#include "client/api.h"
#include "client/event_recorder.h"
#include "gateway/extender/refused_pods.h"
#include "policy/slots/board.h"
#include "scheduler/extender/extender_request.h"

namespace berth::gateway {

// Loop-confined to its scope's executor; outlives that scope. Neither verb ever fails: a pod for
// which there is no slot, or none can be promised, is given no node and will be tried again.
class SlotDoor {
 public:
  // All of them outlive it. `events` may be null.
  SlotDoor(Scope&, client::Api&, slots::SlotBoard&, client::EventRecorder* events,
           Metrics& metrics);
  ~SlotDoor();

  void filter(scheduler::ExtenderArgs, Done<scheduler::ExtenderFilterResult>);
  void preempt(scheduler::ExtenderPreemptArgs, Done<scheduler::VictimsByNode>);

  std::uint64_t pins_written() const { return pins_written_; }

 private:
  using Asked = slots::SlotBoard::Asked;
  using Answered = slots::SlotBoard::Answered;
  using Then = std::function<void(const Answered&)>;
  // A pod that has no promise yet, and who wants to know.
  struct Candidate {
    Asked asked;
    std::string pod_name;
    std::vector<Then> then;
  };
  struct Job {
    std::vector<Candidate> waiting, under_way;
    bool busy = false;
  };
  struct JobKey {
    kube::KindId kind;
    kube::Key key;
    friend auto operator<=>(const JobKey&, const JobKey&) = default;
  };

  void promise(Asked, std::string pod_name, Then);
  static bool has_promise(const Asked&, const Answered&);
  void next(const JobKey&);
  void write(const JobKey&, int tries_left);
  void read_again(const JobKey&, int tries_left);
  void ended(const JobKey&, const std::string& failure);
  void ask_for_room(const std::string& node, const kube::Object& pod,
                    std::function<void(bool taken)> then);
  // Says why it gets no node now; one without a slot is called when there is one.
  void refuse(const kube::Object& pod, const Answered&);
  WallTime now() const { return scope_.executor().clock().wall(); }
  slots::SlotPod const* bound_ghost(const Answered&);

  Scope& scope_;
  client::Api& api_;
  slots::SlotBoard& board_;
  client::EventRecorder* events_;
  RefusedPods refused_;
  Counter trespassers_;
  std::map<JobKey, Job> jobs_;
  std::uint64_t pins_written_ = 0;
};

}  // namespace berth::gateway
