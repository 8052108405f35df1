// SPDX-License-Identifier: Apache-2.0
#include "jobs_lab.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controllers/pods.h"
#include "controllers/registry.h"
#include "end_state.h"
#include "json/writer.h"
#include "kube/pod_requests.h"
#include "kube/time.h"

namespace berth::controllers::stories {
namespace {

constexpr std::string_view kApart = "apart";  // the node for all that needs no slot

bool is_ghost(const Object& pod) { return pod.label(kube::kGhostLabel) == "true"; }
std::string node_of(const Object& pod) { return pod.member("spec")["nodeName"].text(); }

}  // namespace

const std::vector<KindId>& kinds_with_applications() {
  static const std::vector<KindId> kinds = {kube::kPod,
                                            kube::kNode,
                                            kube::kNamespace,
                                            kube::kEvent,
                                            kube::kLease,
                                            kube::kPriorityClass,
                                            kube::kCustomResourceDefinition,
                                            stories::kinds().testbed,
                                            stories::kinds().batch_job,
                                            stories::kinds().scheduling,
                                            stories::kinds().ledger,
                                            kSpark};
  return kinds;
}

Controllers only(std::vector<std::string> controllers) {
  return [controllers = std::move(controllers)] { return *make_controllers(controllers); };
}
Controllers with_applications() {
  return only({"testbed-controller", "slot-allocator-controller", "scheduling-controller",
               "batchjob-controller", "spark-stand-in", "garbage-collector-controller"});
}

PodLife placed_by_the_door(const Object&) { return {.stop = 100ms, .placed = false}; }

Door::Door(Lab& lab, Fault fault, Way way) : lab_(lab), fault_(fault), way_(way) {
  EXPECT_TRUE(lab_.create(
      fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}}}})", kApart)));
  auto inner = std::move(lab_.server.on_commit);
  lab_.server.on_commit = [this, inner = std::move(inner)](KindId kind,
                                                           const Object& object) mutable {
    if (inner) inner(kind, object);
    if (kind == kube::kPod || kind == kinds().ledger || kind == kinds().batch_job) place_soon();
  };
  lab_.server_returned = [this] { place_soon(); };
}

void Door::place_soon() {
  if (std::exchange(pending_, true)) return;
  lab_.world.loop("api").post([this] { place_all(); });
}

void Door::crash() {
  Executor& api = lab_.world.loop("api");
  api.post([this, &api] {
    forget();
    if (std::exchange(down_, true)) return;
    api.at(api.clock().now() + 1s, [this] {
      down_ = false;
      place_soon();
    });
  });
}

void Door::place_all() {
  pending_ = false;
  if (down_) return;
  for (const Object& pod : lab_.list(kube::kPod))
    if (node_of(pod).empty() && !pod.deleting()) place(pod);
}

void Door::place(const Object& pod) {
  if (is_ghost(pod)) {
    if (const std::string node = wanted_node(pod); has_room(pod, node)) bind(pod, node, {});
    return;
  }
  if (pod.label(kube::kGrantLabel).empty()) return bind(pod, kApart, {});
  place_executor(pod);
}

void Door::place_executor(const Object& pod) {
  const Key testbed = slots::testbed_of(pod);
  const Object object = lab_.get(kinds().ledger, testbed);
  if (!object.valid()) return;
  slots::Ledger ledger = *slots::Ledger::parse(object);
  const auto cell = choose(pod, ledger);
  if (!cell) return;
  if (way_ == Way::kStock)
    pin(lab_.get(kinds().batch_job, ledger.find(pod.label(kube::kGrantLabel))->job), pod,
        cell->slot);
  if (fault_ != Fault::kGhostAfterBind) remove_ghost(testbed, cell->slot);
  bind(pod, cell->node, way_ == Way::kStock ? std::nullopt : std::optional(cell->slot));
  if (fault_ == Fault::kGhostAfterBind) remove_ghost(testbed, cell->slot);
}

// The lowest slot of its grant that no live pod has, while its run is not closed.
std::optional<slots::Cell> Door::choose(const Object& pod, slots::Ledger& ledger) const {
  const slots::Grant* held = ledger.find(pod.label(kube::kGrantLabel));
  if (held == nullptr) return std::nullopt;
  const Object job = lab_.get(kinds().batch_job, held->job);
  if (!job.valid() || kube::BatchJobView(job).closed_run() >= slots::run_of(held->id))
    return std::nullopt;
  std::set<int> free = held->slots;
  if (const auto order = kube::BatchJobView(job).order())
    std::erase_if(free, [&](int slot) { return order->slots.count(slot) == 0; });
  if (fault_ != Fault::kPinIgnored)
    for (const kube::Pin& pin : kube::BatchJobView(job).pins())
      if (pin.pod_uid != pod.uid()) free.erase(pin.slot);
  for (const Object& other : lab_.list(kube::kPod))
    if (const auto fact = slots::pod_fact(other);
        fact && fact->slot && !fact->ghost && slots::testbed_of(other) == slots::testbed_of(pod))
      free.erase(*fact->slot);
  for (const slots::Cell& cell : slots::cells_of(ledger.blocks, {}))
    if (lab_.get(kube::kNode, {"", std::string(cell.node)}).valid() &&
        (fault_ == Fault::kAnySlot ? held->slots.count(cell.slot) == 0 : free.count(cell.slot) > 0))
      return cell;
  return std::nullopt;
}

