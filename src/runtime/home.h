// SPDX-License-Identifier: Apache-2.0
// Where a set of controllers lives: it supplies transport, clock and, where several processes may
// run them, the election of the one that does. Controllers do not know in which home they are.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/leader_election.h"
#include "client/rate_limiter.h"
#include "runtime/caches.h"
#include "runtime/controller.h"
#include "runtime/observer.h"
#include "runtime/runner.h"

namespace berth::runtime {

struct HomeOptions {
  std::string instance = "berth";                              // names the reporter of events
  std::optional<client::LeaderElectionOptions> election = {};  // none: this process alone
  std::optional<client::RateLimit> limit = {};                 // none: no limit
  Asker ask = nullptr;
  // The way a controller's own calls take, under its own name and rights. Absent: the home's.
  // Answers outlive the home.
  std::function<client::Transport&(const Spec&)> calls_as = nullptr;
  RetryDelays delays = {};
  client::RetryPolicy retry = {};
  // Also does what only one may do at a time, from now until the scope closes.
  std::function<void(Scope& term, client::Transport&)> beside = nullptr;
  std::vector<std::shared_ptr<Observer>> observers = {};  // of kinds that controllers follow
};

// Loop-confined to its scope's executor; outlives that scope. Closing the scope lets plans under
// way end within the grace; the lease is released last.
class Home {
 public:
  // `transport` and `metrics` outlive it.
  Home(Scope& parent, client::Transport& transport, Metrics& metrics, Logger log, Random random,
       std::vector<std::unique_ptr<Controller>> controllers, HomeOptions options = {});
  ~Home();
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  void start();
  bool leads() const { return !election_ || election_->leads(); }
  bool working() const;  // leads, and knows everything it needs
  bool idle() const;     // nothing queued, running or timed
  const std::vector<std::unique_ptr<Runner>>& runners() const { return runners_; }
  std::vector<std::string> unsynced() const;

 private:
  void work(Scope& term, client::Transport&);
  void show(Observer&, const Clock&);
  void rest();

  Scope& scope_;  // gone once it has closed
  client::Transport& transport_;
  Metrics& metrics_;
  Logger log_;
  Random random_;
  std::vector<std::unique_ptr<Controller>> controllers_;
  HomeOptions options_;
  std::unique_ptr<client::LeaderElection> election_;
  std::unique_ptr<client::RateLimiter> limiter_;
  std::unique_ptr<Caches> caches_;
  std::vector<std::unique_ptr<Runner>> runners_;
};

// The rights that these controllers need together, as a ClusterRole.
std::string role_json(std::string_view name,
                      const std::vector<std::unique_ptr<Controller>>& controllers);

}  // namespace berth::runtime
