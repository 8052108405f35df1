// SPDX-License-Identifier: Apache-2.0
// An HTTP extender, as kube-scheduler calls it: a program beside the scheduler that takes part in
// filtering, scoring, preemption or binding.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/scope.h"
#include "scheduler/extender/extender_config.h"
#include "scheduler/extender/extender_transport.h"
#include "scheduler/extender/extender_wire.h"

namespace berth::scheduler {

// What one extender may cost us.
struct ExtenderLimits {
  std::size_t concurrency = 16;  // calls under way; the others wait, verb by verb in turn
  std::size_t waiting = 10'000;  // beyond that a call is refused at once
  std::size_t bytes = std::size_t{256} << 20;  // of requests under way, unless it is a single one
  // A reply may have this, and twice the request on top: an honest filter sends back no more than
  // the nodes it was shown and a message for each.
  std::size_t reply_bytes = std::size_t{32} << 20;
};

struct HostScores {
  std::vector<HostScore> hosts;
  std::int64_t weight = 0;
};

// Verbs may be called on any thread; bodies are built and read on the scope's loop, and answers
// arrive as Done fires. Every call ends: within the HTTP timeout of its start, and calls before it
// do so too. A verb that the extender does not have is answered as kube-scheduler does: filter
// keeps all, prioritize gives every node 0 with weight 0, preempt and bind fail.
class Extender {
 public:
  // `scope` outlives the extender and its calls.
  Extender(Scope& scope, ExtenderConfig, std::unique_ptr<ExtenderTransport>, ExtenderLimits = {});
  ~Extender();  // on any thread; calls in progress get Cancelled
  Extender(const Extender&) = delete;
  Extender& operator=(const Extender&) = delete;

  const ExtenderConfig& config() const { return config_; }
  const std::string& name() const { return config_.url_prefix; }
  bool ignorable() const { return config_.ignorable; }
  bool filters() const { return !config_.filter_verb.empty(); }
  bool prioritizes() const { return !config_.prioritize_verb.empty(); }
  bool preempts() const { return !config_.preempt_verb.empty(); }
  bool binds() const { return !config_.bind_verb.empty(); }
  // Does some container or init container ask for what this extender manages? Any thread.
  bool interested(const kube::Object& pod) const;

  void filter(ExtenderArgs, Done<ExtenderFilterResult>);
  void prioritize(ExtenderArgs, Done<HostScores>);
  // Nodes and UIDs as the extender wrote them: whether they exist is for the caller to check.
  void preempt(ExtenderPreemptArgs, Done<VictimsByNode>);
  // An error with outcome kUnknown: the pod may have been bound.
  void bind(ExtenderBindArgs, Done<Ok>);

 private:
  struct Core;
  struct Call;
  void enter(std::unique_ptr<Call>);

  ExtenderConfig config_;
  std::set<std::string, std::less<>> managed_;
  Executor& loop_;
  std::shared_ptr<Core> core_;
};

// With connections of its own; see connect_extender.
Result<std::unique_ptr<Extender>> make_extender(
    Scope& scope, ExtenderConfig, ExtenderLimits = {},
    const client::Surroundings& = client::Surroundings::real());

}  // namespace berth::scheduler
