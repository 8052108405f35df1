// SPDX-License-Identifier: Apache-2.0
// What a shape and an attempt read: terms become sets and counters here.
#include "scheduler/plugins/inter_pod_affinity/inter_pod_affinity.h"

#include <algorithm>

namespace berth::scheduler::inter_pod_affinity {
namespace {

bool lists(const AffinityTerm& term, const std::string& holder_ns, const std::string& ns) {
  return term.own_namespace
             ? ns == holder_ns
             : std::binary_search(term.namespaces.begin(), term.namespaces.end(), ns);
}

// k8s 1.36: a selector of namespaces that holds for no labels at all (NotIn, DoesNotExist or {})
// selects every namespace when it is the incoming pod's: it is asked a second time, without labels.
bool selects_every_namespace(const AffinityTerm& term) {
  return term.namespace_selector && matches(*term.namespace_selector, Labels());
}

PodMatcher merged(const AffinityTerm& term, const std::string& holder_ns) {
  PodMatcher matcher;
  matcher.selector = term.selector;
  matcher.all_namespaces = selects_every_namespace(term);
  if (matcher.all_namespaces) return matcher;
  matcher.namespaces = term.own_namespace ? std::vector{holder_ns} : term.namespaces;
  matcher.namespace_selector = term.namespace_selector;
  return matcher;
}

KeyTerms& terms_under(std::vector<KeyTerms>& keys, TopologyKeyId key) {
  for (KeyTerms& terms : keys)
    if (terms.key == key) return terms;
  keys.push_back({key});
  return keys.back();
}

}  // namespace

bool selects(const AffinityTerm& term, const std::string& holder_ns, const Pod& pod,
             const Labels& ns_labels) {
  return (lists(term, holder_ns, pod.ns) ||
          (term.namespace_selector && matches(*term.namespace_selector, ns_labels))) &&
         matches(term.selector, *pod.labels);
}

bool selects_merged(const AffinityTerm& term, const std::string& holder_ns, const Pod& pod,
                    const ClusterState& cluster) {
  return selects(term, holder_ns, pod, cluster.namespace_labels(pod.ns)) ||
         (selects_every_namespace(term) && matches(term.selector, *pod.labels));
}

bool selects_all(const std::vector<AffinityTerm>& terms, const std::string& holder_ns,
                 const Pod& pod, const Labels& ns_labels) {
  return !terms.empty() && std::all_of(terms.begin(), terms.end(), [&](const AffinityTerm& term) {
    return selects(term, holder_ns, pod, ns_labels);
  });
}

InterPodAffinity::InterPodAffinity(const PluginContext& context) : Plugin(context) {
  if (const auto* args = std::get_if<InterPodAffinityArgs>(&context.args)) args_ = *args;
  const auto reason = [&](Fit fit, Code code, const char* text) {
    reasons_[static_cast<std::size_t>(fit)] = context.reasons.id(context.id, code, {text});
  };
  reason(Fit::kAffinity, Code::kUnresolvable, "node(s) didn't match pod affinity rules");
  reason(Fit::kAnti, Code::kUnschedulable, "node(s) didn't match pod anti-affinity rules");
  reason(Fit::kExisting, Code::kUnschedulable,
         "node(s) didn't satisfy existing pods anti-affinity rules");
}

// Whether the pod matches its own terms hangs on its labels, which are no part of a shape.
void InterPodAffinity::shape_key(const Pod& pod, const ClusterState& cluster,
                                 std::string& key) const {
  const std::vector<AffinityTerm>& required = pod.spec->affinity.required;
  if (required.empty()) return;
  key += std::all_of(
             required.begin(), required.end(),
             [&](const AffinityTerm& term) { return selects_merged(term, pod.ns, pod, cluster); })
             ? "|itself"
             : "|others";
}

std::unique_ptr<ShapePart> InterPodAffinity::compile(const Pod& pod, ClusterState& cluster) const {
  auto part = std::make_unique<Part>();
  const PodAffinity& affinity = pod.spec->affinity;
  if (!affinity.required.empty()) {
    PodSetSpec all;
    for (const AffinityTerm& term : affinity.required) all.all_of.push_back(merged(term, pod.ns));
    part->required_set = cluster.pod_set(all);
    part->matches_itself = cluster.contains(*part->required_set, pod);
    for (const AffinityTerm& term : affinity.required) {
      CounterPtr counter =
          cluster.counter(part->required_set, cluster.topology_key(term.topology_key));
      if (std::find(part->required.begin(), part->required.end(), counter) == part->required.end())
        part->required.push_back(std::move(counter));
    }
  }
  const auto counted = [&](const AffinityTerm& term) {
    PodSetPtr set = cluster.pod_set({{merged(term, pod.ns)}});
    CounterPtr counter = cluster.counter(set, cluster.topology_key(term.topology_key));
    return Part::Anti{std::move(set), std::move(counter)};
  };
  for (const AffinityTerm& term : affinity.required_anti) part->anti.push_back(counted(term));
  for (const AffinityTerm& term : affinity.preferred)
    part->preferred.emplace_back(counted(term).counter, term.weight);
  for (const AffinityTerm& term : affinity.preferred_anti)
    part->preferred.emplace_back(counted(term).counter, -std::int64_t{term.weight});
  return part;
}

State InterPodAffinity::gather(const Cycle& cycle) const {
  State state;
  const Part& own = part(cycle);
  for (const CounterPtr& counter : own.required)
    terms_under(state.keys, counter->key()).required = counter.get();
  for (std::size_t i = 0; i < own.anti.size(); ++i) {
    const DomainCounter* counter = own.anti[i].counter.get();
    terms_under(state.keys, counter->key()).anti.emplace_back(counter, i);
  }
  // Counters that are zero take part too: groups of nodes are made by these keys, and last.
  const auto scoring = [&](const DomainCounter& counter, std::int64_t weight) {
    terms_under(state.keys, counter.key()).score.emplace_back(&counter, weight);
    state.scores |= counter.total() != 0;
  };
  for (const auto& [counter, weight] : own.preferred) scoring(*counter, weight);
  for (const PodSet* set : cycle.cluster.sets_of(cycle.pod))
    for (const HeldTerm* held : set->held()) {
      const DomainCounter& holders = *held->holders;
      switch (held->kind) {
        case HeldKind::kRequiredAnti:
          terms_under(state.keys, holders.key()).unwelcome.push_back(&holders);
          state.unwelcome |= holders.total() != 0;
          break;
        case HeldKind::kRequired:
          if (args_.hard_pod_affinity_weight > 0) scoring(holders, args_.hard_pod_affinity_weight);
          break;
        case HeldKind::kPreferred:
          scoring(holders, held->weight);
          break;
        case HeldKind::kPreferredAnti:
          scoring(holders, -std::int64_t{held->weight});
          break;
      }
    }
  return state;
}

const State& InterPodAffinity::state_of(const Cycle& cycle, State& made) const {
  if (const State* kept = cycle.state<State>(slot())) return *kept;
  made = gather(cycle);
  return made;
}

std::optional<std::vector<EventInterest>> InterPodAffinity::events() const {
  using namespace action;
  return std::vector<EventInterest>{
      {{EventResource::kPod, kAdd | kUpdatePodLabel | kDelete}, after_pod_change},
      {{EventResource::kNode, kAdd | kUpdateNodeLabel}, after_node_change},
  };
}

}  // namespace berth::scheduler::inter_pod_affinity

namespace berth::scheduler {

std::unique_ptr<Plugin> make_inter_pod_affinity(const PluginContext& context) {
  return std::make_unique<inter_pod_affinity::InterPodAffinity>(context);
}

}  // namespace berth::scheduler
