// SPDX-License-Identifier: Apache-2.0
// Who may claim which job, by ticket. A function of what is seen and nothing else: whoever is first
// for all it wants takes it, one after another; whoever is not holds nothing that it has not
// started. So nobody holds and waits, and nobody takes turns for ever.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"

namespace berth::controllers {

using kube::Key;

// A Scheduling as far as claims are concerned.
struct Claimant {
  std::string uid;
  Key key;
  Key testbed = {};       // that it wants for itself; empty: it shares
  bool live = true;       // not deleted, not completed: it wants things
  bool acquired = false;  // it has had all of them once
  struct Wanted {
    Key job;
    bool started = false;   // a run of it is granted or open
    bool finished = false;  // all entries are used up and all runs closed
  };
  std::vector<Wanted> jobs;  // in the order of their entries
};

struct ClaimFacts {
  std::vector<Claimant> by_ticket;
  std::map<Key, std::string> jobs;      // those that exist: the uid of who holds it, "" nobody
  std::map<Key, std::string> testbeds;  // likewise, of those that are exclusive
};

struct ClaimStep {
  enum class Kind : unsigned char {
    kOwns,     // everything it wants
    kClaim,    // `job`
    kTestbed,  // every job is its own; the Testbed may be given to it
    kRelease,  // `jobs`
    kWait,     // for `reason`
  };
  Kind kind = Kind::kWait;
  std::vector<Key> jobs = {};
  std::string_view reason = {};  // kube/ours/reasons.h
  std::string message = {};
};
ClaimStep next_step(const ClaimFacts&, std::string_view uid);

}  // namespace berth::controllers
