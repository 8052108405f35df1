// SPDX-License-Identifier: Apache-2.0
// What `berth explain pod` shows: where a pod would go, every node's score or refusal, and whom
// preemption would evict.
#pragma once

#include <ostream>

#include "scheduler/explain/judgement.h"

namespace berth::cli {

struct ReportOptions {
  bool all_nodes = false;  // else long lists are cut
  int columns = 100;
};

// `seen`: the pod as the cluster has it, which may be on a node already.
void print_explanation(const scheduler::Judgement&, const scheduler::Pod& seen,
                       const ReportOptions&, std::ostream&);

}  // namespace berth::cli
