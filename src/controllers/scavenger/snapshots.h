// SPDX-License-Identifier: Apache-2.0
// For programs that write no checkpoints: before a job gives way, the kubelets are asked to write
// down its containers as they are (k8s 1.36: ContainerCheckpoint). Nothing starts from such an
// archive by itself, and nothing waits for it beyond the notice.
#pragma once

#include <string>
#include <vector>

#include "controllers/status.h"
#include "runtime/plan.h"
#include "runtime/view.h"

namespace berth::controllers {

inline constexpr std::string_view kSnapshotPath = "/api/v1/nodes/";

// A question for each container that runs, answered by `deadline`.
std::vector<runtime::Action> ask_for_snapshots(const std::vector<const kube::Object*>& pods,
                                               WallTime now, WallTime deadline);
// Puts what was answered about these pods into the status, in place of what an earlier notice
// left; returns what people are told of it, "" where nothing was answered in this run.
std::string note_snapshots(const runtime::View&, const std::vector<const kube::Object*>& pods,
                           StatusDraft& status);

}  // namespace berth::controllers
