// SPDX-License-Identifier: Apache-2.0
// What the page is told of scavenger jobs: rows with the parameters of their cost, whose turn it is
// and for what each waits, gain and loss over time, and why victims were chosen. Changes go out,
// encoded once, to all who listen.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/metrics.h"
#include "base/random.h"
#include "base/runtime.h"
#include "client/transport.h"
#include "controllers/reclaim_watch.h"
#include "controllers/scavenger/queue_facts.h"
#include "gateway/audience.h"
#include "gateway/routes.h"
#include "gateway/scavenge/history.h"
#include "gateway/scavenge/objects.h"
#include "gateway/scavenge/tracks.h"
#include "gateway/scavenge/victims.h"
#include "policy/scavenge/admit.h"

namespace berth::gateway {

// Loop-confined to its scope's executor; outlives that scope. Everything given outlives it.
class Scavengers {
 public:
  // `runtime`: for work that takes long; null: all is done on the loop.
  Scavengers(Scope&, client::Transport&, const Random&, Metrics&, Runtime* runtime);
  ~Scavengers();
  Scavengers(const Scavengers&) = delete;
  Scavengers& operator=(const Scavengers&) = delete;

  void mount(Routes&);
  void start();
  void chose(scavenge::VictimRecord);  // a door, whichever

 private:
  void begin();
  void follow_jobs(kube::KindId);
  void job_changed(const kube::Object& before, const kube::Object& after);
  void something_changed();
  void arm(Duration);
  void look();
  void answered(std::shared_ptr<const scavenge::AdmitQuestion>, scavenge::AdmitAnswer);
  void send_rows();
  void keep_alive();
  void listen(std::shared_ptr<Stream>);
  Result<Reply> explain(const kube::Key&);
  std::string summary() const;
  WallTime now() const { return scope_.executor().clock().wall(); }
  std::string jobs_json() const;

  // Reading what a job asks for costs more than all the rest of its row.
  struct Size {
    std::int64_t generation = 0, cores_milli = 0;
    int members = 1;
  };
  const Size& size_of(const kube::Object& job) const;

  // The rows by "ns/name", as they were told last.
  using Rows = std::map<std::string, std::string, std::less<>>;
  Rows rows() const;

  Scope& scope_;
  Runtime* runtime_;
  ScavengeObjects objects_;
  controllers::QueueFacts facts_;
  controllers::ReclaimWatch reclaims_;
  ScavengeHistory history_;
  Tracks tracks_;
  Victims victims_;
  Audience audience_;
  bool begun_ = false, asking_ = false, stale_ = false;
  TimerId timer_ = TimerId::kNone, alive_timer_ = TimerId::kNone;
  Duration due_ = {};

  std::shared_ptr<const scavenge::AdmitQuestion> question_;
  scavenge::AdmitAnswer answer_;
  std::map<std::string, const scavenge::Wait*, std::less<>> waits_;     // of answer_, by uid
  std::map<std::string, const scavenge::Waiting*, std::less<>> wants_;  // of question_
  ScavengeHistory::Level level_;
  Rows told_;
  std::string told_summary_;
  mutable std::map<std::string, Size, std::less<>> sizes_;  // by uid
};

}  // namespace berth::gateway
