// SPDX-License-Identifier: Apache-2.0
// The next grants of a Testbed, in order. The allocator writes them, the dry run plays them: since
// both ask here, a forecast has the order that will be.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kube/ours/scheduling_view.h"
#include "kube/ours/testbed_view.h"
#include "policy/slots/ledger.h"
#include "policy/slots/observe.h"

namespace berth::slots {

// A job as far as grants are concerned.
struct JobFact {
  std::string uid;
  std::string slot_class = "default";
  std::int64_t next_run = 1;
  Key claimed_by = {};      // a Scheduling; empty: nobody
  GrantId grant = {};       // of its open run, or of one that is ordered; "": none
  bool failed = false;      // its last run ended badly, and it was not reset
  bool retrying = false;    // between two attempts of its open run
  std::size_t ordered = 0;  // slots that its open run was told to use
};
using JobsView = std::map<Key, JobFact>;
JobFact job_fact(const kube::BatchJobView&);

// A Scheduling as far as grants are concerned.
struct Demand {
  enum class Mode : unsigned char { kQueue, kStrict, kRelaxed };
  struct Entry {
    Key job;
    std::set<SlotNumber> slots = {};  // slot-based
  };
  struct Progress {
    std::size_t used = 0;       // entries that runs have used up
    std::int64_t last_run = 0;  // that was started
    bool starving = false;      // passed over for too long (relaxed)
  };

  Key key;
  Mode mode = Mode::kQueue;
  std::vector<Entry> entries;
  std::map<Key, Progress> progress = {};
  bool may_start = true;  // it owns what it needs, and no failure stops it
};
Demand demand_of(const kube::SchedulingView&, bool may_start, WallTime now);
// The entries that no run has used up, in order. Slot-based: those of jobs that were not started.
std::vector<Demand::Entry> remaining(const Demand&);

// An order that was given by hand.
struct HandOrder {
  Key job;
  std::int64_t run = 0;
  std::set<SlotNumber> slots;
};

struct Resize {
  GrantId grant;
  std::set<SlotNumber> more = {}, less = {};  // one of them is empty
};
// Why a job that could be next is not granted.
struct Waiting {
  Key scheduling, job;
  std::string_view reason;  // kube/ours/reasons.h
  std::string message;
};
struct GrantPlan {
  std::vector<Grant> grants;  // to be written all at once, in this order
  std::vector<Resize> resizes;
  std::vector<Waiting> waiting;  // at most one a job
};

struct PlanInput {
  const SlotTable& table;
  std::span<const Demand> by_ticket;
  const JobsView& jobs;
  const Ledger& ledger;
  std::span<const kube::SlotQuota> quotas = {};
  std::span<const HandOrder> by_hand = {};
};
GrantPlan plan_grants(const PlanInput&);

}  // namespace berth::slots