bool Door::has_room(const Object& pod, std::string_view node) const {
  const Object object = lab_.get(kube::kNode, {"", std::string(node)});
  if (!object.valid()) return false;
  auto wanted = kube::pod_requests(pod, {.use_status = false});
  for (const Object& other : lab_.list(kube::kPod)) {
    if (node_of(other) != node || pod_ended(other)) continue;
    const auto held = kube::pod_requests(other);
    for (const auto& [name, amount] : *held)
      if (const auto sum = wanted->find(name); sum != wanted->end()) sum->second += amount;
  }
  add_promised(pod, node, *wanted);
  const auto room = kube::parse_resource_list(object.status()["allocatable"], "allocatable");
  for (const auto& [name, amount] : *wanted)
    if (const auto found = room->find(name); found == room->end() || found->second < amount)
      return false;
  return true;
}

void Door::bind(const Object& pod, std::string_view node, std::optional<int> slot) {
  kube::ApiRequest request;
  request.verb = kube::Verb::kPatch;
  request.kind = kube::kPod;
  request.ns = pod.ns();
  request.name = pod.name();
  std::string place = fmt::format(R"("spec":{{"nodeName":"{}"}})", node);
  if (slot)
    place +=
        fmt::format(R"(,"metadata":{{"annotations":{{"{}":"{}"}}}})", kube::kSlotAnnotation, *slot);
  request.body.bytes = std::make_shared<const std::string>(fmt::format("{{{}}}", place));
  lab_.server.handle(std::move(request), {});
}

void Door::pin(const Object& job, const Object& pod, int slot) {
  json::Writer w;
  w.object().member("status").object().member("pins").array();
  for (const json::Slice each : job.status()["pins"].elements())
    if (each["slot"].integer() != slot) w.raw(each.raw());
  w.object().member("slot").integer(slot).member("podUid").string(pod.uid());
  w.member("podName").string(pod.name());
  w.member("since").string(kube::time_text(lab_.world.clock().wall())).end().end().end().end();
  kube::ApiRequest request;
  request.verb = kube::Verb::kPatch;
  request.kind = job.kind();
  request.ns = job.ns();
  request.name = job.name();
  request.subresource = "status";
  request.body.bytes = std::make_shared<const std::string>(w.take());
  lab_.server.handle(std::move(request), {});
}

void Door::remove(const Object& pod) {
  kube::ApiRequest request;
  request.verb = kube::Verb::kDelete;
  request.kind = kube::kPod;
  request.ns = pod.ns();
  request.name = pod.name();
  request.options.grace_period_seconds = 0;
  lab_.server.handle(std::move(request), {});
}

void Door::remove_ghost(const Key& testbed, int slot) {
  for (const Object& pod : lab_.list(kube::kPod)) {
    if (!is_ghost(pod) || slots::testbed_of(pod) != testbed ||
        pod.annotation(kube::kSlotAnnotation) != std::to_string(slot))
      continue;
    remove(pod);
  }
}

JobsLab::JobsLab(LabOptions options, Door::Way way)
    : SlotsLab(std::move(options)), door(lab, Door::Fault::kNone, way) {
  lab.life = &placed_by_the_door;
  testbed();
  lab.run();
}

void JobsLab::spark(const std::string& name, std::string_view notes, std::string_view more) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"sparkSpec":{{"driver":{{"annotations":{{{}}}}}}}{}}}}})",
      name, notes, more)));
}
std::string JobsLab::job_state(const std::string& name) {
  return get_job(name).status()["state"].text();
}
std::vector<std::string> JobsLab::history(const std::string& name) {
  std::vector<std::string> runs;
  const Object job = get_job(name);
  for (const json::Slice run : job.status()["scheduledEvents"].elements())
    runs.push_back(fmt::format("{} {} {}", *run["run"].integer(), run["scheduling"].text(),
                               run["successful"].boolean() ? "ok" : "not"));
  return runs;
}

}  // namespace berth::controllers::stories
