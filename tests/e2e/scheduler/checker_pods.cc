// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "checker_parts.h"

namespace berth::e2e::checker {
namespace {

// A labelSelector together with matchLabelKeys, which the API server merges into the selector, but
// not for pods created before it did.
kube::LabelSelector with_keys(json::Slice selector, const PodFacts& owner, json::Slice same,
                              json::Slice different) {
  const auto parsed = kube::LabelSelector::from_json(selector);
  if (!parsed) return kube::LabelSelector::nothing();
  std::string text = parsed->text();
  if (parsed->matches_nothing()) return *parsed;
  const auto add = [&](json::Slice keys, const char* op) {
    for (json::Slice key : keys.elements()) {
      const auto label = owner.labels.find(key.text());
      if (label == owner.labels.end()) continue;
      text += fmt::format("{}{} {} ({})", text.empty() ? "" : ",", label->first, op, label->second);
    }
  };
  add(same, "in");
  add(different, "notin");
  const auto merged = kube::LabelSelector::parse(text);
  return merged ? *merged : kube::LabelSelector::nothing();
}

// One required (anti-)affinity term of a pod.
struct Term {
  const PodFacts* owner;
  kube::LabelSelector selector;
  std::set<std::string> namespaces = {};
  std::optional<kube::LabelSelector> namespace_selector = {};
  std::string topology;

