// SPDX-License-Identifier: Apache-2.0
// Runs one controller: changes wake keys, keys are reconciled, plans performed, and a key rests
// until the caches show what it wrote.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/scope.h"
#include "client/api.h"
#include "client/event_recorder.h"
#include "client/transport.h"
#include "runtime/caches.h"
#include "runtime/controller.h"
#include "runtime/performing.h"
#include "runtime/work_queue.h"

namespace berth::runtime {

struct RunnerOptions {
  std::string instance;  // names the reporter of events
  client::RateLimiter* limiter = nullptr;
  Asker ask = nullptr;
  RetryDelays delays = {};
  client::RetryPolicy retry = {};
  std::function<void(KindId)> outdated = nullptr;  // told of writes that others were faster at
};

// Loop-confined to its scope's executor; outlives that scope. Controller, caches, transport and
// metrics outlive it.
class Runner {
 public:
  Runner(Scope& parent, const Controller& controller, Caches& caches, client::Transport& transport,
         Metrics& metrics, Logger log, Random random, RunnerOptions options);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void attach();  // to the caches, before they start
  void start();   // once they are synced
  const Spec& spec() const { return spec_; }
  bool idle() const { return queue_.idle(); }
  std::size_t queued() const { return queue_.size(); }
  std::size_t remembered() const { return memories_.size(); }

 private:
  void listen(client::Informer<>&, const Mapping&, Duration batched);
  void changed(const Mapping&, const Change&, Duration batched);
  void pump();
  void run(const Key&);
  // When a key is looked at again: because it is time, and, should something happen, not before.
  struct Next {
    std::optional<WallTime> again = {};
    Instant not_before{};
  };
  void ended(const Key&, Next, Performed);
  void release(const Key&, Next, bool failed, bool outdated);

  const Controller& controller_;
  Spec spec_;
  Scope& scope_;  // gone once it has closed
  Caches& caches_;
  Logger log_;
  RunnerOptions options_;
  client::Api api_;
  client::EventRecorder events_;
  WorkQueue queue_;
  Counter late_, failures_;
  std::map<Key, Memory> memories_;
  unsigned in_flight_ = 0;
  bool started_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for callers from outside
};

}  // namespace berth::runtime
