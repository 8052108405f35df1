// SPDX-License-Identifier: Apache-2.0
// The state that a decision was made in, written down as a case that `berth explain --cases` reads.
#pragma once

#include <string>
#include <string_view>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/framework/nominated_pods.h"
#include "scheduler/run/feeds.h"

namespace berth::scheduler {

// One line, with its end. `pod` is the one to place; nodes stand in the order of rows, which is how
// they come to have the same rows again. Needs documents of pods and nodes. What Reserve holds of
// volumes is not in it.
std::string case_text(std::string_view id, const Pod& pod, const ClusterState&,
                      const NominatedPods&, const Feeds&);

}  // namespace berth::scheduler
