// SPDX-License-Identifier: Apache-2.0
// Affinity and spreading worked out the slow way, from lists of pods and maps of topology values,
// as kube-scheduler does it. It shares no code with the plugins; tests hold them against it.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/cache/node.h"
#include "scheduler/cache/pod.h"
#include "scheduler/framework/plugin_args.h"

namespace berth::scheduler::test {

struct ModelCluster {
  std::vector<NodePtr> nodes;  // in order
  std::vector<PodPtr> pods;    // each on one of the nodes
  std::map<std::string, Labels> namespaces;

  template <class F>
  void on(const Node& node, F&& f) const {
    for (const PodPtr& pod : pods)
      if (pod->node_name == node.name) f(*pod);
  }
};

class AffinityModel {
 public:
  using Counts = std::map<std::pair<std::string, std::string>, std::int64_t>;

  AffinityModel(const ModelCluster& cluster, const Pod& pod, InterPodAffinityArgs args = {})
      : cluster_(cluster), pod_(pod), args_(args) {
    for (const NodePtr& node : cluster.nodes)
      cluster.on(*node, [&](const Pod& other) { move(other, *node, +1); });
  }

  bool skips() const {
    return existing_.empty() && own().required.empty() && own().required_anti.empty();
  }
  void move(const Pod& other, const Node& node, int sign) {
    for (const AffinityTerm& term : other.spec->affinity.required_anti)
      if (matches_incoming(term, other)) count(existing_, node, term, sign);
    if (matches_all(other))
      for (const AffinityTerm& term : own().required) count(affinity_, node, term, sign);
    for (const AffinityTerm& term : own().required_anti)
      if (mine_matches(term, other)) count(anti_, node, term, sign);
  }
  std::string verdict(const Node& node) const {
    bool exist = true;
    for (const AffinityTerm& term : own().required) {
      const auto value = node.labels->find(term.topology_key);
      if (!value) return "!node(s) didn't match pod affinity rules";
      const auto at = affinity_.find({term.topology_key, std::string(*value)});
      if (at == affinity_.end() || at->second <= 0) exist = false;
    }
    if (!exist && !(affinity_.empty() && matches_all(pod_)))
      return "!node(s) didn't match pod affinity rules";
    for (const AffinityTerm& term : own().required_anti)
      if (const auto value = node.labels->find(term.topology_key)) {
        const auto at = anti_.find({term.topology_key, std::string(*value)});
        if (at != anti_.end() && at->second > 0)
          return "node(s) didn't match pod anti-affinity rules";
      }
    for (const auto& [key, value] : node.labels->pairs()) {
      const auto at = existing_.find({key, value});
      if (at != existing_.end() && at->second > 0)
        return "node(s) didn't satisfy existing pods anti-affinity rules";
    }
    return "";
  }
  // nullopt: Skip.
  std::optional<std::map<std::string, std::int64_t>> scores() const {
    const bool prefers = !own().preferred.empty() || !own().preferred_anti.empty();
    if (args_.ignore_preferred_terms_of_existing_pods && !prefers) return std::nullopt;
    Counts sums;
    const auto add = [&](const Node& node, const AffinityTerm& term, std::int64_t weight) {
      if (const auto value = node.labels->find(term.topology_key))
        sums[{term.topology_key, std::string(*value)}] += weight;
    };
    for (const NodePtr& node : cluster_.nodes)
      cluster_.on(*node, [&](const Pod& other) {
        for (const AffinityTerm& term : own().preferred)
          if (mine_matches(term, other)) add(*node, term, term.weight);
        for (const AffinityTerm& term : own().preferred_anti)
          if (mine_matches(term, other)) add(*node, term, -term.weight);
        const PodAffinity& theirs = other.spec->affinity;
        for (const AffinityTerm& term : theirs.required)
          if (args_.hard_pod_affinity_weight > 0 && matches_incoming(term, other))
            add(*node, term, args_.hard_pod_affinity_weight);
        for (const AffinityTerm& term : theirs.preferred)
          if (matches_incoming(term, other)) add(*node, term, term.weight);
        for (const AffinityTerm& term : theirs.preferred_anti)
          if (matches_incoming(term, other)) add(*node, term, -term.weight);
      });
    if (sums.empty()) return std::nullopt;
    std::map<std::string, std::int64_t> out;
    for (const NodePtr& node : cluster_.nodes) {
      std::int64_t& score = out[node->name];
      for (const auto& [pair, sum] : sums)
        if (node->labels->find(pair.first) == pair.second) score += sum;
    }
    return out;
  }

