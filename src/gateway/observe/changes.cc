// SPDX-License-Identifier: Apache-2.0
#include "gateway/observe/changes.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "gateway/observe/trial_pod.h"
#include "json/patch.h"
#include "json/writer.h"
#include "kube/quantity.h"

namespace berth::gateway {
namespace {

using scheduler::ClusterState;
using scheduler::Node;
using scheduler::NodeId;
using scheduler::Pod;

constexpr std::size_t kNamed = 3;
constexpr std::int64_t kMi = 1 << 20;

std::string cores(std::int64_t millicores) {
  std::string text = fmt::format("{:.2f}", static_cast<double>(millicores) / 1000);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}
std::string counted_cores(std::int64_t millicores) {
  return cores(millicores) + (millicores == 1000 ? " core" : " cores");
}
std::string bytes(std::int64_t amount) {
  const double mi = static_cast<double>(amount) / static_cast<double>(kMi);
  return mi < 1000 ? fmt::format("{:.0f} MiB", mi) : fmt::format("{:.1f} GiB", mi / 1024);
}

class Search {
 public:
  Search(const scheduler::Judgement& judgement, const Verdicts& verdicts, const kube::Object& pod,
         scheduler::Case& problem)
      : judgement_(judgement),
        verdicts_(verdicts),
        spec_(pod.member("spec")),
        pod_(*problem.pending),
        rows_(problem.cluster->size()),
        trial_(judgement, pod, problem) {}

  std::vector<Change> run() {
    ask_less("cpu");
    ask_less("memory");
    tolerate();
    uncordon();
    loosen_spread();
    forget_selector();
    forget_neighbours();
    wait_for_one();
    one_more_node();
    return std::move(found_);
  }

 private:
  bool full() const { return found_.size() >= kMostChanges; }
  ClusterState& cluster() { return trial_.cluster(); }
  NodeId id_of(std::uint32_t row) const { return ids_[row]; }

  void keep(Change change, std::vector<std::string> fits) {
    if (fits.empty() || full()) return;
    change.fits_on = static_cast<std::uint32_t>(fits.size());
    fits.resize(std::min(fits.size(), kNamed));
    change.fits = std::move(fits);
    found_.push_back(std::move(change));
  }
  void try_patch(Change change, const std::string& operations) {
    if (full()) return;
    if (auto fits = trial_.fits_with(operations)) {
      if (change.patch.empty() && !fits->empty()) change.patch = template_patch();
      keep(std::move(change), *std::move(fits));
    }
  }
  // Of the pod's spec, as a merge patch.
  std::string template_patch() const {
    const auto patch = json::merge_patch_between(
        fmt::format(R"({{"spec":{}}})", spec_.raw()),
        fmt::format(R"({{"spec":{}}})", json::Slice(trial_.patched())["spec"].raw()));
    return patch.value_or("");
  }

  std::int64_t asked(std::string_view resource) const { return pod_.spec->asked.of(resource); }
  std::int64_t free(std::string_view resource, std::uint32_t row) {
    const scheduler::NodeSums& sums = cluster().sums(id_of(row));
    const scheduler::Resources& has = cluster().node(id_of(row)).allocatable;
    return resource == "cpu" ? has.millicores - sums.millicores : has.memory - sums.memory;
  }

  // The most that some node has free of it, where that is all that is missing.
  void ask_less(std::string_view resource) {
    const std::string_view other = resource == "cpu" ? "memory" : "cpu";
    std::int64_t most = 0;
    for (std::uint32_t row = 0; row < rows_; ++row)
      if (verdicts_.only(row, "NodeResourcesFit") && free(other, row) >= asked(other) &&
          free(resource, row) < asked(resource))
        most = std::max(most, free(resource, row));
    const std::int64_t step =
        resource == "cpu" ? (most >= 2000 ? 500 : 50) : (most >= 2048 * kMi ? 256 * kMi : 16 * kMi);
    const std::int64_t to = most / step * step;
    if (to <= 0) return;
    // The container that asks for most gives it up.
    std::size_t largest = 0, at = 0;
    std::int64_t its = -1;
    std::string name;
    for (const json::Slice container : spec_["containers"].elements()) {
      const auto request = kube::Quantity::from_json(container["resources"]["requests"][resource]);
      const std::int64_t amount = !request            ? 0
                                  : resource == "cpu" ? request->milli_value()
                                                      : request->value();
      if (amount > its) {
        its = amount;
        largest = at;
        name = container["name"].text();
      }
      ++at;
    }
    const std::int64_t left = its - (asked(resource) - to);
    if (left <= 0) return;
    const std::string value =
        resource == "cpu" ? fmt::format("{}m", left) : fmt::format("{}Mi", left / kMi);
    const bool cpu = resource == "cpu";
    const std::int64_t less = asked(resource) - to;
    Change change{.kind = "ask-less"};
    change.says = {{fmt::format("Ask for {} instead of {}", cpu ? counted_cores(to) : bytes(to),
                                cpu ? cores(asked(resource)) : bytes(asked(resource)))}};
    change.cost = fmt::format("1 field, {} less", cpu ? counted_cores(less) : bytes(less));
    json::Writer patch;
    patch.object().member("spec").object().member("containers").array().object();
    patch.member("name").string(name).member("resources").object().member("requests").object();
    patch.member(resource).string(value).end().end().end().end().end().end();
    change.patch = patch.take();
    try_patch(
        std::move(change),
        fmt::format(
            R"([{{"op":"replace","path":"/spec/containers/{}/resources/requests/{}","value":"{}"}}])",
            largest, resource, value));
  }

