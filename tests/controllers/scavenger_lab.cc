// SPDX-License-Identifier: Apache-2.0
#include "scavenger_lab.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controllers/pods.h"
#include "controllers/registry.h"
#include "controllers/scavenger/job_builder.h"
#include "kube/node_selector.h"
#include "kube/node_view.h"
#include "kube/pod_requests.h"
#include "kube/pod_view.h"
#include "kube/time.h"
#include "policy/scavenge/victim_record.h"

namespace berth::controllers::stories {
namespace {

const kube::ScavengerKinds& kinds() { return kube::scavenger_kinds(); }
std::string node_of(const Object& pod) { return pod.member("spec")["nodeName"].text(); }
bool is_scavenger(const Object& pod) { return !pod.label(kube::kScavengerLabel).empty(); }

}  // namespace

Controllers scavenger_operator() {
  return [] {
    return *make_controllers({"scavenger-controller", "scavenger-alias-controller",
                              "scavenger-queue-controller", "scavenger-usage-controller",
                              "gromacs-controller"});
  };
}
Controllers job_keepers() {
  return [] {
    return *make_controllers({"job-controller", "garbage-collector-controller",
                              "pod-garbage-collector-controller", "taint-eviction-controller"});
  };
}

ScavengerLab::ScavengerLab(ScavengerLabOptions options, int nodes, std::string_view cpu)
    : lab({.controllers = options.controllers ? options.controllers : scavenger_operator(),
           .seed = options.seed,
           .order = options.order,
           .kill = options.kill,
           .home = options.home,
           .beside = {job_keepers()}}) {
  lab.life = [this](const Object& pod) {
    PodLife how = is_scavenger(pod) && life ? life(pod) : PodLife{};
    how.placed = false;
    if (dead.count(node_of(pod)) > 0) how.start = how.stop = 100'000h;
    return how;
  };
  auto inner = std::move(lab.server.on_commit);
  lab.server.on_commit = [this, inner = std::move(inner)](KindId kind,
                                                          const Object& object) mutable {
    check(kind, object);
    if (inner) inner(kind, object);
    if ((kind != kube::kPod && kind != kube::kNode) || pending_) return;
    pending_ = true;
    lab.world.loop("api").post([this] { place_all(); });
  };
  for (int i = 0; i < nodes; ++i) node(fmt::format("n{}", i), cpu);
}

void ScavengerLab::node(const std::string& name, std::string_view cpu) {
  ASSERT_TRUE(lab.create(
      fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}}}})", name)));
  ASSERT_TRUE(lab.patch(
      kube::kNode, {"", name},
      fmt::format(
          R"({{"status":{{"allocatable":{{"cpu":"{}","memory":"64Gi","pods":"110"}},"conditions":[{{"type":"Ready","status":"True"}}]}}}})",
          cpu),
      "status"));
}

void ScavengerLab::policy(std::string_view spec) {
  const Key key{"", "default"};
  if (lab.get(kinds().policy, key).valid()) {
    ASSERT_TRUE(lab.patch(kinds().policy, key, fmt::format(R"({{"spec":{{{}}}}})", spec)));
    return;
  }
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerPolicy","metadata":{{"name":"default"}},"spec":{{{}}}}})",
      spec)));
}

Result<Object> ScavengerLab::job(const std::string& name, std::string_view cpu,
                                 std::string_view more, const std::string& ns) {
  auto made = lab.create(fmt::format(
      R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"{}","namespace":"{}"}},"spec":{{"image":"work","resources":{{"requests":{{"cpu":"{}","memory":"1Gi"}}}}{}{}}}}})",
      name, ns, cpu, more.empty() ? "" : ",", more));
  EXPECT_TRUE(made.has_value());
  return made;
}

void ScavengerLab::pod(const std::string& name, std::string_view cpu, std::string_view more) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"containers":[{{"name":"main","image":"i","resources":{{"requests":{{"cpu":"{}","memory":"1Gi"}}}}}}]{}}}}})",
      name, cpu, more)));
}

