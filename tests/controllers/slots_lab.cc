// SPDX-License-Identifier: Apache-2.0
#include "slots_lab.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "controllers/pods.h"
#include "controllers/registry.h"
#include "json/writer.h"
#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::controllers::stories {
namespace {

using namespace runtime;  // NOLINT: the stand-in is a controller
using kube::BatchJobView;

class JobStandIn final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("batchjob-stand-in");
    spec.reconciles(kinds().batch_job);
    spec.watches(kube::kPod, owner_of(kinds().batch_job)).index_by_controller(kube::kPod);
    spec.watches(kinds().ledger,
                 each_state([](const View& view, const Object&, std::vector<Key>& wake) {
                   for (const Object* job : view.list(kinds().batch_job))
                     wake.push_back(job->key());
                 }));
    spec.creates(kube::kPod).erases(kube::kPod);
    spec.patches(kinds().batch_job).patches_status(kinds().batch_job);
    return spec;
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* object = view.get(kinds().batch_job, key);
    if (object == nullptr) return Plan::done();
    const BatchJobView job(*object);
    const auto order = job.order();
    if (!job.open()) return idle(view, job, order);
    const auto pods = view.by_index(kube::kPod, kByController, object->uid());
    const bool ended =
        !pods.empty() &&
        std::all_of(pods.begin(), pods.end(), [](const Object* pod) { return pod_ended(*pod); });
    const bool completing = job.state() == "Completing";
    if (!job.claim() || !order || completing || ended) {
      if (ended && job.claim() && !completing)
        return state(*object, "Completing");  // written before the evidence goes
      if (!pods.empty()) {
        Plan plan;
        for (const Object* pod : pods)
          if (!pod->deleting()) plan.erase(*pod, kube::Propagation::kBackground, Pin::kUid);
        return plan;
      }
      return close(job, completing, now);
    }
    return run(view, job, *order, pods);
  }

 private:
  static Plan state(const Object& job, std::string_view name) {
    if (job.status()["state"].equals(name)) return Plan::done();
    return Plan().patch_status(job, fmt::format(R"({{"status":{{"state":"{}"}}}})", name));
  }
  static Plan idle(const View& view, const BatchJobView& job,
                   const std::optional<BatchJobView::Order>& order) {
    const Object& object = job.object();
    if (order && order->run > 0 && order->run <= job.closed_run())
      return Plan().patch(object, R"({"spec":{"creationRequest":null}})");
    if (!job.claim()) return state(object, "Ready");
    if (!order) return job.state() == "Completed" ? Plan::done() : state(object, "InQueue");
    const std::int64_t run = order->run > 0 ? order->run : slots::next_run(job);
    const Object* ledger = view.get(kinds().ledger, order->testbed);
    const auto known = ledger == nullptr ? slots::Ledger() : *slots::Ledger::parse(*ledger);
    if (known.find(slots::grant_id(object.uid(), run)) == nullptr) return state(object, "InQueue");
    return Plan().patch_status(
        object, fmt::format(R"({{"status":{{"run":{},"state":"Submitted"}}}})", run));
  }
  static Plan close(const BatchJobView& job, bool successful, WallTime now) {
    json::Writer w;
    w.object().member("status").object().member("closedRun").integer(job.run());
    w.member("state").string(successful ? "Completed" : "Ready");
    w.member("scheduledEvents").array();
    for (const json::Slice each : job.status()["scheduledEvents"].elements()) w.raw(each.raw());
    w.object().member("run").integer(job.run()).member("successful").boolean(successful);
    w.member("start").string(kube::time_text(now - 1s));
    w.member("stop").string(kube::time_text(now)).end().end().end().end();
    return Plan().patch_status(job.object(), w.take());
  }
  static Plan run(const View& view, const BatchJobView& job, const BatchJobView::Order& order,
                  const std::vector<const Object*>& pods) {
    const Object& object = job.object();
    const Object* ledger = view.get(kinds().ledger, order.testbed);
    if (ledger == nullptr) return Plan::done();
    const slots::Ledger known = *slots::Ledger::parse(*ledger);
    const slots::GrantId grant = slots::grant_id(object.uid(), job.run());
    Plan plan;
    std::size_t running = 0;
    for (const Object* pod : pods) {
      running += pod->status()["phase"].equals("Running") ? 1 : 0;
      const auto fact = slots::pod_fact(*pod);
      if (fact && fact->slot && order.slots.count(*fact->slot) == 0 && !pod->deleting())
        plan.erase(*pod, kube::Propagation::kBackground, Pin::kUid);
    }
    for (const slots::Cell& cell : slots::cells_of(known.blocks, {})) {
      if (order.slots.count(cell.slot) == 0) continue;
      const std::string name = fmt::format("{}-{}-{}", object.name(), job.run(), cell.slot);
      if (view.get(kube::kPod, {std::string(object.ns()), name}) != nullptr) continue;
      plan.create(
          kube::kPod, {std::string(object.ns()), name},
          fmt::format(
              R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"{}","labels":{{"{}":"{}","{}":"{}"}},"annotations":{{"{}":"{}","{}":"{}"}},"ownerReferences":[{}]}},"spec":{{"nodeName":"{}","containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"750m","memory":"6Gi"}}}}}}]}}}})",
              name, object.ns(), kube::kTestbedLabel, order.testbed.name, kube::kGrantLabel, grant,
              kube::kSlotAnnotation, cell.slot, slots::kTestbedAnnotation, order.testbed.text(),
              controller_ref(object), cell.node));
    }
    if (plan.empty() && running == order.slots.size()) return state(object, "Running");
    return plan;
  }
};