 private:
  const PodAffinity& own() const { return pod_.spec->affinity; }
  static bool listed(const AffinityTerm& term, const std::string& holder, const std::string& ns) {
    if (term.own_namespace) return ns == holder;
    for (const std::string& one : term.namespaces)
      if (one == ns) return true;
    return false;
  }
  Labels labels_of(const std::string& ns) const {
    const auto at = cluster_.namespaces.find(ns);
    return at == cluster_.namespaces.end() ? Labels() : at->second;
  }
  // A term of another pod about the pod to place.
  bool matches_incoming(const AffinityTerm& term, const Pod& holder) const {
    if (!listed(term, holder.ns, pod_.ns) &&
        !(term.namespace_selector && matches(*term.namespace_selector, labels_of(pod_.ns))))
      return false;
    return matches(term.selector, *pod_.labels);
  }
  // A term of the pod to place: namespaces that match are listed first, and then the selector is
  // asked again without labels.
  bool mine_matches(const AffinityTerm& term, const Pod& other) const {
    bool in = listed(term, pod_.ns, other.ns);
    if (term.namespace_selector) {
      for (const auto& [name, labels] : cluster_.namespaces)
        if (name == other.ns && matches(*term.namespace_selector, labels)) in = true;
      if (matches(*term.namespace_selector, Labels())) in = true;
    }
    return in && matches(term.selector, *other.labels);
  }
  bool matches_all(const Pod& other) const {
    if (own().required.empty()) return false;
    for (const AffinityTerm& term : own().required)
      if (!mine_matches(term, other)) return false;
    return true;
  }
  static void count(Counts& counts, const Node& node, const AffinityTerm& term, int sign) {
    const auto value = node.labels->find(term.topology_key);
    if (!value) return;
    const std::pair pair(term.topology_key, std::string(*value));
    if ((counts[pair] += sign) == 0) counts.erase(pair);
  }

  const ModelCluster& cluster_;
  const Pod& pod_;
  InterPodAffinityArgs args_;
  Counts existing_, affinity_, anti_;
};

class SpreadModel {
 public:
  // `defaults` with their selector stand in for constraints of the pod's own.
  SpreadModel(const ModelCluster& cluster, const Pod& pod,
              const std::vector<SpreadConstraint>* defaults = nullptr, bool system = true)
      : cluster_(cluster), pod_(pod), require_all_(defaults == nullptr || !system) {
    for (const SpreadConstraint& c : defaults != nullptr ? *defaults : pod.spec->spread) {
      SpreadConstraint made = c;
      std::set<std::string> keys(c.match_label_keys.begin(), c.match_label_keys.end());
      for (const std::string& key : keys)
        if (const auto value = pod.labels->find(key))
          made.selector =
              made.selector.with({kube::Requirement::exactly(key, std::string(*value))});
      (c.hard ? hard_ : soft_).push_back(made);
    }
    for (const SpreadConstraint& c : hard_) {
      std::map<std::string, int>& values = counts_.emplace_back();
      for (const NodePtr& node : cluster.nodes)
        if (has_all(*node, hard_) && included(c, *node))
          values[value(*node, c)] += matching(c, *node);
      Paths& paths = paths_.emplace_back(Paths{{{"", kMost}, {"", kMost}}});
      for (const auto& [value, count] : values) update(paths, value, count);
    }
  }
  bool skips() const { return hard_.empty(); }

  void move(const Pod& other, const Node& node, int sign) {
    if (other.ns != pod_.ns || !has_all(node, hard_)) return;
    for (std::size_t i = 0; i < hard_.size(); ++i) {
      if (!matches(hard_[i].selector, *other.labels) || !included(hard_[i], node)) continue;
      const std::string at = value(node, hard_[i]);
      update(paths_[i], at, counts_[i][at] += sign);
    }
  }
  std::string verdict(const Node& node) const {
    const std::string text = "node(s) didn't match pod topology spread constraints";
    for (std::size_t i = 0; i < hard_.size(); ++i) {
      const SpreadConstraint& c = hard_[i];
      if (!node.labels->has(c.topology_key)) return "!" + text + " (missing required label)";
      const int least =
          static_cast<int>(counts_[i].size()) < c.min_domains ? 0 : paths_[i][0].second;
      const auto at = counts_[i].find(value(node, c));
      const int count = at == counts_[i].end() ? 0 : at->second;
      if (count + (matches(c.selector, *pod_.labels) ? 1 : 0) - least > c.max_skew) return text;
    }
    return "";
  }

