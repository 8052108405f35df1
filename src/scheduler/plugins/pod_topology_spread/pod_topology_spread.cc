// SPDX-License-Identifier: Apache-2.0
// Which constraints a pod has, and what a shape reads of them.
#include "scheduler/plugins/pod_topology_spread/pod_topology_spread.h"

#include <algorithm>
#include <array>

#include "scheduler/cache/owner_state.h"

namespace berth::scheduler::pod_topology_spread {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

std::vector<SpreadConstraint> system_defaults() {
  SpreadConstraint host, zone;
  host.topology_key = kHostname;
  host.max_skew = 3;
  zone.topology_key = "topology.kubernetes.io/zone";
  zone.max_skew = 5;
  host.hard = zone.hard = false;
  return {host, zone};
}

kube::LabelSelector with_label_keys(const SpreadConstraint& c, const Labels& labels) {
  std::vector<kube::Requirement> more;
  std::vector<std::string> keys = c.match_label_keys;
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const std::string& key : keys)
    if (const auto value = labels.find(key))
      more.push_back(kube::Requirement::exactly(key, std::string(*value)));
  return more.empty() ? c.selector : c.selector.with(std::move(more));
}

// What nodeSelector and required affinity say about a node; null where they say nothing.
std::shared_ptr<const NodeMatch> node_match_of(const PodSpecPtr& spec, ClusterState& cluster) {
  if (spec->node_affinity_text.empty()) return nullptr;
  return cluster.node_match("spread:" + spec->node_affinity_text, [spec](const Node& node) {
    return std::all_of(
               spec->node_selector.begin(), spec->node_selector.end(),
               [&](const auto& pair) { return node.labels->find(pair.first) == pair.second; }) &&
           (!spec->required_node_affinity ||
            matches(*spec->required_node_affinity, *node.labels, node.name));
  });
}

}  // namespace

PodTopologySpread::PodTopologySpread(const PluginContext& context) : Plugin(context) {
  if (const auto* args = std::get_if<PodTopologySpreadArgs>(&context.args)) {
    system_defaulting_ = args->system_defaulting;
    defaults_ = args->default_constraints;
  }
  if (system_defaulting_) defaults_ = system_defaults();
  const std::string text = "node(s) didn't match pod topology spread constraints";
  skewed_ = context.reasons.id(context.id, Code::kUnschedulable, {text});
  unlabelled_ =
      context.reasons.id(context.id, Code::kUnresolvable, {text + " (missing required label)"});
}

// k8s 1.36: a pod with a constraint of its own, hard or soft, gets no defaults at all.
std::vector<PodTopologySpread::Resolved> PodTopologySpread::resolve(
    const Pod& pod, const ClusterState& cluster) const {
  std::vector<Resolved> all;
  if (!pod.spec->spread.empty()) {
    for (const SpreadConstraint& c : pod.spec->spread)
      all.push_back({&c, with_label_keys(c, *pod.labels)});
    return all;
  }
  if (defaults_.empty()) return all;
  const kube::LabelSelector& selector = cluster.owners().default_selector(pod).selector;
  if (selector.everything()) return all;
  for (const SpreadConstraint& c : defaults_) all.push_back({&c, selector});
  return all;
}

std::vector<PodTopologySpread::Resolved> PodTopologySpread::resolve_hard(
    const Pod& pod, const ClusterState& cluster) const {
  std::vector<Resolved> all = resolve(pod, cluster);
  all.erase(
      std::remove_if(all.begin(), all.end(), [](const Resolved& c) { return !c.stated->hard; }),
      all.end());
  return all;
}

