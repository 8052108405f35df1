// SPDX-License-Identifier: Apache-2.0
// What the descriptions of the scavenger kinds share.
#pragma once

#include <vector>

#include "kube/ours/kind_spec.h"

namespace berth::kube {

Field positive_duration(std::string name);
// {requests, limits}, of a container.
Field container_resources();
// The same, where requests may not be more than limits.
Field checked_resources();
// What a scavenger job says besides the program it runs, and besides its resources: mounts, window,
// checkpoints, how it is started again.
std::vector<Field> scavenger_members();
FieldRule interval_within_duration();  // of what has duration and checkpoint
std::vector<Field> program_members();  // command, args, workingDir, env, …

}  // namespace berth::kube