  void tolerate() {
    std::map<std::string, std::pair<kube::Taint, std::uint32_t>> alone;
    for (std::uint32_t row = 0; row < rows_; ++row) {
      if (!verdicts_.only(row, "TaintToleration")) continue;
      std::vector<kube::Taint> minded;
      for (const kube::Taint& taint : cluster().node(id_of(row)).taints)
        if (taint.effect != "PreferNoSchedule" && !kube::tolerates(pod_.spec->tolerations, taint))
          minded.push_back(taint);
      if (minded.size() != 1) continue;
      const kube::Taint& taint = minded.front();
      auto& entry = alone[fmt::format("{}={}:{}", taint.key, taint.value, taint.effect)];
      entry.first = taint;
      ++entry.second;
    }
    std::vector<std::pair<std::uint32_t, std::string>> order;
    for (const auto& [text, entry] : alone) order.emplace_back(entry.second, text);
    std::sort(order.begin(), order.end(), std::greater<>());
    for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 2); ++i) {
      const kube::Taint& taint = alone[order[i].second].first;
      json::Writer add;
      add.array().object().member("op").string("add");
      const bool some = spec_["tolerations"].is_array();
      add.member("path").string(some ? "/spec/tolerations/-" : "/spec/tolerations");
      add.member("value");
      if (!some) add.array();
      add.object().member("key").string(taint.key).member("operator").string("Equal");
      add.member("value").string(taint.value).member("effect").string(taint.effect).end();
      if (!some) add.end();
      add.end().end();
      Change change{.kind = "tolerate"};
      std::string text = order[i].second;
      if (taint.value.empty()) text = fmt::format("{}:{}", taint.key, taint.effect);
      change.says = {{"Tolerate "}, {text, true}};
      change.cost = "1 toleration more";
      try_patch(std::move(change), add.take());
    }
  }

  void uncordon() {
    for (std::uint32_t row = 0; row < rows_ && !full(); ++row) {
      const NodeId id = id_of(row);
      if (!cluster().node(id).unschedulable) continue;
      const std::uint32_t others = verdicts_.against(row) -
                                   (verdicts_.refuses(row, "NodeUnschedulable") ? 1u : 0u) -
                                   (verdicts_.refuses(row, "TaintToleration") ? 1u : 0u);
      if (others > 0) continue;
      const auto before = std::make_shared<const Node>(cluster().node(id));
      auto open = std::make_shared<Node>(*before);
      open->unschedulable = false;
      std::erase_if(open->taints, [](const kube::Taint& taint) {
        return taint.key == "node.kubernetes.io/unschedulable";
      });
      cluster().put_node(open);
      Change change{.kind = "uncordon"};
      change.says = {{"Uncordon "}, {before->name, true}};
      change.cost = "opens it to all pods";
      change.command = "kubectl uncordon " + before->name;
      auto fits = trial_.fits();
      cluster().put_node(before);
      if (fits.empty()) continue;
      keep(std::move(change), std::move(fits));
      return;
    }
  }

  void loosen_spread() {
    json::Writer patch;
    patch.array();
    std::size_t at = 0, hard = 0;
    for (const json::Slice one : spec_["topologySpreadConstraints"].elements()) {
      if (!one["whenUnsatisfiable"].equals("ScheduleAnyway")) {
        patch.object().member("op").string("replace").member("path").string(
            fmt::format("/spec/topologySpreadConstraints/{}/whenUnsatisfiable", at));
        patch.member("value").string("ScheduleAnyway").end();
        ++hard;
      }
      ++at;
    }
    patch.end();
    if (hard == 0) return;
    Change change{.kind = "spread"};
    change.says = {{"Prefer its spread instead of requiring it"}};
    change.cost = hard == 1 ? "1 field" : fmt::format("{} fields", hard);
    try_patch(std::move(change), patch.take());
  }