// Labels are no part of a shape; what they do to selectors and whether these match the pod is.
void PodTopologySpread::shape_key(const Pod& pod, const ClusterState& cluster,
                                  std::string& key) const {
  if (!pod.spec->spread.empty()) {
    key += "|spread";
    for (const SpreadConstraint& c : pod.spec->spread) {
      for (const std::string& label : c.match_label_keys) {
        const auto value = pod.labels->find(label);
        key += value ? '=' : '!';
        if (value) key += *value;
      }
      key += matches(c.selector, *pod.labels) ? '+' : '-';
    }
    return;
  }
  if (defaults_.empty()) return;
  const OwnerState::Default& found = cluster.owners().default_selector(pod);
  if (found.selector.everything()) return;
  key += matches(found.selector, *pod.labels) ? "|owned+" : "|owned-";
  key += found.text;
}

std::unique_ptr<ShapePart> PodTopologySpread::compile(const Pod& pod, ClusterState& cluster) const {
  auto part = std::make_unique<Part>();
  part->cluster = &cluster;
  part->require_all = !pod.spec->spread.empty() || !system_defaulting_;
  const std::vector<Resolved> all = resolve(pod, cluster);
  std::vector<TopologyKeyId> hard_keys, soft_keys;
  for (const Resolved& c : all)
    (c.stated->hard ? hard_keys : soft_keys)
        .push_back(cluster.topology_key(c.stated->topology_key));
  if (!part->require_all) soft_keys.clear();
  // Which nodes count is the same for many constraints, and each of them names all their keys.
  std::array<std::optional<std::shared_ptr<const Eligibility>>, 8> eligible;

  for (const Resolved& c : all) {
    const SpreadConstraint& stated = *c.stated;
    Constraint made;
    made.key = cluster.topology_key(stated.topology_key);
    made.hostname = stated.topology_key == kHostname;
    made.selector = c.selector;
    made.max_skew = stated.max_skew;
    made.min_domains = stated.min_domains;
    made.self = matches(c.selector, *pod.labels);
    PodMatcher live;
    live.namespaces = {pod.ns};
    // k8s 1.36: {} matches every pod, but nothing is counted for it.
    live.selector = c.selector.everything() ? kube::LabelSelector::nothing() : c.selector;
    made.set = cluster.pod_set({{live}, true});
    auto& nodes_that_count = eligible[(stated.hard ? 4U : 0U) | (stated.honor_affinity ? 2U : 0U) |
                                      (stated.honor_taints ? 1U : 0U)];
    // A node's own count is not about eligible nodes.
    if (stated.hard || !made.hostname) {
      if (!nodes_that_count) {
        Eligibility::Spec nodes;
        nodes.keys = stated.hard ? hard_keys : soft_keys;
        if (stated.honor_affinity) nodes.nodes = node_match_of(pod.spec, cluster);
        if (stated.honor_taints) nodes.taints = cluster.tolerations(pod.spec->tolerations);
        const bool any = nodes.keys.empty() && !nodes.nodes && !nodes.taints;
        nodes_that_count = any ? nullptr : cluster.eligibility(std::move(nodes));
      }
      made.counter = cluster.counter(made.set, made.key, *nodes_that_count);
    }
    (stated.hard ? part->hard : part->soft).push_back(std::move(made));
  }
  return part;
}

std::optional<std::vector<EventInterest>> PodTopologySpread::events() const {
  using namespace action;
  return std::vector<EventInterest>{
      {{EventResource::kPod, kAdd | kUpdatePodLabel | kUpdatePodToleration | kDelete},
       [this](const Pod& pod, const Change& change, const ClusterState& cluster) {
         return after_pod_change(pod, change, cluster);
       }},
      {{EventResource::kNode, kAdd | kDelete | kUpdateNodeLabel | kUpdateNodeTaint},
       [this](const Pod& pod, const Change& change, const ClusterState& cluster) {
         return after_node_change(pod, change, cluster);
       }},
  };
}

}  // namespace berth::scheduler::pod_topology_spread

namespace berth::scheduler {

std::unique_ptr<Plugin> make_pod_topology_spread(const PluginContext& context) {
  return std::make_unique<pod_topology_spread::PodTopologySpread>(context);
}

}  // namespace berth::scheduler