std::string text_of(const std::set<int>& slots) { return fmt::format("{}", fmt::join(slots, ",")); }

}  // namespace

std::unique_ptr<runtime::Controller> make_job_stand_in() { return std::make_unique<JobStandIn>(); }

Controllers slot_controllers(bool with_jobs) {
  return [with_jobs] {
    auto made = *make_controllers(
        {"testbed-controller", "slot-allocator-controller", "scheduling-controller"});
    if (with_jobs) made.push_back(make_job_stand_in());
    return made;
  };
}

SlotsLab::SlotsLab(LabOptions options, int nodes) : lab(std::move(options)) {
  lab.life = [](const Object& pod) {
    PodLife life;
    life.stop = 100ms;
    if (!pod.label(kube::kGrantLabel).empty()) life.run = 20s;
    return life;
  };
  auto inner = std::move(lab.server.on_commit);
  lab.server.on_commit = [this, inner = std::move(inner)](KindId kind,
                                                          const Object& object) mutable {
    if (kind == kinds().ledger) check(object);
    if (kind == kinds().scheduling) note_chip(object);
    if (inner) inner(kind, object);
  };
  for (int i = 0; i < nodes; ++i) node(fmt::format("n{}", i), std::to_string(i));
}

// I1, seen from outside: every revision is a legal step from the one before.
void SlotsLab::check(const Object& object) {
  auto ledger = slots::Ledger::parse(object);
  if (!ledger) {
    wrongs.push_back(ledger.error().message);
    return;
  }
  if (std::string wrong = slots::illegal_step(before_, *ledger); !wrong.empty())
    wrongs.push_back(std::move(wrong));
  for (const auto& [id, grant] : ledger->grants())
    if (before_.find(id) == nullptr)
      granted.push_back(fmt::format("{}{{{}}}", grant.job.name, text_of(grant.slots)));
  before_ = std::move(*ledger);
}

void SlotsLab::note_chip(const Object& scheduling) {
  std::string state = scheduling.status()["jobStates"][std::size_t{0}]["state"].text();
  if (!state.empty() && (chips.empty() || chips.back() != state)) chips.push_back(std::move(state));
}