  // Normalised; nullopt: Skip. `log` is ln(size + 2).
  template <class Log>
  std::optional<std::map<std::string, std::int64_t>> scores(const std::vector<NodePtr>& feasible,
                                                            Log&& log) const {
    if (soft_.empty()) return std::nullopt;
    std::set<std::string> ignored;
    std::vector<std::map<std::string, std::int64_t>> counts(soft_.size());
    for (const NodePtr& node : feasible) {
      if (require_all_ && !has_all(*node, soft_)) {
        ignored.insert(node->name);
        continue;
      }
      for (std::size_t i = 0; i < soft_.size(); ++i)
        if (soft_[i].topology_key != "kubernetes.io/hostname") counts[i][value(*node, soft_[i])];
    }
    for (const NodePtr& node : cluster_.nodes) {
      if (require_all_ && !has_all(*node, soft_)) continue;
      for (std::size_t i = 0; i < soft_.size(); ++i) {
        const auto at = counts[i].find(value(*node, soft_[i]));
        if (at != counts[i].end() && included(soft_[i], *node))
          at->second += matching(soft_[i], *node);
      }
    }
    std::map<std::string, std::int64_t> raw;
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
    for (const NodePtr& node : feasible) {
      if (ignored.contains(node->name)) continue;
      double score = 0;
      for (std::size_t i = 0; i < soft_.size(); ++i) {
        const SpreadConstraint& c = soft_[i];
        if (!node->labels->has(c.topology_key)) continue;
        const bool host = c.topology_key == "kubernetes.io/hostname";
        const std::size_t size = host ? feasible.size() - ignored.size() : counts[i].size();
        const std::int64_t count = host ? matching(c, *node) : counts[i][value(*node, c)];
        score += static_cast<double>(count) * log(size) + static_cast<double>(c.max_skew - 1);
      }
      raw[node->name] = static_cast<std::int64_t>(std::round(score));
      least = std::min(least, raw[node->name]);
      most = std::max(most, raw[node->name]);
    }
    std::map<std::string, std::int64_t> out;
    for (const NodePtr& node : feasible) {
      const auto at = raw.find(node->name);
      out[node->name] = at == raw.end() ? 0
                        : most == 0     ? 100
                                        : 100 * (most + least - at->second) / most;
    }
    return out;
  }

 private:
  using Paths = std::array<std::pair<std::string, int>, 2>;
  static constexpr int kMost = std::numeric_limits<std::int32_t>::max();

  // kube-scheduler's two least used values, the second of which may be wrong.
  static void update(Paths& paths, const std::string& value, int count) {
    if (value == paths[0].first || value == paths[1].first) {
      paths[value == paths[0].first ? 0 : 1].second = count;
      if (paths[0].second > paths[1].second) std::swap(paths[0], paths[1]);
    } else if (count < paths[0].second) {
      paths[1] = paths[0];
      paths[0] = {value, count};
    } else if (count < paths[1].second) {
      paths[1] = {value, count};
    }
  }
  static bool has_all(const Node& node, const std::vector<SpreadConstraint>& constraints) {
    for (const SpreadConstraint& c : constraints)
      if (!node.labels->has(c.topology_key)) return false;
    return true;
  }
  static std::string value(const Node& node, const SpreadConstraint& c) {
    return std::string(node.labels->find(c.topology_key).value_or(""));
  }
  bool included(const SpreadConstraint& c, const Node& node) const {
    if (c.honor_affinity) {
      for (const auto& [key, wanted] : pod_.spec->node_selector)
        if (node.labels->find(key) != wanted) return false;
      if (pod_.spec->required_node_affinity &&
          !matches(*pod_.spec->required_node_affinity, *node.labels, node.name))
        return false;
    }
    if (c.honor_taints)
      for (const kube::Taint& taint : node.taints)
        if (taint.effect != "PreferNoSchedule" && !kube::tolerates(pod_.spec->tolerations, taint))
          return false;
    return true;
  }
  int matching(const SpreadConstraint& c, const Node& node) const {
    int count = 0;
    if (!c.selector.everything())
      cluster_.on(node, [&](const Pod& other) {
        if (!other.deleting && other.ns == pod_.ns && matches(c.selector, *other.labels)) ++count;
      });
    return count;
  }

  const ModelCluster& cluster_;
  const Pod& pod_;
  bool require_all_;
  std::vector<SpreadConstraint> hard_, soft_;
  std::vector<std::map<std::string, int>> counts_;
  std::vector<Paths> paths_;
};

}  // namespace berth::scheduler::test
