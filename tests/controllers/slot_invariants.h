// SPDX-License-Identifier: Apache-2.0
// What must hold of Testbeds, jobs and Schedulings after every committed write, and what must be
// left when nothing moves any more. It sees what is stored, and trusts no controller's word.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/ours/scheduling_view.h"
#include "lab.h"
#include "policy/slots/ledger.h"

namespace berth::controllers::stories {

// Watches a Lab from its making on; outlived by it.
class SlotInvariants {
 public:
  // Stand-ins that bind executors beside their ghosts ask too much of nodes for a while.
  enum class Room { kChecked, kIgnored };
  explicit SlotInvariants(Lab&, Room = Room::kChecked);

  // A writer that slept may submit what was closed meanwhile; somebody must then take it away.
  void allow_late_applications() { late_ = true; }
  // Controllers that cannot read or write for so long cannot give back what they hold either.
  void excuse(Duration how_long);
  // At most a few, the first ones: each says which rule was broken and by what.
  const std::vector<std::string>& wrongs() const { return wrongs_; }
  // When every Scheduling has gone and nothing moves: what is left that should not be.
  std::vector<std::string> left_over() const;
  std::size_t grants() const { return grants_; }  // that were ever given

 private:
  struct Job {
    std::int64_t closed = 0;
    std::size_t events = 0;
    std::string claimed_by;           // uid
    std::map<int, std::string> pins;  // uids of pods, by slot
  };
  // A Scheduling as its place in the order of tickets goes by.
  struct Claimant {
    kube::SchedulingView::Ticket ticket;
    Key testbed;
    bool gone = false, completed = false, acquired = false, slot_based = false;
    std::vector<Key> jobs;               // in the order of their first entries
    std::map<Key, std::size_t> entries;  // of a queue
    struct Had {
      std::int64_t last_run = 0;
      std::size_t used = 0;
    };
    std::map<Key, Had> had;  // what was ever granted
  };
  struct Claim {
    std::string holder;  // uid
    std::int64_t run = 0, closed = 0;
  };
  void check(KindId, const Object&);
  void check_ledger(const Object&);
  void check_new_grant(const slots::Grant&);
  void check_gone_grant(const slots::Grant&);
  void check_job(const Object&);
  void check_pins(const Object& job, std::map<int, std::string>& known);
  std::optional<int> slot_of(const Object& pod) const;
  void check_application(const Object&);
  void check_pod(const Object&);
  void check_room(const std::string& node);
  void note_claimant(const Object&);
  void note_claim(const Object&);
  void check_turns();
  void judge_turns();
  std::set<std::string> out_of_turn() const;
  bool started(const Claimant&, const Key& job) const;
  bool finished(const Claimant&, const Key& job) const;
  void wrong(std::string);

  Lab& lab_;
  Room room_;
  bool late_ = false;
  std::vector<std::string> wrongs_;
  std::size_t grants_ = 0;
  std::map<Key, slots::Ledger> ledgers_;
  std::map<std::string, Job> jobs_;                  // by uid
  std::map<std::string, std::string> applications_;  // uid by grant and attempt
  std::set<std::string> bound_;                      // executors, by uid
  std::map<Key, std::set<Key>> begun_;               // jobs, by their Scheduling
  std::map<Key, Claimant> claimants_;
  std::map<Key, Claim> claims_;                // jobs that exist
  std::map<Key, bool> shared_;                 // Testbeds that exist
  std::map<std::string, Instant> held_since_;  // what is out of turn
  Instant excused_until_{};
  bool armed_ = false;
};

}  // namespace berth::controllers::stories
