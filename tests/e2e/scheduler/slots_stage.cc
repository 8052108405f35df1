// SPDX-License-Identifier: Apache-2.0
#include "slots_stage.h"

#include <algorithm>
#include <map>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "kube/pod_view.h"
#include "policy/slots/facts.h"
#include "real.h"

namespace berth::e2e {

using kube::Object;

namespace {

std::string object(std::string_view kind, std::string_view name, std::string_view spec) {
  return fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"{}","metadata":{{"name":"{}","namespace":"default"}},"spec":{{{}}}}})",
      kind, name, spec);
}
kube::Key key_of(kube::KindId kind, const std::string& name) {
  return {kind == kube::kNode ? "" : "default", name};
}
constexpr const char* kSecondName = "external-scheduler";
Subject subject_of(SlotsDoor door) {
  return door == SlotsDoor::kPlugin ? Subject::kBerth : Subject::kStock;
}

}  // namespace

Cluster::Options slots_cluster(std::vector<std::string> controllers) {
  return {.controllers = std::move(controllers),
          .without_admission =
              "TaintNodesByCondition,DefaultTolerationSeconds,"
              "StorageObjectInUseProtection,RuntimeClass"};
}

SlotsStage::SlotsStage(Cluster& cluster, SlotsDoor door) : cluster_(cluster), door_(door) {
  for (const std::string& manifest : kube::our_first_objects()) create(manifest);
  for (const kube::KindSpec& kind : kube::our_kinds())
    until(kind.crd_name(), [&] {
      const auto now = admin().get(kube::kCustomResourceDefinition, {"", kind.crd_name()});
      return now && kube::find_condition(now->status(), "Established")["status"].equals("True");
    });
  nodes();
  run_controllers();
  config_ = door != SlotsDoor::kPlugin
                ? extender()
                : "profiles:\n- schedulerName: default-scheduler\n  plugins:\n"
                  "    multiPoint: {enabled: [{name: Slots}]}\n"
                  "    postFilter: {enabled: [{name: Slots}]}\n"
                  "    bind: {enabled: [{name: Slots}]}\n";
  restart_scheduler();
}

void SlotsStage::restart_scheduler() {
  if (door_ == SlotsDoor::kSecondScheduler && !other_scheduler_) {
    auto other = cluster_.start_scheduler(Subject::kStock);
    ASSERT_TRUE(other) << other.error().message;
    other_scheduler_ = *std::move(other);
  }
  scheduler_.reset();
  auto scheduler = cluster_.start_scheduler(subject_of(door_), {.config = config_});
  ASSERT_TRUE(scheduler) << scheduler.error().message;
  scheduler_ = *std::move(scheduler);
}

void SlotsStage::run_controllers(int replicas) {
  for (const auto& child : controllers_) {
    child->signal(SIGKILL);
    EXPECT_TRUE(child->wait(std::chrono::seconds(30)));
  }
  controllers_.clear();
  std::vector<std::string> args = {"controllers",
                                   "--kubeconfig",
                                   kubeconfig(),
                                   "--leader-elect",
                                   replicas > 1 ? "true" : "false",
                                   "--secure-port",
                                   "0"};
  if (door_ == SlotsDoor::kManagedResource) args.push_back("--slot-resource");
  if (door_ == SlotsDoor::kSecondScheduler)
    args.insert(args.end(), {"--executor-scheduler", kSecondName});
  for (int i = 0; i < replicas; ++i) controllers_.push_back(program("controllers", args));
}
void SlotsStage::kill_leader() {
  const auto leads = [](const std::unique_ptr<Child>& child) {
    return child->log().find("controllers start") != std::string::npos;
  };
  auto leader = controllers_.end();
  until("a replica leads", [&] {
    leader = std::find_if(controllers_.begin(), controllers_.end(), leads);
    return leader != controllers_.end();
  });
  if (leader == controllers_.end()) return;
  (*leader)->signal(SIGKILL);
  EXPECT_TRUE((*leader)->wait(std::chrono::seconds(30)));
  controllers_.erase(leader);
}

