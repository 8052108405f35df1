// SPDX-License-Identifier: Apache-2.0
// Finds every hard constraint that the placement of pods in a cluster violates. Written from the
// documented meaning of the API fields, on the objects alone: it shares no code with src/scheduler,
// so that both being wrong in the same way is unlikely.
//
// It judges a state, not a history. For what may only hold at the moment of placement that is still
// exact where nothing was taken away since, because
//  - anti-affinity forbids a pair of pods whichever came first;
//  - hard spreading: the least filled domain only ever fills up, so a pod that kept the skew then
//    keeps it now, as long as every pod that is counted carries the same constraint and may use the
//    same nodes. A constraint for which that does not hold is listed as unchecked instead;
//  - affinity: a pod that stands alone must be the first one of its kind: no other pod that matches
//    may exist.
// Binds reach the server in another order than they were decided in, so replaying them in the order
// of their revisions would accuse the innocent.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/object.h"

namespace berth::e2e {

struct ClusterState {
  std::vector<kube::Object> nodes, pods, namespaces;
  std::vector<kube::Object> volumes, claims, classes, csi_nodes;
};

struct Violation {
  std::string kind;  // "resources", "taint", …: see checker_test.cc for one of each
  std::string pod, node, what;
};

struct Verdict {
  std::vector<Violation> violations;
  std::vector<std::string> unchecked;  // "pod: why its constraint cannot be judged by the state"
  std::size_t bound = 0, unbound = 0;

  std::string text(std::size_t most = 20) const;  // for failure messages
  std::map<std::string, std::size_t> by_kind() const;
};

Verdict check_placement(const ClusterState&);

}  // namespace berth::e2e