  bool wants(const Facts& facts, const PodFacts& other) const {
    bool there = namespaces.count(other.ns) > 0;
    if (!there && namespace_selector) {
      const auto labels = facts.namespaces.find(other.ns);
      there = labels != facts.namespaces.end() && namespace_selector->matches(labels->second);
    }
    return there && selector.matches(other.labels);
  }
};

std::vector<Term> terms_of(const PodFacts& pod, const char* which) {
  std::vector<Term> out;
  for (json::Slice term :
       pod.spec["affinity"][which]["requiredDuringSchedulingIgnoredDuringExecution"].elements()) {
    Term made{.owner = &pod,
              .selector = with_keys(term["labelSelector"], pod, term["matchLabelKeys"],
                                    term["mismatchLabelKeys"]),
              .topology = term["topologyKey"].text()};
    for (json::Slice ns : term["namespaces"].elements()) made.namespaces.insert(ns.text());
    if (term["namespaceSelector"].is_object()) {
      auto parsed = kube::LabelSelector::from_json(term["namespaceSelector"]);
      if (parsed) made.namespace_selector = *parsed;
    }
    if (made.namespaces.empty() && !made.namespace_selector) made.namespaces.insert(pod.ns);
    out.push_back(std::move(made));
  }
  return out;
}

const std::string* domain_of(const NodeFacts& node, const std::string& key) {
  const auto found = node.labels.find(key);
  return found == node.labels.end() ? nullptr : &found->second;
}

void check_terms(const Facts& facts, const PodFacts& pod) {
  for (const Term& term : terms_of(pod, "podAntiAffinity")) {
    const std::string* here = domain_of(*pod.node, term.topology);
    if (here == nullptr) continue;  // a node without the label is in no domain
    for (const PodFacts& other : facts.pods) {
      if (&other == &pod || other.node == nullptr || !term.wants(facts, other)) continue;
      const std::string* there = domain_of(*other.node, term.topology);
      if (there != nullptr && *there == *here)
        facts.violated("anti-affinity", pod,
                       fmt::format("{} is in the same {} {}", other.key, term.topology, *here));
    }
  }
  // Company is a pod that all terms want; each term then says how near one must be.
  const std::vector<Term> together = terms_of(pod, "podAffinity");
  const auto wanted = [&](const PodFacts& other) {
    return std::all_of(together.begin(), together.end(),
                       [&](const Term& term) { return term.wants(facts, other); });
  };
  std::vector<const PodFacts*> company;
  if (!together.empty())
    for (const PodFacts& other : facts.pods)
      if (&other != &pod && other.node != nullptr && wanted(other)) company.push_back(&other);
  for (const Term& term : together) {
    const std::string* here = domain_of(*pod.node, term.topology);
    if (here == nullptr) {
      facts.violated("affinity", pod, fmt::format("the node has no {}", term.topology));
      continue;
    }
    const bool beside = std::any_of(company.begin(), company.end(), [&](const PodFacts* other) {
      const std::string* there = domain_of(*other->node, term.topology);
      return there != nullptr && *there == *here;
    });
    // The first of a kind that wants its own kind beside it may start anywhere.
    const bool first = company.empty() && wanted(pod);
    if (!beside && !first)
      facts.violated(
          "affinity", pod,
          fmt::format("nothing that it wants beside it is in {} {}", term.topology, *here));
  }
}

// Everything of a pod that decides which nodes and pods a spread constraint counts.
std::string spread_signature(const PodFacts& pod, json::Slice constraint) {
  return fmt::format("{}|{}|{}|{}", constraint.raw(), pod.spec["nodeSelector"].raw(),
                     pod.spec["affinity"]["nodeAffinity"].raw(), pod.spec["tolerations"].raw());
}

bool carries(const PodFacts& pod, const std::string& signature) {
  for (json::Slice constraint : pod.spec["topologySpreadConstraints"].elements())
    if (spread_signature(pod, constraint) == signature) return true;
  return false;
}

// Nodes that count: those the pod may use, by the policies, that have all its topology keys.
bool counts(const PodFacts& pod, const NodeFacts& node, json::Slice constraint) {
  for (json::Slice each : pod.spec["topologySpreadConstraints"].elements())
    if (!each["whenUnsatisfiable"].equals("ScheduleAnyway") &&
        domain_of(node, each["topologyKey"].text()) == nullptr)
      return false;
  if (!constraint["nodeAffinityPolicy"].equals("Ignore") && !node_wanted(pod, node)) return false;
  return !constraint["nodeTaintsPolicy"].equals("Honor") || untolerated_taint(pod, node).empty();
}

void check_constraint(const Facts& facts, const PodFacts& pod, json::Slice constraint) {
  const std::string key = constraint["topologyKey"].text();
  const std::string* here = domain_of(*pod.node, key);
  if (here == nullptr) return facts.violated("spread", pod, fmt::format("the node has no {}", key));
  const kube::LabelSelector selector =
      with_keys(constraint["labelSelector"], pod, constraint["matchLabelKeys"], {});
  std::map<std::string, std::int64_t> filled;
  for (const NodeFacts& node : facts.nodes)
    if (counts(pod, node, constraint)) filled[*domain_of(node, key)];
  const std::string signature = spread_signature(pod, constraint);
  for (const PodFacts& other : facts.pods) {
    if (other.node == nullptr || other.ns != pod.ns || !selector.matches(other.labels)) continue;
    if (other.leaving || !carries(other, signature)) {
      facts.verdict->unchecked.push_back(
          fmt::format("{}: spreading over {}: {} is counted but {}", pod.key, key, other.key,
                      other.leaving ? "leaves" : "does not carry the same constraint"));
      return;
    }
    if (!counts(pod, *other.node, constraint)) continue;
    ++filled[*domain_of(*other.node, key)];
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const auto& [domain, count] : filled) least = std::min(least, count);
  if (filled.empty() ||
      static_cast<std::int64_t>(filled.size()) < constraint["minDomains"].integer().value_or(1))
    least = 0;
  const std::int64_t most = constraint["maxSkew"].integer().value_or(1);
  const std::int64_t count = filled.count(*here) > 0 ? filled[*here] : 0;
  if (count - least > most)
    facts.violated(
        "spread", pod,
        fmt::format("{} {} has {}, the least filled one {}, at most {} apart are allowed", key,
                    *here, count, least, most));
}

}  // namespace

void check_affinity(const Facts& facts) {
  for (const PodFacts& pod : facts.pods)
    if (pod.node != nullptr && pod.spec["affinity"].is_object()) check_terms(facts, pod);
}

void check_spreading(const Facts& facts) {
  // Pods alike in a domain share a verdict: one of them is enough.
  std::set<std::string> seen;
  for (const PodFacts& pod : facts.pods) {
    if (pod.node == nullptr || pod.leaving) continue;
    for (json::Slice constraint : pod.spec["topologySpreadConstraints"].elements()) {
      if (constraint["whenUnsatisfiable"].equals("ScheduleAnyway")) continue;
      const std::string* domain = domain_of(*pod.node, constraint["topologyKey"].text());
      std::string group = fmt::format("{}|{}|{}", pod.ns, spread_signature(pod, constraint),
                                      domain != nullptr ? *domain : "");
      for (const auto& [key, value] : pod.labels) group += fmt::format("|{}={}", key, value);
      if (domain == nullptr || seen.insert(group).second) check_constraint(facts, pod, constraint);
    }
  }
}

}  // namespace berth::e2e::checker
