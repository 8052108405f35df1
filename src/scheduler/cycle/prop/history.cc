// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cycle/prop/history.h"

#include <algorithm>

#include <fmt/format.h>

#include "scheduler/cache/owner_state.h"
#include "scheduler/cache/storage_state.h"
#include "scheduler/plugins/registry.h"

namespace berth::scheduler::test {
namespace {

const std::vector<std::string> kApps = {"a", "b", "c"};
const std::vector<std::string> kZones = {"z1", "z2", "z3", "z4"};
const std::vector<std::string> kSpaces = {"default", "red", "blue"};
const std::vector<std::string> kImages = {"registry.example/main:1", "registry.example/big:2",
                                          "registry.example/other:3"};
constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHost = "kubernetes.io/hostname";

kube::Object object(kube::KindId kind, const std::string& json) {
  Result<kube::Object> made = kube::Object::parse(kind, json);
  BERTH_CHECK(made.has_value(), made ? std::string() : made.error().message);
  return *std::move(made);
}

// kube-scheduler's way: container/heap's Init over the feasible nodes, then its first element.
std::uint32_t literal_winner(const std::vector<std::int64_t>& totals) {
  std::vector<std::uint32_t> heap(totals.size());
  for (std::uint32_t i = 0; i < heap.size(); ++i) heap[i] = i;
  const auto less = [&](std::size_t a, std::size_t b) { return totals[heap[a]] > totals[heap[b]]; };
  const std::size_t n = heap.size();
  for (std::size_t start = n / 2; start-- > 0;)
    for (std::size_t i = start;;) {
      const std::size_t left = 2 * i + 1;
      if (left >= n) break;
      std::size_t child = left;
      if (left + 1 < n && less(left + 1, left)) child = left + 1;
      if (!less(child, i)) break;
      std::swap(heap[i], heap[child]);
      i = child;
    }
  return heap[0];
}

}  // namespace

History::History(std::uint64_t seed) : random_(seed) {
  profile_ = std::make_unique<Profile>(default_profile(), all_plugins(), reasons_, nullptr);
  for (const std::string& ns : kSpaces) cluster_.put_namespace(ns, std::make_shared<Labels>());
  const std::uint64_t size = random_.chance(0.4)   ? 1 + random_.below(10)
                             : random_.chance(0.6) ? 60 + random_.below(9)
                                                   : 1 + random_.below(200);
  while (nodes_.size() < size) {
    nodes_.push_back(fmt::format("n{}", ++names_));
    cluster_.put_node(make_node(nodes_.back()));
  }
  const DecideMode mode = random_.chance(0.7) ? DecideMode::kCachedCold : DecideMode::kCached;
  DeciderSpec spec{.mode = mode};
  if (random_.chance(0.2)) spec.cache_bytes = 20000;
  fast_ = std::make_unique<Decider>(*profile_, cluster_, reasons_, &promises_, fast_start_, spec);
  plain_ = std::make_unique<Decider>(*profile_, cluster_, reasons_, &promises_, plain_start_);
  const std::uint64_t shapes = 10 + random_.below(41);
  for (std::size_t i = 0; i < shapes; ++i) shapes_.push_back(make_template(i));
}

std::string History::run(int steps) {
  for (int i = 0; i < steps; ++i)
    if (std::string wrong = step(); !wrong.empty()) return fmt::format("step {}: {}", i, wrong);
  cluster_.begin_cycle();
  if (std::string wrong = cluster_.recount(); !wrong.empty()) return "recount: " + wrong;
  return {};
}

std::string History::step() {
  if (random_.chance(0.55)) return decide(random_.chance(0.7));
  return change();
}

std::string History::change() {
  const std::uint64_t what = random_.below(20);
  if (what < 8)
    change_pod();
  else if (what < 14)
    change_node();
  else if (what < 18)
    change_world();
  else
    return trial();
  return {};
}

NodePtr History::make_node(const std::string& name) {
  NodeBuilder made = test::node(name);
  if (random_.chance(0.08))
    made.metadata(R"({"labels":{"kubernetes.io/hostname":null}})");
  else if (random_.chance(0.04))
    made.label(kHost, "shared");
  if (random_.chance(0.9)) made.zone(any(kZones));
  if (random_.chance(0.3)) made.label("disk", "ssd");
  if (random_.chance(0.4)) made.label("rack", random_.chance(0.5) ? name : "r1");
  if (random_.chance(0.15)) made.taint("dedicated", "x");
  if (random_.chance(0.15)) made.taint("soft", "", "PreferNoSchedule");
  if (random_.chance(0.05)) made.unschedulable();
  made.cpu(std::to_string(1 + random_.below(3) * 2));
  made.memory(fmt::format("{}Gi", 2 << random_.below(3)));
  made.pods(static_cast<int>(3 + random_.below(8)));
  if (random_.chance(0.2)) made.allocatable("example.com/gpu", "4");
  for (const std::string& image : kImages)
    if (random_.chance(0.3))
      made.image(image, static_cast<std::int64_t>(1 + random_.below(900)) << 20);
  return made.compile();
}

PodPtr History::make_template(std::size_t number) {
  PodBuilder made = test::pod(fmt::format("t{}", number));
  made.ns(random_.chance(0.7) ? "default" : any(kSpaces));
  if (random_.chance(0.9)) made.label("app", any(kApps));
  if (random_.chance(0.3)) made.label("tier", "x");
  if (random_.chance(0.8)) made.cpu(fmt::format("{}m", 50 * (1 + random_.below(8))));
  if (random_.chance(0.8)) made.memory(fmt::format("{}Mi", 64 * (1 + random_.below(6))));
  made.image(any(kImages));
  if (random_.chance(0.1)) made.request("example.com/gpu", "1");
  if (random_.chance(0.1)) made.host_port(static_cast<int>(8000 + random_.below(2)));
  if (random_.chance(0.3)) made.toleration("dedicated");
  if (random_.chance(0.15)) made.node_selector("disk", "ssd");
  if (random_.chance(0.2)) made.preferred_node(10, kZone, {"z1", "z2"});
  if (random_.chance(0.3)) made.priority(static_cast<std::int32_t>(random_.below(3)));
  if (random_.chance(0.2)) made.spread(1, kZone, true, "app", any(kApps));
  if (random_.chance(0.1)) made.spread(2, kHost, true, "app", any(kApps));
  if (random_.chance(0.1)) made.spread(1, "rack", false, "app", any(kApps));
  if (random_.chance(0.2)) made.apart(kHost, "app", any(kApps));
  if (random_.chance(0.1)) made.apart(kZone, "tier", "x");
  if (random_.chance(0.1)) made.near(kZone, "app", any(kApps));
  if (random_.chance(0.15)) made.near(kZone, "app", any(kApps), 20);
  if (random_.chance(0.15)) made.apart("rack", "app", any(kApps), 30);
  if (random_.chance(0.05)) made.claim("data");
  if (random_.chance(0.05))
    made.spec(fmt::format(
        R"({{"affinity":{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{{"matchFields":[{{"key":"metadata.name","operator":"In","values":["{}"]}}]}}]}}}}}}}})",
        any_node()));
  return made.compile();
}

PodPtr History::pod_of(std::size_t shape) {
  auto pod = std::make_shared<Pod>(*shapes_[shape]);
  pod->name = pod->uid = fmt::format("p{}", ++names_);
  return pod;
}

std::string History::any_node() { return nodes_.empty() ? "nowhere" : any(nodes_); }

std::string History::compare(const Decision& fast, const Decision& plain) const {
  if (fast.status.code != plain.status.code) return "another status";
  if (fast.node != plain.node) return fmt::format("node {} instead of {}", fast.node, plain.node);
  if (fast.feasible != plain.feasible) return "other feasible nodes";
  if (fast.feasible_count != plain.feasible_count) return "another count of feasible nodes";
  if (plain.feasible.size() > 1 && fast.total != plain.total)
    return fmt::format("total {} instead of {}", fast.total, plain.total);
  if (fast.evaluated != plain.evaluated) return "another count of nodes looked at";
  if (fast_start_.next != plain_start_.next) return "another place to begin next";
  if (!plain.status.ok() && (fast.diagnosis.by_row != plain.diagnosis.by_row ||
                             fast.diagnosis.unschedulable != plain.diagnosis.unschedulable))
    return "another diagnosis";
  if (plain.totals.size() > 1 && plain.feasible[literal_winner(plain.totals)] != plain.row)
    return "not the heap's winner";
  return {};
}

std::string History::decide(bool keep) {
  if (!random_.chance(0.3)) last_shape_ = random_.below(shapes_.size());
  PodPtr pod = pod_of(last_shape_);
  if (random_.chance(0.03)) {
    auto promised = std::make_shared<Pod>(*pod);
    promised->nominated_node_name = any_node();
    pod = promised;
  }
  if (random_.chance(0.05) && !nodes_.empty())
    fast_start_.next = plain_start_.next = static_cast<std::uint32_t>(random_.below(nodes_.size()));
  const Decision fast = fast_->decide(pod, {.feasible = true});
  const Decision plain = plain_->decide(pod);
  if (std::string wrong = compare(fast, plain); !wrong.empty())
    return fmt::format("pod {} of shape {}: {}", pod->name, last_shape_, wrong);
  if (fast.cached && random_.chance(0.3))
    if (std::string wrong = fast_->fast_path().check(fast); !wrong.empty())
      return fmt::format("cache of shape {}: {}", last_shape_, wrong);
  if (!fast.status.ok() || !keep) return {};
  auto placed = std::make_shared<Pod>(*pod);
  placed->node_name = fast.node;
  placed->nominated_node_name.clear();
  cluster_.assume_pod(placed);
  placed_.push_back(placed->uid);
  return {};
}

void History::change_pod() {
  if (placed_.empty() || random_.chance(0.1)) {  // somebody else's
    auto pod = std::make_shared<Pod>(*pod_of(random_.below(shapes_.size())));
    pod->node_name = random_.chance(0.95) ? any_node() : "nowhere";
    cluster_.add_pod(pod);
    placed_.push_back(pod->uid);
    return;
  }
  const std::size_t at = random_.below(placed_.size());
  const std::string uid = placed_[at];
  const auto gone = [&] { placed_.erase(placed_.begin() + static_cast<std::ptrdiff_t>(at)); };
  auto pod = std::make_shared<Pod>(*cluster_.pod(uid));
  switch (random_.below(7)) {
    case 0:
      cluster_.add_pod(pod);  // bound
      return;
    case 1:
      if (cluster_.forget_pod(uid)) gone();
      return;
    case 2:
    case 3:
      cluster_.remove_pod(uid);
      return gone();
    case 4: {  // relabelled
      const PodPtr other = shapes_[random_.below(shapes_.size())];
      pod->labels = other->labels;
      break;
    }
    case 5:
      pod->deleting = true;
      break;
    default: {  // resized
      auto resized = std::make_shared<Resources>(pod->spec->used);
      resized->millicores += 50;
      pod->resized = resized;
      pod->resized_nonzero_millicores = resized->millicores;
      pod->resized_nonzero_memory = pod->spec->used_nonzero_memory;
    }
  }
  cluster_.update_pod(pod);
}

void History::change_node() {
  const std::uint64_t what = random_.below(10);
  if (what < 2 || nodes_.empty()) {
    nodes_.push_back(fmt::format("n{}", ++names_));
    cluster_.put_node(make_node(nodes_.back()));
  }
  if (what < 3 && nodes_.size() > 1) {
    const std::size_t at = random_.below(nodes_.size());
    cluster_.remove_node(nodes_[at]);
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  if (what >= 3) cluster_.put_node(make_node(any(nodes_)));  // all that can change, changes
}

void History::change_world() {
  switch (random_.below(6)) {
    case 0: {
      std::vector<Labels::Pair> labels;
      if (random_.chance(0.5)) labels = {{"team", random_.chance(0.5) ? "red" : "blue"}};
      return cluster_.put_namespace(any(kSpaces), std::make_shared<Labels>(labels));
    }
    case 1: {
      const kube::Object service = object(
          kube::kService,
          fmt::format(
              R"({{"metadata":{{"name":"s","namespace":"{}"}},"spec":{{"selector":{{"app":"{}"}}}}}})",
              any(kSpaces), any(kApps)));
      return random_.chance(0.6) ? cluster_.owners().put(service)
                                 : cluster_.owners().remove(service);
    }
    case 2:
      return promises_.clear();
    case 3: {
      auto pod = std::make_shared<Pod>(*pod_of(random_.below(shapes_.size())));
      pod->nominated_node_name = any_node();
      return promises_.add(pod);
    }
    case 4: {
      const kube::Object claim = object(
          kube::kPersistentVolumeClaim,
          fmt::format(
              R"({{"metadata":{{"name":"data","namespace":"{}","uid":"c","annotations":{{"pv.kubernetes.io/bind-completed":"yes"}}}},"spec":{{"volumeName":"v","accessModes":["ReadWriteOnce"]}},"status":{{"phase":"Bound"}}}})",
              any(kSpaces)));
      return random_.chance(0.7) ? cluster_.storage().put(claim) : cluster_.storage().remove(claim);
    }
    default: {
      const kube::Object volume = object(
          kube::kPersistentVolume,
          fmt::format(
              R"({{"metadata":{{"name":"v","labels":{{"{}":"{}"}}}},"spec":{{"capacity":{{"storage":"1Gi"}},"accessModes":["ReadWriteOnce"]}}}})",
              kZone, any(kZones)));
      return random_.chance(0.7) ? cluster_.storage().put(volume)
                                 : cluster_.storage().remove(volume);
    }
  }
}

std::string History::trial() {
  Trial trial(cluster_);
  const std::size_t shape = random_.below(shapes_.size());
  std::vector<std::string> members;
  for (std::uint64_t n = 1 + random_.below(5); n > 0; --n) {
    if (random_.chance(0.2) && !placed_.empty()) {
      const std::string uid = any(placed_);
      if (trial.evict(uid)) std::erase(placed_, uid), members.push_back(uid);
    }
    const PodPtr pod = pod_of(shape);
    const Decision fast = fast_->decide(pod, {.feasible = true});
    const Decision plain = plain_->decide(pod);
    if (std::string wrong = compare(fast, plain); !wrong.empty()) return "in a trial: " + wrong;
    if (!fast.status.ok()) continue;
    auto placed = std::make_shared<Pod>(*pod);
    placed->node_name = fast.node;
    trial.place(placed);
  }
  if (random_.chance(0.5)) {
    trial.commit();
  } else {
    trial.undo_to(0);
    placed_.insert(placed_.end(), members.begin(), members.end());
  }
  return {};
}

}  // namespace berth::scheduler::test
