// SPDX-License-Identifier: Apache-2.0
// What is known of nodes, pods and jobs where slots are concerned. Small values, so that a
// scheduler's cache, a controller's view and a gateway's snapshot can all supply them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "kube/object.h"
#include "kube/ours/batch_job_view.h"
#include "kube/ours/testbed_view.h"
#include "policy/slots/geometry.h"
#include "policy/slots/ledger.h"

namespace berth::slots {

// On executors, where the Testbed lives in another namespace: "ns/name".
inline constexpr std::string_view kTestbedAnnotation = "berth.dev/testbed";

struct NodeFact {
  std::string name;
  std::string label_value;  // of the Testbed's label
  bool ready = true;
  bool schedulable = true;   // not cordoned
  bool going = false;        // is being deleted
  std::string problem = {};  // why nothing is held here; "": it is
};
using NodeFacts =
    std::map<std::string, NodeFact, std::less<>>;  // those that exist, labelled or not

struct PodFact {
  Key key;
  std::string uid;
  std::string node = {};  // "": not bound
  bool ghost = false;
  bool deleting = false;
  GrantId grant = {};                   // of an executor
  std::optional<SlotNumber> slot = {};  // as it was bound, or as a ghost has it
  std::optional<WallTime> created = {};
  std::string refused = {};  // why the scheduler does not place it
};

// The BatchJob behind a grant.
struct RunFact {
  Key job;
  std::optional<std::set<SlotNumber>> ordered;  // slotIds; none: nothing is ordered
  bool closing = false;                         // the run is closed, or its claim is gone
  std::vector<kube::Pin> pins = {};
};
using RunFacts = std::map<GrantId, RunFact, std::less<>>;

// What an object says. Pods that have ended hold nothing: there is no fact about them.
NodeFact node_fact(const kube::Object& node, std::string_view label);
std::optional<PodFact> pod_fact(const kube::Object& pod);
// The grant that a job's present order or open run is for, and the fact of it; none where there is
// neither.
std::optional<std::pair<GrantId, RunFact>> run_fact(const kube::BatchJobView&);
// The run that the next order of a job is for.
std::int64_t next_run(const kube::BatchJobView&);

// The classes of a Testbed with the nodes they are on, in order.
std::vector<WantedClass> wanted_classes(const kube::TestbedView&,
                                        const std::vector<const kube::Object*>& nodes);
// The Testbed that a pod belongs to, ghost or executor; empty where it belongs to none.
Key testbed_of(const kube::Object& pod);

}  // namespace berth::slots