  void remove(const char* kind, std::string says, const std::string& path, json::Slice there) {
    if (!there.present() || there.is_null()) return;
    Change change{.kind = kind};
    change.says = {{std::move(says)}};
    change.cost = "goes anywhere it has room";
    try_patch(std::move(change), fmt::format(R"([{{"op":"remove","path":"{}"}}])", path));
  }
  void forget_selector() {
    constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
    remove("selector", "Drop its node selector", "/spec/nodeSelector", spec_["nodeSelector"]);
    remove("affinity", "Drop its required node affinity",
           fmt::format("/spec/affinity/nodeAffinity/{}", kRequired),
           spec_["affinity"]["nodeAffinity"][kRequired]);
  }
  void forget_neighbours() {
    constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
    remove("anti-affinity", "Drop its required pod anti-affinity",
           fmt::format("/spec/affinity/podAntiAffinity/{}", kRequired),
           spec_["affinity"]["podAntiAffinity"][kRequired]);
    remove("pod-affinity", "Drop its required pod affinity",
           fmt::format("/spec/affinity/podAffinity/{}", kRequired),
           spec_["affinity"]["podAffinity"][kRequired]);
  }

  // The pod whose end would make just enough room, on the nodes that come closest.
  void wait_for_one() {
    constexpr std::size_t kTried = 8;
    std::vector<std::pair<std::int64_t, scheduler::PodPtr>> leavers;
    for (std::uint32_t row = 0; row < rows_; ++row) {
      if (!verdicts_.only(row, "NodeResourcesFit")) continue;
      const std::int64_t cpu = asked("cpu") - free("cpu", row);
      const std::int64_t memory = asked("memory") - free("memory", row);
      for (const scheduler::PodPtr& pod : cluster().pods_on(id_of(row))) {
        if (pod->controller && pod->controller->kind == "DaemonSet") continue;
        if (pod->used().millicores >= cpu && pod->used().memory >= memory)
          leavers.emplace_back(pod->used().millicores, pod);
      }
    }
    std::sort(leavers.begin(), leavers.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first, a.second->ns, a.second->name) <
             std::tie(b.first, b.second->ns, b.second->name);
    });
    for (std::size_t i = 0; i < std::min(leavers.size(), kTried) && !full(); ++i) {
      const scheduler::PodPtr& pod = leavers[i].second;
      if (!cluster().remove_pod(pod->uid)) continue;
      auto fits = trial_.fits();
      cluster().add_pod(pod);
      if (fits.empty()) continue;
      Change change{.kind = "wait"};
      change.says = {{"Wait for "}, {pod->name, true}, {" to end"}};
      change.cost = fmt::format("it holds {}, priority {}", counted_cores(pod->used().millicores),
                                pod->priority());
      return keep(std::move(change), std::move(fits));
    }
  }

  void one_more_node() {
    constexpr std::string_view kName = "one-more-node";
    std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> sizes;  // the smallest first
    for (std::uint32_t row = 0; row < rows_; ++row) {
      const Node& node = cluster().node(id_of(row));
      const bool otherwise = verdicts_.against(row) == 0 || verdicts_.only(row, "NodeResourcesFit");
      if (otherwise && !node.unschedulable)
        sizes.emplace(std::pair(node.allocatable.millicores, node.allocatable.memory), row);
    }
    for (const auto& [size, row] : sizes) {
      if (full()) return;
      const Node& like = cluster().node(id_of(row));
      if (like.allocatable.millicores < asked("cpu") || like.allocatable.memory < asked("memory"))
        continue;
      auto fresh = std::make_shared<Node>(like);
      fresh->name = kName;
      fresh->uid = kName;
      std::vector<scheduler::Labels::Pair> labels = like.labels->pairs();
      for (auto& [key, value] : labels)
        if (key == "kubernetes.io/hostname") value = kName;
      fresh->labels = std::make_shared<const scheduler::Labels>(std::move(labels));
      Change change{.kind = "node"};
      change.says = {{"Add a node like "}, {like.name, true}};
      change.cost = fmt::format("{}, {} more", counted_cores(like.allocatable.millicores),
                                bytes(like.allocatable.memory));
      cluster().put_node(fresh);
      auto fits = trial_.fits();
      cluster().remove_node(kName);
      cluster().begin_cycle();
      if (fits.empty()) continue;
      return keep(std::move(change), {"the new node"});
    }
  }

  // Rows keep their nodes by id: laying out anew moves rows, not ids.
  std::vector<NodeId> ids() {
    std::vector<NodeId> all;
    const ClusterState& state = judgement_.cluster();
    for (std::uint32_t row = 0; row < state.size(); ++row) all.push_back(state.table().node[row]);
    return all;
  }

  const scheduler::Judgement& judgement_;
  const Verdicts& verdicts_;
  json::Slice spec_;
  const Pod& pod_;
  std::uint32_t rows_;
  TrialPod trial_;
  std::vector<NodeId> ids_ = ids();
  std::vector<Change> found_;
};

}  // namespace

std::vector<Change> smallest_changes(const scheduler::Judgement& judgement,
                                     const Verdicts& verdicts, const kube::Object& pod,
                                     scheduler::Case& problem) {
  if (verdicts.filters.empty()) return {};
  return Search(judgement, verdicts, pod, problem).run();
}

}  // namespace berth::gateway
