// SPDX-License-Identifier: Apache-2.0
#include "controllers/slot_sight.h"

#include <algorithm>
#include <set>

#include "json/writer.h"
#include "kube/node_view.h"
#include "kube/pod_view.h"

namespace berth::controllers {

using kube::BatchJobView;
using kube::Key;
using kube::Object;
using kube::SchedulingView;
using kube::SlotKinds;
using runtime::Change;
using runtime::View;

std::vector<std::string> testbed_of_pod(const Object& pod) {
  const Key testbed = slots::testbed_of(pod);
  return testbed.name.empty() ? std::vector<std::string>() : std::vector{testbed.text()};
}
std::vector<std::string> testbed_of_scheduling(const Object& scheduling) {
  return {SchedulingView(scheduling).testbed().text()};
}
std::vector<std::string> jobs_of_scheduling(const Object& scheduling) {
  std::vector<std::string> jobs;
  for (const Key& job : SchedulingView(scheduling).jobs()) jobs.push_back(job.text());
  return jobs;
}
std::vector<std::string> order_of_job(const Object& job) {
  const auto order = BatchJobView(job).order();
  return order ? std::vector{order->testbed.text()} : std::vector<std::string>();
}
std::vector<std::string> claim_of_job(const Object& job) {
  const auto claim = BatchJobView(job).claim();
  return claim ? std::vector{claim->scheduling.text()} : std::vector<std::string>();
}

bool node_matters(const Object* before, const Object* after) {
  if (before == nullptr || after == nullptr) return true;
  if (before->deleting() != after->deleting()) return true;
  const kube::NodeView was(*before), is(*after);
  return before->labels().raw() != after->labels().raw() || was.ready() != is.ready() ||
         was.unschedulable() != is.unschedulable() ||
         was.object().status()["allocatable"].raw() != is.object().status()["allocatable"].raw();
}

void watch_testbed_parts(runtime::Spec& spec, const SlotKinds& kinds) {
  using runtime::each_state;
  spec.watches(kube::kPod, each_state([](const View&, const Object& pod, std::vector<Key>& wake) {
                 if (Key testbed = slots::testbed_of(pod); !testbed.name.empty())
                   wake.push_back(std::move(testbed));
               }));
  spec.watches(kinds.ledger, runtime::same_name());
  spec.watches(kinds.scheduling,
               each_state([](const View&, const Object& scheduling, std::vector<Key>& wake) {
                 wake.push_back(SchedulingView(scheduling).testbed());
               }));
  spec.watches(kinds.batch_job,
               each_state([kinds](const View& view, const Object& job, std::vector<Key>& wake) {
                 if (const auto order = BatchJobView(job).order()) wake.push_back(order->testbed);
                 for (const Object* one : view.by_index(kinds.scheduling, kByJob, job.key().text()))
                   wake.push_back(SchedulingView(*one).testbed());
               }));
  spec.watches(kube::kNode,
               [kinds](const View& view, const Change& change, std::vector<Key>& wake) {
                 if (!node_matters(change.before, change.after)) return;
                 for (const Object* testbed : view.list(kinds.testbed)) {
                   const std::string label = kube::TestbedView(*testbed).node_label();
                   for (const Object* node : {change.before, change.after})
                     if (node != nullptr && node->labels()[label]) {
                       wake.push_back(testbed->key());
                       break;
                     }
                 }
               });
  spec.index(kube::kPod, kByTestbed, &testbed_of_pod)
      .index(kinds.scheduling, kByTestbed, &testbed_of_scheduling)
      .index(kinds.scheduling, kByJob, &jobs_of_scheduling)
      .index(kinds.batch_job, kByOrder, &order_of_job);
}

std::string finalizer_patch(const Object& object, std::string_view finalizer, bool with) {
  json::Writer w;
  w.object().member("metadata").object().member("finalizers").array();
  for (const std::string& each : object.finalizers())
    if (each != finalizer) w.string(each);
  if (with) w.string(finalizer);
  w.end().end().end();
  return w.take();
}
bool has_finalizer(const Object& object, std::string_view finalizer) {
  const std::vector<std::string> all = object.finalizers();
  return std::find(all.begin(), all.end(), finalizer) != all.end();
}

bool is_live(const SchedulingView& scheduling) {
  return !scheduling.object().deleting() && !scheduling.completed();
}

Result<SlotSight> look(const View& view, const SlotKinds& kinds, const Object& object) {
  SlotSight sight{.testbed = kube::TestbedView(object)};
  const std::string key = object.key().text();
  sight.ledger_object = view.get(kinds.ledger, object.key());
  if (sight.ledger_object != nullptr) {
    auto ledger = slots::Ledger::parse(*sight.ledger_object);
    if (!ledger) return tl::unexpected(ledger.error());
    sight.ledger = std::move(*ledger);
  }
  const std::vector<const Object*> nodes = view.list(kube::kNode);
  sight.classes = sight.testbed.classes();
  sight.wanted = slots::wanted_classes(sight.testbed, nodes);
  const std::string label = sight.testbed.node_label();
  std::set<std::string_view> ours;
  for (const slots::Block& block : sight.ledger.blocks)
    ours.insert(block.nodes.begin(), block.nodes.end());
  for (const Object* node : nodes)
    if (ours.count(node->name()) > 0 || node->labels()[label])
      sight.nodes.emplace(node->name(), slots::node_fact(*node, label));
  for (const Object* pod : view.by_index(kube::kPod, kByTestbed, key)) {
    if (auto fact = slots::pod_fact(*pod))
      sight.pods.push_back(std::move(*fact));
    else if (pod->label(kube::kGhostLabel) == "true")
      sight.ended_ghosts.push_back(pod);
  }
  for (const Object* one : view.by_index(kinds.scheduling, kByTestbed, key))
    sight.schedulings.emplace_back(*one);
  std::sort(
      sight.schedulings.begin(), sight.schedulings.end(),
      [](const SchedulingView& a, const SchedulingView& b) { return a.ticket() < b.ticket(); });
  const auto know = [&](const Key& job) {
    if (sight.jobs.count(job) > 0) return;
    const Object* found = view.get(kinds.batch_job, job);
    if (found == nullptr) return;
    const BatchJobView one(*found);
    sight.jobs[job] = slots::job_fact(one);
    if (auto run = slots::run_fact(one)) sight.runs.insert(std::move(*run));
  };
  for (const auto& [id, grant] : sight.ledger.grants()) know(grant.job);
  for (const SchedulingView& one : sight.schedulings)
    for (const Key& job : one.jobs()) know(job);
  for (const Object* job : view.by_index(kinds.batch_job, kByOrder, key)) know(job->key());
  return sight;
}

slots::SlotTable SlotSight::table(WallTime now) const {
  return slots::observe({ledger, wanted, classes, nodes, pods, runs, testbed.held()}, now);
}
bool SlotSight::idle() const {
  return ledger.grants().empty() && std::none_of(schedulings.begin(), schedulings.end(),
                                                 [](const auto& s) { return is_live(s); });
}

bool may_start(const SchedulingView& scheduling, const SlotSight& sight) {
  if (!is_live(scheduling) || !scheduling.status()["acquiredTime"].present()) return false;
  if (scheduling.named_twice()) return false;
  if (!sight.testbed.shared() &&
      (!sight.ledger.owner || sight.ledger.owner->uid != scheduling.object().uid()))
    return false;
  if (!scheduling.stops_on_failure()) return true;
  for (const Key& job : scheduling.jobs()) {
    const auto found = sight.jobs.find(job);
    if (found != sight.jobs.end() && found->second.failed && scheduling.job(job).last_run > 0)
      return false;
  }
  return true;
}

std::vector<slots::Demand> demands(const SlotSight& sight, WallTime now) {
  std::vector<slots::Demand> all;
  for (const SchedulingView& one : sight.schedulings)
    if (is_live(one)) all.push_back(slots::demand_of(one, may_start(one, sight), now));
  return all;
}

// By hand, or by a Scheduling that is to stay.
static bool is_claimed(const View& view, const SlotKinds& kinds, const BatchJobView& job) {
  const auto claim = job.claim();
  if (!claim || claim->uid.empty()) return claim.has_value();
  const Object* by = view.get(kinds.scheduling, claim->scheduling);
  return by != nullptr && by->uid() == claim->uid && !by->deleting();
}

std::vector<slots::HandOrder> hand_orders(const View& view, const SlotKinds& kinds,
                                          const Key& testbed) {
  std::vector<slots::HandOrder> orders;
  for (const Object* object : view.by_index(kinds.batch_job, kByOrder, testbed.text())) {
    const BatchJobView job(*object);
    const auto order = job.order();
    const std::int64_t run = order->run > 0 ? order->run : slots::next_run(job);
    const std::string state = job.state();
    const bool waits = state == "Ready" || state == "InQueue";
    if (waits && is_claimed(view, kinds, job) && !job.open() && run > job.closed_run() &&
        !object->deleting())
      orders.push_back({object->key(), run, order->slots});
  }
  return orders;
}

slots::GrantPlan next_grants(const View& view, const SlotKinds& kinds, const SlotSight& sight,
                             const slots::SlotTable& table, WallTime now) {
  const std::vector<slots::Demand> by_ticket = demands(sight, now);
  const std::vector<kube::SlotQuota> quotas = sight.testbed.quotas();
  const std::vector<slots::HandOrder> by_hand =
      hand_orders(view, kinds, sight.testbed.object().key());
  return slots::plan_grants({table, by_ticket, sight.jobs, sight.ledger, quotas, by_hand});
}

}  // namespace berth::controllers
