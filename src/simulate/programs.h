// SPDX-License-Identifier: Apache-2.0
// What goes on inside the simulated pods of a backlog: programs that compute, write checkpoints and
// take up their last one when they are started again. Keeps account of what was computed for good
// and what was lost.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/scope.h"
#include "client/api.h"
#include "kube/object.h"
#include "simulate/workload/backlog.h"

namespace berth::simulate {

struct Account {
  double useful_core_seconds = 0;  // of work that will never have to be done again
  double lost_core_seconds = 0;    // since the last checkpoint, or the start; restoring is in it
  int interruptions = 0, completed = 0;
  int started = 0;  // programs that ran at least once

  friend bool operator==(const Account&, const Account&) = default;
};

// Loop-confined to its scope's executor; outlives that scope, and is outlived by `api`.
class Programs {
 public:
  Programs(Scope&, client::Api& api, std::vector<Program>, Random);

  // A pod as it is now, or as it last was. Others than those of the programs say nothing.
  void on_pod(const kube::Object& pod, bool gone);
  const Account& account() const { return account_; }
  // Lost so far at the ends of runs, with the time of each.
  const std::vector<std::pair<Instant, double>>& losses() const { return losses_; }

 private:
  struct Member {
    kube::Key key;
    WallTime started{};
    bool running = false;
  };
  struct State {
    Program program;
    Random random;
    Duration done = {};                          // work that the last checkpoint holds
    std::map<std::string, Member> members = {};  // by uid; not those that stop
    std::set<std::string> succeeded = {};        // uids
    bool runs = false, ran = false, finished = false;
    Instant saved = {};                    // the last checkpoint of this run, or its start
    std::vector<Duration> stretches = {};  // of work up to its next checkpoints, the next one last
    TimerId next = {};
  };

  void begin(State&);
  void await_checkpoint(State&, Duration until_work);
  void checkpoint(State&);
  void interrupted(State&);
  void complete(State&);
  void annotate(const Member&, const std::string& annotations);  // members of JSON
  Instant now() const { return scope_.executor().clock().now(); }

  Scope& scope_;
  client::Api& api_;
  std::map<std::string, State, std::less<>> programs_;
  Account account_;
  std::vector<std::pair<Instant, double>> losses_;
};

// Of work, up to each checkpoint of a run that begins with so much done; none at its very end. The
// next one is the last.
std::vector<Duration> stretches_of(const Program&, Duration done, Random&);
// How long a run takes from its start, with writing its checkpoints.
Duration time_of_run(const Program&, Duration done, std::size_t checkpoints);

}  // namespace berth::simulate