void labelled_node(Lab& lab, const std::string& name, const std::string& label,
                   std::string_view cpu) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}","labels":{{"tuberlin.de/tb":"{}"}}}}}})",
      name, label)));
  ASSERT_TRUE(lab.patch(
      kube::kNode, {"", name},
      fmt::format(
          R"({{"status":{{"allocatable":{{"cpu":"{}","memory":"16Gi","pods":"110"}},"conditions":[{{"type":"Ready","status":"True"}}]}}}})",
          cpu),
      "status"));
}
void SlotsLab::testbed(const std::string& name, std::string_view more, int slots_per_node,
                       std::string_view cpu) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Testbed","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"slotsPerNode":{},"nodeLabel":"tuberlin.de/tb","resourcesPerSlot":{{"cpu":"{}","memory":"6Gi"}}{}}}}})",
      name, slots_per_node, cpu, more)));
}
void SlotsLab::job(const std::string& name, std::string_view more) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"jobSpec":{{}}{}}}}})",
      name, more)));
}
void SlotsLab::queue(const std::string& name, std::string_view jobs, std::string_view more) {
  std::string entries;
  for (const char each : jobs)
    entries +=
        fmt::format(R"({}{{"name":"{}","namespace":"default"}})", entries.empty() ? "" : ",", each);
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Scheduling","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"testbed":{{"name":"tb","namespace":"default"}},"queueBased":[{}]{}}}}})",
      name, entries, more)));
}
void SlotsLab::placed(const std::string& name, std::string_view mode,
                      const std::vector<std::pair<std::string, std::vector<int>>>& jobs,
                      std::string_view more) {
  std::string entries;
  for (const auto& [each, slots] : jobs)
    entries += fmt::format(R"({}{{"name":{{"name":"{}","namespace":"default"}},"slotIds":[{}]}})",
                           entries.empty() ? "" : ",", each, fmt::join(slots, ","));
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Scheduling","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"testbed":{{"name":"tb","namespace":"default"}},"slotBased":{{"mode":"{}","jobs":[{}]}}{}}}}})",
      name, mode, entries, more)));
}

Object SlotsLab::get_testbed(const std::string& name) {
  return lab.get(kinds().testbed, {"default", name});
}
Object SlotsLab::get_job(const std::string& name) {
  return lab.get(kinds().batch_job, {"default", name});
}
Object SlotsLab::get_scheduling(const std::string& name) {
  return lab.get(kinds().scheduling, {"default", name});
}
slots::Ledger SlotsLab::ledger(const std::string& name) {
  const Object object = lab.get(kinds().ledger, {"default", name});
  return object.valid() ? slots::Ledger::parse(object).value_or(slots::Ledger()) : slots::Ledger();
}
std::vector<Object> SlotsLab::ghosts() {
  std::vector<Object> all = lab.list(kube::kPod);
  std::erase_if(all, [](const Object& pod) { return pod.label(kube::kGhostLabel) != "true"; });
  return all;
}
std::vector<Object> SlotsLab::executors() {
  std::vector<Object> all = lab.list(kube::kPod);
  std::erase_if(all, [](const Object& pod) { return pod.label(kube::kGrantLabel).empty(); });
  return all;
}
std::string SlotsLab::slot_states(const std::string& name) {
  std::vector<std::string> states;
  const Object testbed = get_testbed(name);
  for (const json::Slice slot : testbed.status()["slots"].elements())
    states.push_back(slot["state"].text());
  return fmt::format("{}", fmt::join(states, " "));
}
std::string SlotsLab::state(const std::string& scheduling) {
  const Object object = get_scheduling(scheduling);
  return object.valid() ? kube::SchedulingView(object).state() : "gone";
}
std::string SlotsLab::condition(const Object& object, std::string_view type) {
  const json::Slice found = kube::find_condition(object.status(), type);
  return found["status"].text() + " " + found["reason"].text();
}
std::string SlotsLab::running() {
  std::vector<std::string> all;
  const slots::Ledger now = ledger();
  for (const auto& [id, grant] : now.grants())
    all.push_back(fmt::format("{}{{{}}}", grant.job.name, text_of(grant.slots)));
  std::sort(all.begin(), all.end());
  return fmt::format("{}", fmt::join(all, " "));
}

}  // namespace berth::controllers::stories
