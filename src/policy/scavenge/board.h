// SPDX-License-Identifier: Apache-2.0
// What doors know of the scavenger jobs of a cluster, object by object: whose pods a job's are, and
// what their interruption costs. All of it comes from statuses and the policy, where users have no
// right to write.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/time.h"
#include "json/slice.h"
#include "kube/kind.h"
#include "kube/object.h"
#include "kube/resource_list.h"
#include "policy/scavenge/cost.h"

namespace berth::scavenge {

// A job with an attempt. A value.
struct BoardJob {
  kube::KindId kind{};
  kube::Key key = {};
  std::string uid = {};
  std::string job_uid = {};             // the controller of its pods,
  std::string launcher_uid = {};        // and that of an MPIJob's launcher
  std::optional<CostBasis> basis = {};  // none yet: nothing is lost
  WallTime started = {};                // the attempt; 0: not all of it runs
  Duration min_run{};                   // before that it goes after those that ran as long
  Duration asked_min_run{};             // of which the policy lets min_run be so much
  Duration max_notice{};                // how long it wants to be asked before it is ended
  int members = 1;
  kube::ResourceList smallest = {};       // what a member can do with; empty: it is not elastic
  std::optional<WallTime> deadline = {};  // somebody has asked it to go by then,
  std::string asked_for = {};             // for a pod of this uid
};

// What the policy says to doors.
struct DoorRules {
  bool honour_budgets = false;  // scavengerPdbs: Honour
  Duration most_notice{};       // nobody is asked for longer
  Duration most_min_run = 1h;   // nobody is spared for longer
  bool reclaim = false;         // the operator makes room for pods that may not preempt
  friend bool operator==(const DoorRules&, const DoorRules&) = default;
};

// status.cost; nullopt where there is none, or nothing that makes sense.
std::optional<CostBasis> read_cost_basis(json::Slice status_cost);

// Thread-compatible.
class Board {
 public:
  // ScavengerJobs of either group and the ScavengerPolicy named default; others are left alone.
  void put(const kube::Object&);
  void remove(const kube::Object& last);

  bool empty() const { return jobs_.empty(); }
  std::size_t size() const { return jobs_.size(); }
  // By the uid of the controller of a pod. Null: no job's. Valid until the next change.
  const BoardJob* of_controller(std::string_view uid) const {
    auto found = jobs_.find(uid);
    if (found == jobs_.end())
      if (const auto launcher = launchers_.find(uid); launcher != launchers_.end())
        found = jobs_.find(launcher->second);
    return found == jobs_.end() ? nullptr : &found->second;
  }
  const DoorRules& rules() const { return rules_; }
  template <class F>
  void for_each(F&& f) const {  // f(const BoardJob&), in no order
    for (const auto& [uid, job] : jobs_) f(job);
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  template <class T>
  using ByText = std::unordered_map<std::string, T, Hash, std::equal_to<>>;
  void forget(std::string_view uid);
  void take_rules(const DoorRules&);

  ByText<BoardJob> jobs_;          // by job_uid
  ByText<std::string> attempts_;   // uid of the ScavengerJob -> job_uid
  ByText<std::string> launchers_;  // uid of the Job of an MPIJob's launcher -> job_uid
  DoorRules rules_;
};

// What the interruption of a job costs now.
inline std::int64_t cost_of(const BoardJob& job, WallTime now) {
  return job.basis ? cost_at(*job.basis, now) : 0;
}

}  // namespace berth::scavenge
