// SPDX-License-Identifier: Apache-2.0
// The queue of ScavengerJobs.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kube/ours/scavenger_job_view.h"
#include "runtime/controller.h"

namespace berth::controllers {

// Switched on by tests alone: it is to be found.
enum class QueueFault : std::uint8_t {
  kNone,
  kAttemptAfterJob,  // a Job is made before the attempt is written
};
struct QueueOptions {
  std::vector<kube::KindId> job_kinds = {};  // none: both groups
  QueueFault fault = QueueFault::kNone;
  std::function<void(runtime::Plan&, const kube::ScavengerJobView&)> plant = nullptr;
};
std::unique_ptr<runtime::Controller> make_scavenger_queue_controller(QueueOptions);

}  // namespace berth::controllers