Object ScavengerLab::get(const std::string& name, const std::string& ns) {
  return lab.get(kinds().job, {ns, name});
}
std::string ScavengerLab::condition(const std::string& name, std::string_view type) {
  const Object object = get(name);
  const json::Slice found = kube::find_condition(object.status(), type);
  return found["status"].text() + " " + found["reason"].text();
}
std::vector<Object> ScavengerLab::all_pods(const std::string& name) {
  const Object object = get(name);
  std::vector<Object> all = lab.list(kube::kPod);
  std::erase_if(
      all, [&](const Object& pod) { return pod.label(kube::kScavengerLabel) != object.uid(); });
  return all;
}
std::vector<Object> ScavengerLab::pods(const std::string& name) {
  std::vector<Object> all = all_pods(name);
  std::erase_if(all, [](const Object& pod) { return pod_ended(pod); });
  return all;
}
std::vector<Object> ScavengerLab::jobs(const std::string& name) {
  const Object object = get(name);
  std::vector<Object> all = lab.list(kube::kJob);
  std::erase_if(
      all, [&](const Object& job) { return job.label(kube::kScavengerLabel) != object.uid(); });
  return all;
}
std::vector<std::string> ScavengerLab::choices_told_to(const std::string& name) {
  std::vector<std::string> choices;
  for (const auto& [key, event] : lab.server.all(kube::kEvent))
    if (event.member("regarding")["name"].equals(name))
      if (const auto record =
              scavenge::parse_victim_record(event.annotation(scavenge::kVictimsAnnotation)))
        choices.push_back(scavenge::victim_text(*record));
  return choices;
}
std::vector<std::string> ScavengerLab::running() {
  std::vector<std::string> names;
  for (const Object& job : lab.list(kinds().job))
    if (kube::ScavengerJobView(job).phase() == kube::kScavengerRunning)
      names.emplace_back(job.name());
  return names;
}

void ScavengerLab::erase_pod(const Object& pod) {
  ASSERT_TRUE(lab.erase(kube::kPod, pod.key(), kube::Propagation::kBackground));
}
void ScavengerLab::disrupt(const Object& pod, std::string_view reason) {
  ASSERT_TRUE(lab.patch(
      kube::kPod, pod.key(),
      fmt::format(
          R"({{"status":{{"conditions":[{{"type":"DisruptionTarget","status":"True","reason":"{}","lastTransitionTime":"{}"}}]}}}})",
          reason, kube::time_text(now())),
      "status"));
  erase_pod(pod);
}
void ScavengerLab::end(const Object& pod, int exit_code, std::string_view message,
                       std::string_view reason) {
  const std::string time = kube::time_text(now());
  ASSERT_TRUE(lab.patch(
      kube::kPod, pod.key(),
      fmt::format(
          R"({{"status":{{"phase":"{}","containerStatuses":[{{"name":"main","ready":false,"restartCount":0,"image":"","imageID":"","state":{{"terminated":{{"exitCode":{},"finishedAt":"{}","startedAt":"{}","message":"{}","reason":"{}"}}}}}}]}}}})",
          exit_code == 0 ? "Succeeded" : "Failed", exit_code, time,
          pod.status()["containerStatuses"][std::size_t{0}]["state"]["running"]["startedAt"].text(),
          message, reason),
      "status"));
}
void ScavengerLab::report(const Object& pod, WallTime checkpoint) {
  ASSERT_TRUE(lab.patch(kube::kPod, pod.key(),
                        fmt::format(R"({{"metadata":{{"annotations":{{"{}":"{}"}}}}}})",
                                    kube::kCheckpointAnnotation, kube::time_text(checkpoint))));
}

