// SPDX-License-Identifier: Apache-2.0
// What a Deployment says of its rollout: counts, conditions, and when lack of progress is a
// failure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "controllers/deployment/sets.h"
#include "controllers/status.h"

namespace berth::controllers {

// The status of a Deployment in the making. Conditions are put as they come, then one of the two
// ways to finish is called.
class Progress {
 public:
  Progress(const Object& deployment, const Rollout&, WallTime now);

  // k8s 1.36: a condition that says the same for the same reason keeps its times and its words.
  void say(const char* type, const char* status, const char* reason, std::string message);
  const Condition* progressing() const { return conditions_.find("Progressing"); }
  bool has_deadline() const { return deadline_.has_value(); }
  void paused_or_resumed(bool paused);
  void collided();        // a set of that name is there and says something else
  bool complete() const;  // by the status as it was

  // `fresh` is null where there is no new set yet.
  std::string counted(const std::vector<Set>& all, const Set* fresh);
  std::string rolled(const std::vector<Set>& all, const Set* fresh);
  // When the rollout fails unless something moves.
  std::optional<WallTime> due() const { return due_; }

 private:
  struct Counts {
    std::int64_t replicas = 0, updated = 0, ready = 0, available = 0;
  };
  Counts count(const std::vector<Set>& all, const Set* fresh);
  bool done(const Counts&) const;
  void judge(const Counts&, const Set* fresh);
  void take_failures(const std::vector<Set>& all, const Set* fresh);
  std::string subject(const Set* fresh) const;  // `ReplicaSet "web-5d" ` or `Deployment "web" `

  const Object& deployment_;
  Rollout rollout_;
  WallTime now_;
  std::optional<Duration> deadline_;
  StatusDraft draft_;
  Conditions conditions_;
  Counts before_;
  std::optional<WallTime> due_;
};

}  // namespace berth::controllers
