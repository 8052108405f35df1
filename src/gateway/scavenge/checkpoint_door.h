// SPDX-License-Identifier: Apache-2.0
// Where programs report checkpoints: POST /api/v1/scavengerjobs/{ns}/{name}/checkpoints, with the
// token of their own pod. It writes the pod's annotation, for the operator to read; nothing that is
// said here can make a job dearer to interrupt.
#pragma once

#include <map>
#include <string>

#include "base/scope.h"
#include "client/api.h"
#include "gateway/auth.h"
#include "gateway/routes.h"
#include "gateway/scavenge/checkpoint_report.h"

namespace berth::gateway {

// Loop-confined to the gateway's; outlives its routes. What it refers to outlives it.
class CheckpointDoor {
 public:
  static constexpr Duration kAtMostEvery = 10s;  // of a job

  CheckpointDoor(Scope& scope, client::Api& api, Auth& auth)
      : scope_(scope), api_(api), auth_(auth) {}
  void mount(Routes&);

 private:
  class Visit;

  Scope& scope_;
  client::Api& api_;
  Auth& auth_;
  std::map<std::string, Instant> last_;  // by the job's uid; those of the last 10 s
};

}  // namespace berth::gateway