static bool wanted_by(const Object& pod, const Object& node) {
  const json::Slice required = pod.member(
      "spec")["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  if (!required.is_object()) return true;
  return kube::NodeSelector::from_json(required)
      .matches(node.labels(), node.name())
      .value_or(false);
}

bool ScavengerLab::has_room(const Object& pod, const Object& node) const {
  auto wanted = kube::pod_requests(pod, {.use_status = false});
  for (const auto& [key, other] : const_cast<Lab&>(lab).server.all(kube::kPod)) {
    if (node_of(other) != node.name() || pod_ended(other)) continue;
    const auto held = kube::pod_requests(other);
    for (const auto& [name, amount] : *held)
      if (const auto sum = wanted->find(name); sum != wanted->end()) sum->second += amount;
  }
  const auto room = kube::parse_resource_list(node.status()["allocatable"], "allocatable");
  for (const auto& [name, amount] : *wanted)
    if (const auto found = room->find(name); found == room->end() || found->second < amount)
      return false;
  return true;
}

// Ordinary pods first; whoever finds no room is told so once.
void ScavengerLab::place_all() {
  pending_ = false;
  if (!places) return;
  const auto send = [this](const Object& pod, std::string patch, std::string subresource) {
    kube::ApiRequest request;
    request.verb = kube::Verb::kPatch;
    request.kind = kube::kPod;
    request.ns = pod.ns();
    request.name = pod.name();
    request.subresource = std::move(subresource);
    request.body.bytes = std::make_shared<const std::string>(std::move(patch));
    lab.server.handle(std::move(request), {});
  };
  for (const bool scavengers : {false, true})
    for (const Object& pod : lab.list(kube::kPod)) {
      if (!node_of(pod).empty() || pod.deleting() || is_scavenger(pod) != scavengers) continue;
      bool placed = false;
      for (const Object& node : lab.list(kube::kNode)) {
        const kube::NodeView view(node);
        if (!view.ready() || view.unschedulable() || dead.count(node.name()) > 0) continue;
        if (!wanted_by(pod, node) || !has_room(pod, node)) continue;
        send(pod, fmt::format(R"({{"spec":{{"nodeName":"{}"}}}})", node.name()), "");
        placed = true;
        break;
      }
      if (placed || kube::PodView(pod).condition("PodScheduled").present()) continue;
      send(
          pod,
          fmt::format(
              R"({{"status":{{"conditions":[{{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"no node has the room","lastTransitionTime":"{}"}}]}}}})",
              kube::time_text(now())),
          "status");
    }
}

// Invariants, asked of every version of every object.
void ScavengerLab::check(KindId kind, const Object& object) {
  if (kind == kube::kPod || kind == kube::kNode) note_use(object.revision());
  // The number of an attempt is written before anything of it is made.
  if (kind == kube::kJob)
    if (const auto owner = object.controller(); owner && owner->kind == "ScavengerJob") {
      const Object job = lab.get(kinds().job, {std::string(object.ns()), owner->name});
      const auto attempt = attempt_of(owner->name, object.name());
      if (job.valid() && job.uid() == owner->uid &&
          attempt.value_or(0) > kube::ScavengerJobView(job).attempt())
        wrongs.push_back(fmt::format("Job {} has no attempt", object.name()));
    }
  if (kind == kinds().job) {
    const std::string uid(object.uid());
    const auto before = last_.find(uid);
    if (before != last_.end() && checks) check_job(before->second, object);
    last_[uid] = object;
  }
  // What a pod has to tell is kept until it was heard.
  if (kind == kube::kPod && is_scavenger(object)) {
    const auto all = object.finalizers();
    const bool held = std::find(all.begin(), all.end(), kube::kAccountingFinalizer) != all.end();
    const auto owner = object.controller();
    for (const auto& [of, job] : last_) {
      if (held || !owner || of != object.label(kube::kScavengerLabel)) continue;
      const kube::ScavengerJobView view(job);
      if (view.open() && view.job_uid() == owner->uid && !job.deleting() &&
          lab.get(kinds().job, job.key()).valid() && lab.get(kube::kPod, object.key()).valid())
        wrongs.push_back(fmt::format("pod {} was let go before the verdict", object.name()));
    }
  }
  // None runs twice at once: live pods of one job have one controller.
  if (kind == kube::kPod && is_scavenger(object) && !pod_ended(object)) {
    std::set<std::string> controllers;
    for (const auto& [key, other] : lab.server.all(kube::kPod))
      if (other.label(kube::kScavengerLabel) == object.label(kube::kScavengerLabel) &&
          !pod_ended(other) && other.controller() && dead.count(node_of(other)) == 0 &&
          !other.controller()->name.ends_with("-launcher"))
        controllers.insert(other.controller()->uid);
    if (controllers.size() > 1)
      wrongs.push_back(fmt::format("{} runs twice at once", object.key().text()));
  }
}

void ScavengerLab::check_job(const Object& before, const Object& after) {
  const kube::ScavengerJobView was(before), is(after);
  const auto wrong = [&](std::string_view what) {
    wrongs.push_back(fmt::format("{}: {}", after.key().text(), what));
  };
  if (is.closed_attempt() < was.closed_attempt()) wrong("closedAttempt falls");
  if (is.attempt() < was.attempt()) wrong("attempt falls");
  if (is.attempt() > was.attempt() + 1) wrong("an attempt is skipped");
  if (is.attempt() > was.attempt() && was.open()) wrong("two attempts are open");
  const std::int64_t more = is.interrupted_count() - was.interrupted_count();
  const bool closes = is.closed_attempt() > was.closed_attempt();
  const bool interrupts = closes && is.status()["verdict"]["verdict"].equals("Interrupted");
  if (more != (interrupts ? 1 : 0)) wrong(fmt::format("count +{}", more));
  if (was.ended() && is.status().raw() != was.status().raw()) wrong("it was over");
  if (is.attempt() > was.attempt()) check_start(after);
}

void ScavengerLab::note_use(kube::Revision revision) {
  Use now{.revision = revision, .at = this->now()};
  const auto add = [](std::map<std::string, std::int64_t>& to, const kube::ResourceList& list) {
    for (const auto& [name, amount] : list) to[name] += amount.milli_value();
  };
  for (const auto& [key, node] : lab.server.all(kube::kNode)) {
    const kube::NodeView view(node);
    if (view.ready() && !view.unschedulable()) add(now.capacity, *view.allocatable());
  }
  for (const auto& [key, pod] : lab.server.all(kube::kPod)) {
    if (node_of(pod).empty()) continue;
    if (is_scavenger(pod) && pod.controller()) ++now.placed[pod.controller()->uid];
    const Object node = lab.get(kube::kNode, {"", node_of(pod)});
    if (pod_ended(pod) || !node.valid()) continue;
    const kube::NodeView view(node);
    if (view.ready() && !view.unschedulable()) add(now.used, *kube::pod_requests(pod));
  }
  uses_.push_back(std::move(now));
  while (uses_.size() > 1 && uses_.front().at + 10s < this->now()) uses_.pop_front();
}

// Use at the revision that the start was decided on, with all that was started before. Nodes are
// watched apart from pods, so what they had in the two seconds before counts.
void ScavengerLab::check_start(const Object& started) {
  const auto decided =
      static_cast<kube::Revision>(std::stoull("0" + started.status()["decidedAt"].text()));
  const Use* then = nullptr;
  std::map<std::string, std::int64_t> capacity;
  for (const Use& use : uses_) {
    if (use.revision <= decided) then = &use;
    if (use.at + 2s < now() && &use != &uses_.back()) continue;
    for (const auto& [name, amount] : use.capacity)
      capacity[name] = std::max(capacity[name], amount);
  }
  if (then == nullptr) return;
  std::map<std::string, std::int64_t> used = then->used;
  for (const auto& [uid, job] : last_) {
    const Object& now = uid == started.uid() ? started : job;
    const kube::ScavengerJobView view(now);
    if (!view.open() || !lab.get(kinds().job, now.key()).valid()) continue;
    const auto each = kube::parse_resource_list(view.spec()["resources"]["requests"], "r");
    const auto placed = then->placed.find(view.job_uid());
    const std::int64_t there =
        view.job_uid().empty() || placed == then->placed.end() ? 0 : placed->second;
    for (const auto& [name, amount] : *each)
      used[name] += amount.milli_value() * std::max<std::int64_t>(0, view.replicas() - there);
  }
  for (const char* name : {"cpu", "memory"})
    if (used[name] * 100 > capacity[name] * threshold)
      wrongs.push_back(fmt::format("{} starts above the threshold: {} of {} {}",
                                   started.key().text(), used[name], capacity[name], name));
}

std::vector<std::string> ScavengerLab::left_over() {
  std::vector<std::string> left;
  for (const Object& pod : lab.list(kube::kPod)) {
    if (!is_scavenger(pod)) continue;
    const auto finalizers = pod.finalizers();
    if (std::find(finalizers.begin(), finalizers.end(), kube::kAccountingFinalizer) !=
        finalizers.end())
      left.push_back(fmt::format("finalizer on pod {}", pod.name()));
    if (pod.deleting()) left.push_back(fmt::format("pod {}", pod.name()));
  }
  return left;
}

}  // namespace berth::controllers::stories
