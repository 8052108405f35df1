// SPDX-License-Identifier: Apache-2.0
// Answers what is in the slots of a Testbed and what will be, away from the gateway's loop: a
// forecast of a large Testbed takes longer than a stream's listeners should wait.
#pragma once

#include <deque>
#include <optional>

#include "base/runtime.h"
#include "gateway/routes.h"
#include "gateway/slot_feeds.h"
#include "gateway/timeline.h"

namespace berth::gateway {

// Loop-confined to its scope's executor; outlives that scope. What it refers to outlives it.
class Timelines {
 public:
  // `runtime` null: worked out on the loop itself.
  Timelines(Scope&, const Feeds&, const SlotFeeds&, Runtime* runtime);

  // As things are; NotFound where there is no such Testbed.
  void ask(const kube::Key& testbed, Done<Reply>);
  // As they would be with this Scheduling, which the API server has accepted and not stored.
  void ask_with(const kube::Object& draft, Done<Reply>);
  // Every slot of a Testbed, however many they are.
  Result<Reply> slots(const kube::Key& testbed) const;
  // What one of them waits for, and what to do about it.
  Result<Reply> explain(Topic, const kube::Key&) const;
  Result<Reply> explain_slot(const kube::Key& testbed, std::string_view number) const;

 private:
  struct Asked {
    std::shared_ptr<const TimelineQuestion> question;
    Done<Reply> done;
  };
  WallTime now() const { return scope_.executor().clock().wall(); }
  Result<Ok> ready() const;
  void put(Result<TimelineQuestion>, Done<Reply>);
  void work();

  Scope& scope_;
  const Feeds& feeds_;
  const SlotFeeds& slots_;
  Runtime* runtime_;
  std::deque<Asked> waiting_;
  bool working_ = false;
};

}  // namespace berth::gateway
