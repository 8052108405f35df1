// SPDX-License-Identifier: Apache-2.0
// The other side of extender_wire.h: what a scheduler asks an extender, read, and the extender's
// answers, written. Pure.
#pragma once

#include <string>
#include <string_view>

#include "scheduler/extender/extender_wire.h"

namespace berth::scheduler {

// What filter and prioritize are asked.
struct ExtenderQuestion {
  ExtenderArgs args;
  bool names_only = false;  // the scheduler takes us to know its nodes (nodeCacheCapable)
};
// An error says what was expected where. A request without a pod is one.
Result<ExtenderQuestion> read_filter_request(std::string_view text);
Result<ExtenderPreemptArgs> read_preempt_request(std::string_view text);

// Kept nodes are those of the question, named or whole as they were asked about. k8s 1.36: a node
// that stands in neither list of failed ones is one that no preemption helps.
std::string filter_reply(const ExtenderFilterResult&, bool names_only);
std::string preempt_reply(const VictimsByNode&);  // by uid

}  // namespace berth::scheduler