void SlotsStage::nodes() {
  for (int i = 0; i < 3; ++i) node(fmt::format("node-{}", i), std::to_string(i));
}
void SlotsStage::node(const std::string& name, const std::string& label) {
  create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}","labels":{{"tuberlin.de/tb":"{}"}}}},"status":{{"capacity":{{"cpu":"4","memory":"16Gi","pods":"110"}},"allocatable":{{"cpu":"4","memory":"16Gi","pods":"110"}},"conditions":[{{"type":"Ready","status":"True","reason":"x","message":"x"}}]}}}})",
      name, label));
}
void SlotsStage::testbed(std::string_view more, int slots_per_node, std::string_view cpu,
                         const std::string& name, std::string_view label) {
  create(object(
      "Testbed", name,
      fmt::format(
          R"("slotsPerNode":{},"nodeLabel":"{}","resourcesPerSlot":{{"cpu":"{}","memory":"2Gi"}}{})",
          slots_per_node, label, cpu, more)));
}
void SlotsStage::job(const std::string& name, std::string_view more) {
  create(object(
      "BatchJob", name,
      fmt::format(
          R"("jobSpec":{{"template":{{"spec":{{"terminationGracePeriodSeconds":0,"containers":[{{"name":"c","image":"i"}}]}}}}}}{})",
          more)));
}
void SlotsStage::queue(const std::string& name, std::string_view jobs, std::string_view testbed) {
  std::string entries;
  for (const char each : jobs)
    entries +=
        fmt::format(R"({}{{"name":"{}","namespace":"default"}})", entries.empty() ? "" : ",", each);
  create(object("Scheduling", name,
                fmt::format(R"("testbed":{{"name":"{}","namespace":"default"}},"queueBased":[{}])",
                            testbed, entries)));
}
void SlotsStage::placed(const std::string& name, std::string_view mode,
                        const std::vector<std::pair<std::string, std::vector<int>>>& jobs) {
  std::string all;
  for (const auto& [each, slots] : jobs)
    all += fmt::format(R"({}{{"name":{{"name":"{}","namespace":"default"}},"slotIds":[{}]}})",
                       all.empty() ? "" : ",", each, fmt::join(slots, ","));
  create(object(
      "Scheduling", name,
      fmt::format(
          R"("testbed":{{"name":"tb","namespace":"default"}},"slotBased":{{"mode":"{}","jobs":[{}]}})",
          mode, all)));
}
void SlotsStage::pod(const std::string& name, std::string_view cpu, std::string_view more) {
  create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"terminationGracePeriodSeconds":0,"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{}"}}}}}}]{}}}}})",
      name, cpu, more));
}
void SlotsStage::executor(const std::string& name, const std::string& job, std::string_view more) {
  const bool asks = door_ == SlotsDoor::kManagedResource;
  create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default","labels":{{"{}":"tb","{}":"{}"}}}},"spec":{{"priorityClassName":"berth-executor","terminationGracePeriodSeconds":0,"schedulerName":"{}","containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"750m","memory":"2Gi"{}}}{}}}}}]{}}}}})",
      name, kube::kTestbedLabel, kube::kGrantLabel, grant_of(job),
      door_ == SlotsDoor::kSecondScheduler ? kSecondName : "default-scheduler",
      asks ? R"(,"berth.dev/slot":"1")" : "", asks ? R"(,"limits":{"berth.dev/slot":"1"})" : "",
      more));
}

void SlotsStage::finish(const std::string& job) {
  bool seen = false;  // slots are granted before there are pods
  until("executors of " + job + " end", [&] {
    bool any = false;
    for (const Object& pod : executors()) {
      if (pod.label("batch.kubernetes.io/job-name") != job) continue;
      any = seen = true;
      if (!pod.status()["phase"].equals("Running")) continue;
      admin().patch(
          kube::kPod, pod.key(),
          R"({"status":{"phase":"Succeeded","containerStatuses":[{"name":"c","image":"i","imageID":"","restartCount":0,"ready":false,"state":{"terminated":{"exitCode":0}}}]}})",
          kube::PatchType::kStrategic, "status");
    }
    return seen && !any;
  });
}

void SlotsStage::clear() {
  if (controllers_.size() != 1) run_controllers();  // what goes, goes by their hands
  for (const kube::KindId kind :
       {slot_kinds().scheduling, slot_kinds().batch_job, slot_kinds().testbed}) {
    const auto there = [&] {
      const auto all = admin().list_all(kind, "default");
      return all ? all->items : std::vector<Object>();
    };
    for (const Object& each : there()) admin().erase(kind, each.key());
    until(fmt::format("{} are gone", kube::kind_of(kind).plural), [&] { return there().empty(); });
  }
  cluster_.wipe();
  until("pods are gone", [&] { return pods().empty(); });
  nodes();
}

