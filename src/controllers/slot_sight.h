// SPDX-License-Identifier: Apache-2.0
// What controllers see of Testbeds: the indexes by which their parts are found, and all that
// observe() needs, collected from a View.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/ours/batch_job_view.h"
#include "kube/ours/ours.h"
#include "kube/ours/scheduling_view.h"
#include "kube/ours/testbed_view.h"
#include "policy/slots/observe.h"
#include "policy/slots/plan.h"
#include "runtime/controller.h"

namespace berth::controllers {

// Pods, by the Testbed they belong to; Schedulings, by their Testbed and by the jobs they name;
// BatchJobs, by the Testbed they are ordered to and by the Scheduling that has claimed them. All
// values are "namespace/name".
inline constexpr std::string_view kByTestbed = "testbed", kByJob = "batch-job",
                                  kByOrder = "ordered-on", kByClaim = "claimed-by";
std::vector<std::string> testbed_of_pod(const kube::Object&);
std::vector<std::string> testbed_of_scheduling(const kube::Object&);
std::vector<std::string> jobs_of_scheduling(const kube::Object&);
std::vector<std::string> order_of_job(const kube::Object&);
std::vector<std::string> claim_of_job(const kube::Object&);

// Declares them, and wakes a Testbed when one of its pods, its ledger, its Schedulings, a job that
// concerns it, or one of its nodes changes.
void watch_testbed_parts(runtime::Spec&, const kube::SlotKinds&);
// Does a change of a node matter to whoever holds slots there?
bool node_matters(const kube::Object* before, const kube::Object* after);

// Everything about one Testbed at one moment. Lives as long as the View.
struct SlotSight {
  kube::TestbedView testbed;
  const kube::Object* ledger_object = nullptr;  // null: there is none yet
  slots::Ledger ledger = {};
  std::vector<slots::WantedClass> wanted = {};
  std::vector<kube::SlotClass> classes = {};
  slots::NodeFacts nodes = {};
  std::vector<slots::PodFact> pods = {};
  std::vector<const kube::Object*> ended_ghosts = {};
  slots::RunFacts runs = {};
  std::vector<kube::SchedulingView> schedulings = {};  // on it, by ticket
  slots::JobsView jobs = {};                           // those that they name, or that hold slots

  slots::SlotTable table(WallTime now) const;
  bool idle() const;  // nothing is granted, and no Scheduling is to run
};
// An error where the ledger is not one that an allocator can have written.
Result<SlotSight> look(const runtime::View&, const kube::SlotKinds&, const kube::Object& testbed);

// A merge patch that gives an object this finalizer, or takes it away.
std::string finalizer_patch(const kube::Object&, std::string_view finalizer, bool with);
bool has_finalizer(const kube::Object&, std::string_view finalizer);

// A Scheduling that is still to be carried out.
bool is_live(const kube::SchedulingView&);
// It has what it needs, so its jobs may start.
bool may_start(const kube::SchedulingView&, const SlotSight&);
std::vector<slots::Demand> demands(const SlotSight&, WallTime now);
std::vector<slots::HandOrder> hand_orders(const runtime::View&, const kube::SlotKinds&,
                                          const kube::Key& testbed);
slots::GrantPlan next_grants(const runtime::View&, const kube::SlotKinds&, const SlotSight&,
                             const slots::SlotTable&, WallTime now);

}  // namespace berth::controllers
