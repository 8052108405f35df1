// SPDX-License-Identifier: Apache-2.0
// Runs a BatchJob's application when it is ordered to, in the slots it was granted, and keeps its
// history.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controllers/batchjob/job_kind.h"
#include "kube/ours/ours.h"
#include "runtime/controller.h"

namespace berth::controllers {

struct BatchJobOptions {
  std::string name = "batchjob-controller";
  const kube::SlotKinds* kinds = &kube::thesis_kinds();
  std::vector<JobKind> job_kinds = built_in_job_kinds();
  ExecutorOptions executors = {};
};
std::unique_ptr<runtime::Controller> make_batch_job_controller(BatchJobOptions);

}  // namespace berth::controllers