void SlotsStage::create(const std::string& json) {
  const auto object = Object::parse(json);
  ASSERT_TRUE(object) << object.error().message;
  const auto made = admin().create(object->kind(), std::string(object->ns()), json);
  ASSERT_TRUE(made || made.error().reason == Reason::kAlreadyExists)
      << json << ": " << made.error().message;
}
void SlotsStage::patch(kube::KindId kind, const std::string& name, std::string merge_patch,
                       std::string subresource) {
  const auto done = admin().patch(kind, key_of(kind, name), std::move(merge_patch),
                                  kube::PatchType::kMerge, std::move(subresource));
  ASSERT_TRUE(done) << done.error().message;
}
void SlotsStage::erase(kube::KindId kind, const std::string& name) {
  const auto done = admin().erase(kind, key_of(kind, name));
  // Controllers may have been faster.
  ASSERT_TRUE(done || done.error().reason == Reason::kNotFound) << done.error().message;
}
Object SlotsStage::get(kube::KindId kind, const std::string& name) {
  const auto found = admin().get(kind, key_of(kind, name));
  return found ? *found : Object();
}

std::vector<Object> SlotsStage::pods() {
  auto all = admin().list_all(kube::kPod, "default");
  return all ? all->items : std::vector<Object>();
}
std::vector<Object> SlotsStage::executors() {
  std::vector<Object> all = pods();
  std::erase_if(all, [](const Object& pod) {
    return pod.label(kube::kGrantLabel).empty() || kube::PodView(pod).finished();
  });
  return all;
}
std::vector<Object> SlotsStage::ghosts(bool bound) {
  std::vector<Object> all = pods();
  std::erase_if(all, [&](const Object& pod) {
    return pod.label(kube::kGhostLabel) != "true" || pod.deleting() ||
           (bound && kube::PodView(pod).node_name().empty());
  });
  return all;
}
std::string SlotsStage::grant_of(const std::string& job) {
  std::string grant;
  until(job + " has slots and a run", [&] {
    const Object object = get(slot_kinds().ledger, "tb");
    const auto ledger = object.valid() ? slots::Ledger::parse(object) : slots::Ledger();
    if (ledger)
      for (const slots::Grant* each : ledger->of_job({"default", job})) grant = each->id;
    const Object now = get(slot_kinds().batch_job, job);
    return !grant.empty() && now.valid() && kube::BatchJobView(now).open();
  });
  return grant;
}
std::string SlotsStage::slot_states(const std::string& testbed) {
  std::map<std::int64_t, std::string> all;
  const Object object = get(slot_kinds().testbed, testbed);
  if (object.valid())
    for (const json::Slice slot : object.status()["slots"].elements())
      all[slot["position"].integer().value_or(-1)] = slot["state"].text();
  std::vector<std::string> states;
  for (const auto& [position, state] : all) states.push_back(state);
  return fmt::format("{}", fmt::join(states, " "));
}
std::string SlotsStage::state(const std::string& scheduling) {
  const Object object = get(slot_kinds().scheduling, scheduling);
  return object.valid() ? object.status()["state"].text() : "gone";
}
std::string SlotsStage::job_state(const std::string& job) {
  const Object object = get(slot_kinds().batch_job, job);
  return object.valid() ? object.status()["state"].text() : "gone";
}
std::string SlotsStage::condition(kube::KindId kind, const std::string& name,
                                  std::string_view type) {
  const Object object = get(kind, name);
  if (!object.valid()) return "gone";
  const json::Slice found = kube::find_condition(object.status(), type);
  return found["status"].text() + " " + found["reason"].text();
}
std::vector<std::string> SlotsStage::history(const std::string& job) {
  std::vector<std::string> all;
  const Object object = get(slot_kinds().batch_job, job);
  if (!object.valid()) return all;
  for (const json::Slice run : object.status()["scheduledEvents"].elements())
    all.push_back(fmt::format("{} {} {}", run["run"].integer().value_or(0),
                              run["scheduling"].text(),
                              run["successful"].boolean() ? "ok" : "not"));
  return all;
}
std::string SlotsStage::running() {
  const Object object = get(slot_kinds().ledger, "tb");
  const auto ledger = object.valid() ? slots::Ledger::parse(object) : slots::Ledger();
  std::map<std::string, std::string> all;
  if (ledger)
    for (const auto& [id, grant] : ledger->grants())
      all[grant.job.name] = fmt::format("{}{{{}}}", grant.job.name, fmt::join(grant.slots, ","));
  std::vector<std::string> texts;
  for (const auto& [name, text] : all) texts.push_back(text);
  return fmt::format("{}", fmt::join(texts, " "));
}

