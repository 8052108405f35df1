// SPDX-License-Identifier: Apache-2.0
// What the page is told: everything that the tap sends is kept up to date here and goes out,
// encoded once, to all who listen. Questions about single pods and nodes are answered from a copy
// of the scheduler's state, away from its loop.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "client/api.h"
#include "gateway/audience.h"
#include "gateway/observe/cluster_map.h"
#include "gateway/observe/explanation.h"
#include "gateway/observe/queue_groups.h"
#include "gateway/observe/records.h"
#include "gateway/observe/tap.h"
#include "gateway/routes.h"

namespace berth::gateway {

struct HubOptions {
  std::string cluster = "berth";  // its name, as the page shows it
  std::string version = {};
  std::vector<scheduler::ProfileSpec> profiles = {};  // of the scheduler; one at least
  std::size_t decisions_kept = 2000;
};

// Loop-confined to its scope's executor; outlives that scope. Everything given outlives it.
class Hub {
 public:
  // `scheduler`: the way onto the scheduler's loop.
  Hub(Scope&, Runtime&, client::Transport&, Random, Tap&, Executor& scheduler, HubOptions);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  void mount(Routes&);
  std::size_t listeners() const { return audience_.size(); }

 private:
  using Work = std::function<Result<std::string>(const Snapshot&)>;
  struct Question {
    Work work;
    Done<Reply> done;
  };

  void take(const BatchPtr&);
  void send(std::string_view event, const std::string& data);
  void listen(std::shared_ptr<Stream>);
  void beat();
  void measure();
  std::string beat_json() const;
  std::vector<DecisionRecord> attempts_of(std::string_view uid) const;

  void explain(const Request&, Done<Reply>);
  void node(const Request&, Done<Reply>);
  void ask(Work, Done<Reply>);
  void ask_next();
  void answer(std::shared_ptr<const Snapshot>);

  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for what is posted from elsewhere
  Scope& scope_;
  Runtime& runtime_;
  client::Api api_;
  Tap& tap_;
  Executor& scheduler_;
  HubOptions options_;
  Audience audience_;
  ClusterMap map_;
  QueueGroups queue_;
  bool queue_known_ = false;
  std::deque<DecisionRecord> decisions_;  // newest last
  TimerId beat_timer_ = TimerId::kNone, measure_timer_ = TimerId::kNone;

  std::deque<Question> questions_;
  bool answering_ = false;
  std::shared_ptr<const Snapshot> snapshot_;
  Instant snapshot_at_ = {};
};

}  // namespace berth::gateway
