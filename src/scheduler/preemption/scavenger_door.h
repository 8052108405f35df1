// SPDX-License-Identifier: Apache-2.0
// What happens to a choice of scavenger jobs before anybody is evicted: the jobs are told why, and
// those that want time for a checkpoint, and are allowed it, are asked first. Who was asked and is
// still there two seconds after his time is evicted from here, whatever the operator does.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/scope.h"
#include "client/api.h"
#include "scheduler/preemption/lost_work.h"

namespace berth::scheduler {

// Loop-confined to its scope's executor; outlives that scope.
class ScavengerDoor {
 public:
  struct Parts {
    Scope& scope;
    client::Api& api;
    Logger log;
    const scavenge::Board& board;
    // The pod still waits for room.
    std::function<bool(const Pod&)> wanted;
    // Jobs were made smaller for the pod, in vain: it is to be tried again, or seen to otherwise.
    std::function<void(const PodPtr&)> again = nullptr;
    std::string name = "scheduler";  // of the door, in records
    // Who tells jobs why, in Events.
    std::string reporter = {}, instance = {};
    Metrics* metrics = nullptr;  // for how good its choices are; outlives the door
  };
  explicit ScavengerDoor(Parts parts) : parts_(std::move(parts)) {}

  const scavenge::Board& board() const { return parts_.board; }

  // Jobs were asked to make room for the pod and have time left.
  bool waits(const Pod& preemptor) const { return notices_.count(preemptor.uid) > 0; }
  // Nobody was made smaller for the pod yet.
  bool may_shrink(const Pod& preemptor) const { return shrunk_for_.count(preemptor.uid) == 0; }
  enum class Verdict : std::uint8_t { kEvict, kWait };
  Verdict chosen(const PodPtr& preemptor, const LostWork&);
  // Marks the pods as disrupted and deletes them.
  void evict(const Pod& preemptor, const std::vector<PodPtr>& victims);

  const std::deque<scavenge::VictimRecord>& choices() const { return choices_; }  // newest last
  std::uint64_t evicted() const { return evicted_; }

 private:
  struct Notice {
    PodPtr preemptor;
    std::shared_ptr<const LostWork> lost;
    WallTime deadline;
    std::vector<std::size_t> asked;  // of lost->jobs: by us
    WallTime until;                  // this door waits
  };
  void measure(const LostWork&);
  void remember(scavenge::VictimRecord);
  Verdict wait(Notice);
  Verdict make_smaller(const PodPtr& preemptor, const LostWork&);
  void look_at(const std::string& preemptor_uid);
  void look_later(const std::string& preemptor_uid);
  void ask(const LostJob&, const Pod& preemptor, WallTime deadline);
  void withdraw(const Notice&);
  void erase(const PodPtr& victim);
  // `deadline`: it was asked, and may go on until then.
  void tell(const LostJob&, const scavenge::VictimRecord&, const Pod& preemptor,
            std::optional<WallTime> deadline);
  WallTime now() const { return parts_.scope.executor().clock().wall(); }

  Parts parts_;
  std::optional<Histogram> gap_;
  std::map<std::string, Notice, std::less<>> notices_;  // by the preemptor's uid
  std::set<std::string, std::less<>> shrunk_for_;       // uids of pods
  std::deque<scavenge::VictimRecord> choices_;
  std::uint64_t evicted_ = 0, told_ = 0;
};

}  // namespace berth::scheduler