std::multiset<std::string> SlotsStage::placement() {
  // Pods before promises: a slot is promised before its pod is bound.
  const std::vector<Object> pods = executors();
  std::map<std::string, int> pinned;
  if (const auto jobs = admin().list_all(slot_kinds().batch_job, "default"))
    for (const Object& job : jobs->items)
      for (const kube::Pin& pin : kube::BatchJobView(job).pins()) pinned[pin.pod_uid] = pin.slot;
  std::multiset<std::string> all;
  for (const Object& pod : pods) {
    const auto fact = slots::pod_fact(pod);
    if (!fact || fact->node.empty()) continue;
    const auto pin = pinned.find(fact->uid);
    const int slot = fact->slot ? *fact->slot : pin == pinned.end() ? -1 : pin->second;
    all.insert(fmt::format("{}: slot {} on {}", pod.label("batch.kubernetes.io/job-name"), slot,
                           fact->node));
  }
  return all;
}
std::multiset<std::string> SlotsStage::placement_of(std::size_t executors) {
  std::multiset<std::string> placed;
  until(fmt::format("{} executors have a node", executors),
        [&] { return (placed = placement()).size() == executors; });
  return placed;
}
std::vector<std::string> SlotsStage::events_of(std::string_view name, std::string_view reason) {
  std::vector<std::string> notes;
  const auto all = admin().list_all(kube::kEvent, "default");
  if (!all) return notes;
  for (const Object& event : all->items) {
    const std::string about = event.member("regarding")["name"].text();
    const std::string other = event.member("involvedObject")["name"].text();
    if ((about == name || other == name) && event.member("reason").equals(reason))
      notes.push_back(event.member("note").text() + event.member("message").text());
  }
  return notes;
}

std::string SlotsStage::kubectl(std::vector<std::string> args) {
  args.insert(args.begin(), "--kubeconfig=" + kubeconfig());
  const auto ran = run_kubectl(args, cluster_.plane().folder(), std::chrono::seconds(180));
  EXPECT_TRUE(ran && ran->code == 0) << fmt::format("{}", fmt::join(args, " ")) << ": "
                                     << (ran ? ran->output : ran.error().message);
  return ran ? ran->output : "";
}

std::string SlotsStage::log_tails() {
  std::string all = cluster_.log_tails();
  const auto add = [&](const std::unique_ptr<Child>& child) {
    if (child) all += child->name() + ":\n" + child->log_tail(15) + "\n";
  };
  for (const auto& child : controllers_) add(child);
  for (const auto* child : {&extender_, &scheduler_, &other_scheduler_}) add(*child);
  return all;
}
void SlotsStage::until(const std::string& what, const std::function<bool()>& holds) {
  EXPECT_TRUE(eventually(kSlotPatience, [&] { return holds(); }))
      << name_of(subject_of(door_)) << ": " << what << "\n"
      << log_tails();
}

std::unique_ptr<Child> SlotsStage::program(const std::string& name, std::vector<std::string> args) {
  auto child = Child::start(
      {.program = BERTH_BERTH,
       .args = std::move(args),
       .env = {},
       .log = cluster_.plane().folder().path() / fmt::format("{}-{}.log", name, ++started_)});
  EXPECT_TRUE(child) << child.error().message;
  return *std::move(child);
}
// What `berth extender` prints is what kube-scheduler is told.
std::string SlotsStage::extender() {
  extender_ = program("extender", {"extender", "--kubeconfig", kubeconfig(), "--port", "0"});
  std::smatch found;
  std::string text;
  until("the extender listens", [&] {
    text = extender_->log();
    return std::regex_search(text, found, std::regex("http://[0-9.]+:([0-9]+)/slots"));
  });
  if (found.empty()) return "";
  extender_port_ = static_cast<std::uint16_t>(std::stoi(found[1]));
  std::vector<std::string> args = {"extender", "--print", "scheduler-config", "--url", found.str()};
  if (door_ == SlotsDoor::kManagedResource) args.push_back("--managed-resource");
  if (door_ == SlotsDoor::kSecondScheduler)
    args.insert(args.end(), {"--scheduler-name", kSecondName});
  const auto printing = program("print", std::move(args));
  EXPECT_TRUE(printing->wait(std::chrono::seconds(30)));
  const std::string printed = printing->log();
  const std::size_t profiles = printed.find("profiles:");
  return printed.substr(profiles != printed.npos ? profiles : printed.find("extenders:"));
}

std::uint64_t SlotsStage::filters_asked() {
  const auto page = exchange(admin().loop(), {.origin = {false, "127.0.0.1", extender_port_}},
                             {.method = "GET", .target = "/metrics"});
  EXPECT_TRUE(page) << page.error().message;
  static const std::regex kAsked(
      R"(berth_extender_requests_total\{[^}]*verb="filter"[^}]*\} ([0-9]+))");
  std::smatch found;
  return page && std::regex_search(*page, found, kAsked) ? std::stoull(found[1]) : 0;
}

}  // namespace berth::e2e
