// SPDX-License-Identifier: Apache-2.0
// How far a Scheduling has been carried out, from its status, the ledger and its jobs. The
// allocator and the Scheduling's own machine both go by this.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/scheduling/claims.h"
#include "controllers/slot_sight.h"

namespace berth::controllers {

// A job of a Scheduling.
struct JobProgress {
  Key job;
  bool in_spec = true;
  const kube::Object* object = nullptr;  // null: it does not exist
  bool ours = false;                     // claimed by this Scheduling
  std::int64_t last_run = 0;
  std::size_t used = 0;
  std::optional<WallTime> waiting_since = {}, granted = {};
  std::size_t left = 0;                          // entries
  std::vector<const slots::Grant*> grants = {};  // for it, in the ledger
  bool closed = true;                            // all that was started
  bool started() const { return !grants.empty() || !closed; }
  bool finished() const { return left == 0 && last_run > 0 && !started(); }
};

struct SchedulingProgress {
  std::vector<JobProgress> jobs;  // in the order of their entries, then those that were removed
  const JobProgress* find(const Key&) const;
  bool entries_left() const;
  bool runs_open() const;
};
// `ledger` may be null: the Testbed is gone, and its grants with it.
SchedulingProgress progress_of(const runtime::View&, const kube::SlotKinds&,
                               const kube::SchedulingView&, const slots::Ledger* ledger,
                               WallTime now);

// The jobs that have failed and that it is to stop for; a job that was reset is none of them.
std::vector<Key> stopped_by(const kube::SchedulingView&, const SchedulingProgress&);

// Those that want the same things as this one, itself among them.
ClaimFacts claim_facts(const runtime::View&, const kube::SlotKinds&, const kube::SchedulingView&,
                       WallTime now);

}  // namespace berth::controllers
