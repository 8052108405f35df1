// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "checker_parts.h"
#include "kube/node_selector.h"
#include "kube/quantity.h"
#include "kube/taint.h"

namespace berth::e2e::checker {
namespace {

using Amounts = std::map<std::string, kube::Quantity>;

Amounts amounts(json::Slice list) {
  Amounts out;
  for (auto [name, amount] : list.members())
    if (auto parsed = kube::Quantity::from_json(amount)) out[std::string(name)] = *parsed;
  return out;
}

void add(Amounts& to, const Amounts& more) {
  for (const auto& [name, amount] : more) to[name] += amount;
}

void raise(Amounts& to, const Amounts& other) {
  for (const auto& [name, amount] : other)
    if (to[name] < amount) to[name] = amount;
}

// The larger of what the running phase needs (containers and sidecars) and what each init container
// needs beside the sidecars that started before it; what the pod as a whole asks for replaces the
// sum; overhead comes on top.
Amounts needs(const PodFacts& pod) {
  Amounts running, init, sidecars;
  for (json::Slice container : pod.spec["containers"].elements())
    add(running, amounts(container["resources"]["requests"]));
  for (json::Slice container : pod.spec["initContainers"].elements()) {
    Amounts own = amounts(container["resources"]["requests"]);
    if (container["restartPolicy"].equals("Always")) {
      add(sidecars, own);
      raise(init, sidecars);
    } else {
      add(own, sidecars);
      raise(init, own);
    }
  }
  add(running, sidecars);
  raise(running, init);
  for (const auto& [name, amount] : amounts(pod.spec["resources"]["requests"]))
    running[name] = amount;
  add(running, amounts(pod.spec["overhead"]));
  return running;
}

struct Port {
  std::string ip, protocol;
  std::int64_t number;
  bool meets(const Port& other) const {
    return number == other.number && protocol == other.protocol &&
           (ip == other.ip || ip == "0.0.0.0" || other.ip == "0.0.0.0");
  }
};

std::vector<Port> host_ports(const PodFacts& pod) {
  std::vector<Port> out;
  const auto read = [&](json::Slice containers, bool sidecars_only) {
    for (json::Slice container : containers.elements()) {
      if (sidecars_only && !container["restartPolicy"].equals("Always")) continue;
      for (json::Slice port : container["ports"].elements()) {
        const std::int64_t number = port["hostPort"].integer().value_or(0);
        if (number <= 0) continue;
        std::string ip = port["hostIP"].text(), protocol = port["protocol"].text();
        out.push_back({ip.empty() ? "0.0.0.0" : ip, protocol.empty() ? "TCP" : protocol, number});
      }
    }
  };
  read(pod.spec["containers"], false);
  read(pod.spec["initContainers"], true);
  return out;
}

void check_capacity(const Facts& facts, const NodeFacts& node,
                    const std::vector<const PodFacts*>& pods) {
  Amounts used;
  for (const PodFacts* pod : pods) add(used, needs(*pod));
  const Amounts room = amounts(node.status["allocatable"]);
  for (const auto& [name, amount] : used) {
    const auto found = room.find(name);
    const kube::Quantity available = found == room.end() ? kube::Quantity() : found->second;
    if (available < amount)
      facts.violated(
          "resources", *pods.back(),
          fmt::format("{} {} asked for, {} there", name, amount.text(), available.text()));
  }
  const auto limit = room.find("pods");
  const std::int64_t most = limit == room.end() ? 0 : limit->second.value();
  if (static_cast<std::int64_t>(pods.size()) > most)
    facts.violated("pods", *pods.back(), fmt::format("{} pods, room for {}", pods.size(), most));
}

void check_ports(const Facts& facts, const std::vector<const PodFacts*>& pods) {
  std::vector<std::pair<Port, const PodFacts*>> taken;
  for (const PodFacts* pod : pods)
    for (const Port& port : host_ports(*pod)) {
      for (const auto& [other, owner] : taken)
        if (owner != pod && port.meets(other))
          facts.violated(
              "ports", *pod,
              fmt::format("{}:{} is also of {}", port.protocol, port.number, owner->key));
      taken.emplace_back(port, pod);
    }
}

}  // namespace

bool node_wanted(const PodFacts& pod, const NodeFacts& node) {
  for (auto [key, value] : pod.spec["nodeSelector"].members()) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value.text()) return false;
  }
  const json::Slice required =
      pod.spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  if (!required.is_object()) return true;
  const auto matches =
      kube::NodeSelector::from_json(required).matches(node.object.labels(), node.name);
  return matches && *matches;
}

std::string untolerated_taint(const PodFacts& pod, const NodeFacts& node) {
  const std::vector<kube::Toleration> tolerations = kube::tolerations_of(pod.spec["tolerations"]);
  for (const kube::Taint& taint : kube::taints_of(node.spec["taints"]))
    if (taint.effect != "PreferNoSchedule" && !kube::tolerates(tolerations, taint))
      return fmt::format("{}={}:{}", taint.key, taint.value, taint.effect);
  return "";
}

void check_nodes(const Facts& facts) {
  std::map<const NodeFacts*, std::vector<const PodFacts*>> by_node;
  for (const PodFacts& pod : facts.pods) {
    if (pod.node == nullptr) continue;
    by_node[pod.node].push_back(&pod);
    if (pod.spec["schedulingGates"].size() > 0) facts.violated("gate", pod, "bound though gated");
    if (!node_wanted(pod, *pod.node))
      facts.violated("node affinity", pod, "its selector or affinity does not want the node");
    if (const std::string taint = untolerated_taint(pod, *pod.node); !taint.empty())
      facts.violated("taint", pod, taint + " is not tolerated");
    const kube::Taint closed{"node.kubernetes.io/unschedulable", "", "NoSchedule"};
    if (pod.node->spec["unschedulable"].boolean() &&
        !kube::tolerates(kube::tolerations_of(pod.spec["tolerations"]), closed))
      facts.violated("unschedulable", pod, "the node takes no new pods");
  }
  for (const auto& [node, pods] : by_node) {
    check_capacity(facts, *node, pods);
    check_ports(facts, pods);
  }
}

}  // namespace berth::e2e::checker
