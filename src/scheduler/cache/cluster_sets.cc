// SPDX-License-Identifier: Apache-2.0
// Sets of pods, the terms that pods hold about each other, and the counters of both. A set is
// counted once, when it is first asked for; from then on only changes touch it.
#include <algorithm>

#include "base/check.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/planted_fault.h"

namespace berth::scheduler {
namespace {

// A pair that every pod of the set has among its labels, if the selector tells one.
std::optional<std::string> needed_label(const kube::LabelSelector& selector) {
  using Op = kube::Requirement::Op;
  for (const kube::Requirement& requirement : selector.requirements()) {
    const bool exact = requirement.op() == Op::kEquals || requirement.op() == Op::kDoubleEquals ||
                       requirement.op() == Op::kIn;
    if (exact && requirement.values().size() == 1)
      return requirement.key() + '\0' + requirement.values()[0];
  }
  return std::nullopt;
}

// Where a set is filed: under its one namespace and a label, under a label, or nowhere.
std::optional<std::string> index_key(const PodSetSpec& spec) {
  if (spec.all_of.empty()) return std::nullopt;
  const PodMatcher& first = spec.all_of.front();
  const std::optional<std::string> label = needed_label(first.selector);
  if (!label) return std::nullopt;
  const bool one =
      !first.all_namespaces && !first.namespace_selector && first.namespaces.size() == 1;
  return (one ? first.namespaces[0] : std::string()) + '\1' + *label;
}

// Sets that ask for the same label share a bit: a pod that is in one of them is often in the
// others too, and with few bits in an entry few shapes take a change for theirs that is not.
enum class Counted : std::uint8_t { kMembers, kHolders };
RowChanges change_of(const PodSetSpec& spec, Counted counted) {
  constexpr std::size_t kBits = 8 * sizeof(RowChanges) - 3;  // from kFirstTally on
  const std::size_t hash = std::hash<std::string>()(index_key(spec).value_or(spec.text()));
  return row_change::kFirstTally << (hash + static_cast<std::size_t>(counted) * 64) % kBits;
}

void remove_from(std::vector<DomainCounter*>& list, const DomainCounter* gone) {
  list.erase(std::remove(list.begin(), list.end(), gone), list.end());
}

}  // namespace

// ---- who is in a set

bool ClusterState::in_scope(const PodMatcher& matcher, std::string_view ns) const {
  if (matcher.all_namespaces) return true;
  if (std::find(matcher.namespaces.begin(), matcher.namespaces.end(), ns) !=
      matcher.namespaces.end())
    return true;
  return matcher.namespace_selector && matches(*matcher.namespace_selector, namespace_labels(ns));
}

bool ClusterState::contains(const PodSet& set, const Pod& pod) const {
  if (set.spec_.live_only && pod.deleting) return false;
  return std::all_of(set.spec_.all_of.begin(), set.spec_.all_of.end(),
                     [&](const PodMatcher& matcher) {
                       return in_scope(matcher, pod.ns) && matches(matcher.selector, *pod.labels);
                     });
}

const std::vector<const PodSet*>& ClusterState::sets_of(const Pod& pod) const {
  constexpr std::size_t kRemembered = 65536;
  if (memberships_.size() > kRemembered) memberships_.clear();
  Membership& known = memberships_[{pod.labels.get(), pod.ns, pod.deleting}];
  if (known.epoch == shape_epoch_) return known.sets;
  known.labels = pod.labels;
  known.epoch = shape_epoch_;
  known.sets.clear();
  const auto try_all = [&](const std::vector<PodSet*>& candidates) {
    for (const PodSet* set : candidates)
      if (contains(*set, pod)) known.sets.push_back(set);
  };
  try_all(unindexed_sets_);
  if (set_index_.empty()) return known.sets;
  std::string key;
  for (const auto& [name, value] : pod.labels->pairs())
    for (const std::string_view ns : {std::string_view(pod.ns), std::string_view()}) {
      key.assign(ns);
      key += '\1';
      key += name;
      key += '\0';
      key += value;
      if (const auto found = set_index_.find(key); found != set_index_.end())
        try_all(found->second);
    }
  return known.sets;
}

// ---- sets

std::shared_ptr<PodSet> ClusterState::find_or_make_set(const PodSetSpec& spec) {
  std::string text = spec.text();
  if (const auto known = sets_.find(text); known != sets_.end())
    if (auto alive = known->second.lock()) return alive;
  std::shared_ptr<PodSet> made(new PodSet, [home = alive_](PodSet* set) {
    if (*home != nullptr) (*home)->forget_set(set);
    delete set;
  });
  made->spec_ = spec;
  made->text_ = text;
  made->held_epoch_ = ++held_clock_;
  made->tally_.change = change_of(spec, Counted::kMembers);
  sets_.insert_or_assign(std::move(text), made);
  if (const std::optional<std::string> key = index_key(spec))
    set_index_[*key].push_back(made.get());
  else
    unindexed_sets_.push_back(made.get());
  ++shape_epoch_;
  count_set(*made);
  return made;
}

PodSetPtr ClusterState::pod_set(const PodSetSpec& spec) { return find_or_make_set(spec); }

void ClusterState::forget_set(PodSet* set) {
  if (const auto known = sets_.find(set->text_); known != sets_.end() && known->second.expired())
    sets_.erase(known);
  const auto drop = [&](std::vector<PodSet*>& list) {
    list.erase(std::remove(list.begin(), list.end(), set), list.end());
  };
  if (const std::optional<std::string> key = index_key(set->spec_)) {
    const auto filed = set_index_.find(*key);
    drop(filed->second);
    if (filed->second.empty()) set_index_.erase(filed);
  } else {
    drop(unindexed_sets_);
  }
  ++shape_epoch_;
}

void ClusterState::count_set(PodSet& set) {
  set.tally_.by_node.assign(slots_.size(), 0);
  set.tally_.total = 0;
  for (const auto& [uid, record] : records_) {
    if (!contains(set, *record.pod)) continue;
    ++set.tally_.by_node[index(record.node)];
    if (slots_[index(record.node)].node) ++set.tally_.total;
  }
  for (DomainCounter* counter : set.counters_) fill_counter(*counter);
}

void ClusterState::namespaces_changed() {
  ++shape_epoch_;
  ++namespace_epoch_;
  for (const auto& [text, weak] : sets_)
    if (const auto set = weak.lock())
      if (std::any_of(set->spec_.all_of.begin(), set->spec_.all_of.end(),
                      [](const PodMatcher& matcher) { return matcher.namespace_selector; }))
        count_set(*set);
}

// ---- counters

std::shared_ptr<DomainCounter> ClusterState::new_counter(
    TopologyKeyId key, std::shared_ptr<const Eligibility> eligibility, const Tally& tally) {
  std::shared_ptr<DomainCounter> made(new DomainCounter, [home = alive_](DomainCounter* counter) {
    if (*home != nullptr) {
      remove_from((*home)->counters_, counter);
      if (counter->set_) remove_from(const_cast<PodSet&>(*counter->set_).counters_, counter);
    }
    delete counter;
  });
  made->key_ = key;
  made->eligibility_ = std::move(eligibility);
  made->tally_ = &tally;
  fill_counter(*made);
  counters_.push_back(made.get());
  return made;
}

CounterPtr ClusterState::counter(const PodSetPtr& of, TopologyKeyId key,
                                 std::shared_ptr<const Eligibility> eligibility) {
  for (DomainCounter* known : of->counters_)
    if (known->key_ == key && known->eligibility_ == eligibility)
      if (auto alive = known->weak_from_this().lock()) return alive;
  auto& set = const_cast<PodSet&>(*of);  // made by us, shared as const
  std::shared_ptr<DomainCounter> made = new_counter(key, std::move(eligibility), set.tally_);
  made->set_ = of;
  set.counters_.push_back(made.get());
  return made;
}

void ClusterState::fill_counter(DomainCounter& counter) {
  counter.by_domain_.assign(domains(counter.key_), 0);
  counter.nodes_in_.assign(domains(counter.key_), 0);
  counter.present_ = counter.at_least_ = 0;
  counter.least_ = 0;
  counter.total_ = 0;
  for (std::uint32_t n = 0; n < slots_.size(); ++n) {
    const auto id = static_cast<NodeId>(n);
    if (!slots_[n].node || !counter.eligible(id)) continue;
    const DomainId domain = domain_of(counter.key_, id);
    if (domain == DomainId::kNone) continue;
    counter.add_nodes(domain, +1);
    if (const std::int32_t pods = counter.tally_->on(id); pods != 0) counter.add(domain, pods);
  }
}

void ClusterState::enter_counters(NodeId id, int sign) {
  for (DomainCounter* counter : counters_) {
    if (!counter->eligible(id)) continue;
    const DomainId domain = domain_of(counter->key_, id);
    if (domain == DomainId::kNone) continue;
    const std::int32_t pods = counter->tally_->on(id);
    if (sign > 0) counter->add_nodes(domain, +1);
    if (pods != 0) counter->add(domain, sign * pods);
    if (sign < 0) counter->add_nodes(domain, -1);
  }
}

void ClusterState::enter_tallies(NodeId id, int sign) {
  for (const auto& [text, weak] : sets_)
    if (const auto set = weak.lock()) set->tally_.total += sign * set->tally_.on(id);
  for (const auto& [text, weak] : held_tallies_)
    if (const auto held = weak.lock()) held->tally.total += sign * held->tally.on(id);
}

void ClusterState::add_to(Tally& tally, std::span<DomainCounter* const> counters, NodeId id,
                          std::int32_t by) {
  if (index(id) >= tally.by_node.size()) tally.by_node.resize(slots_.size());
  tally.by_node[index(id)] += by;
  if (!slots_[index(id)].node) return;
  tally.total += by;
  for (DomainCounter* counter : counters) {
    if (!counter->eligible(id)) continue;
    if (const DomainId domain = domain_of(counter->key_, id); domain != DomainId::kNone)
      counter->add(domain, by);
  }
}

RowChanges ClusterState::count_pod(const Pod& pod, NodeId id, int sign) {
  RowChanges changes = row_change::kPods;
  for (const PodSet* of : sets_of(pod)) {
    auto& set = const_cast<PodSet&>(*of);
    if (planted(CacheFault::kForgetOnDelete) && sign < 0) break;
    add_to(set.tally_, set.counters_, id, sign);
    changes |= set.tally_.change;
  }
  if (planted(CacheFault::kKeepOwnPart)) changes = row_change::kPods;
  const PodAffinity& affinity = pod.spec->affinity;
  if (!affinity.stated || !affinity.error.empty()) return changes;
  Held& held = held_by(pod);
  held.pods = static_cast<std::uint32_t>(static_cast<int>(held.pods) + sign);
  for (const std::shared_ptr<HeldTally>& term : held.terms) {
    DomainCounter* const counter = term->counter.get();
    add_to(term->tally, {&counter, 1}, id, sign);
    changes |= term->tally.change;
    term->pods = static_cast<std::uint32_t>(static_cast<int>(term->pods) + sign);
    std::vector<const HeldTerm*>& list = term->set->held_;
    if (sign > 0 && term->pods == 1) {
      list.push_back(&term->term);
      term->set->held_epoch_ = ++held_clock_;
    } else if (sign < 0 && term->pods == 0) {
      list.erase(std::find(list.begin(), list.end(), &term->term));
      term->set->held_epoch_ = ++held_clock_;
    }
  }
  if (held.pods == 0) held_.erase({pod.spec.get(), pod.ns});
  return changes;
}

// ---- terms that pods hold

ClusterState::HeldTally::~HeldTally() {
  static const Tally kNobody;
  if (counter) counter->tally_ = &kNobody;
}

ClusterState::Held& ClusterState::held_by(const Pod& pod) {
  const auto [at, fresh] = held_.try_emplace({pod.spec.get(), pod.ns});
  Held& held = at->second;
  if (!fresh) return held;
  held.spec = pod.spec;
  const auto hold = [&](const std::vector<AffinityTerm>& terms, HeldKind kind) {
    for (const AffinityTerm& term : terms) {
      PodMatcher matcher{term.namespaces, false, term.namespace_selector, term.selector};
      if (term.own_namespace) matcher.namespaces = {pod.ns};
      held.terms.push_back(held_tally({{matcher}, false}, term.topology_key, kind, term.weight));
    }
  };
  const PodAffinity& affinity = pod.spec->affinity;
  hold(affinity.required_anti, HeldKind::kRequiredAnti);
  hold(affinity.required, HeldKind::kRequired);
  hold(affinity.preferred, HeldKind::kPreferred);
  hold(affinity.preferred_anti, HeldKind::kPreferredAnti);
  return held;
}

std::shared_ptr<ClusterState::HeldTally> ClusterState::held_tally(const PodSetSpec& spec,
                                                                  const std::string& topology_label,
                                                                  HeldKind kind,
                                                                  std::int32_t weight) {
  std::string text = spec.text() + '\1' + topology_label + '\1' +
                     std::to_string(static_cast<int>(kind)) + '\1' + std::to_string(weight);
  if (const auto known = held_tallies_.find(text); known != held_tallies_.end())
    if (auto alive = known->second.lock()) return alive;
  if (held_tallies_.size() % 64 == 63)
    for (auto at = held_tallies_.begin(); at != held_tallies_.end();)
      at = at->second.expired() ? held_tallies_.erase(at) : std::next(at);
  auto made = std::make_shared<HeldTally>();
  made->set = find_or_make_set(spec);
  made->tally.change = change_of(spec, Counted::kHolders);
  made->counter = new_counter(topology_key(topology_label), nullptr, made->tally);
  made->term = {kind, weight, made->counter};
  held_tallies_.insert_or_assign(std::move(text), made);
  return made;
}

// ---- eligible nodes

bool ClusterState::eligible(const Eligibility::Spec& spec, NodeId id) const {
  const NodeSlot& of = slots_[index(id)];
  if (!of.node) return false;
  for (TopologyKeyId key : spec.keys)
    if (domain_of(key, id) == DomainId::kNone) return false;
  if (spec.nodes && !spec.nodes->has(id)) return false;
  return !spec.taints || spec.taints->of(of.taints).passes;
}

std::shared_ptr<const Eligibility> ClusterState::eligibility(Eligibility::Spec spec) {
  std::sort(spec.keys.begin(), spec.keys.end());
  spec.keys.erase(std::unique(spec.keys.begin(), spec.keys.end()), spec.keys.end());
  eligibilities_.erase(std::remove_if(eligibilities_.begin(), eligibilities_.end(),
                                      [](const auto& weak) { return weak.expired(); }),
                       eligibilities_.end());
  for (const std::weak_ptr<Eligibility>& weak : eligibilities_)
    if (auto alive = weak.lock(); alive && alive->spec_ == spec) return alive;
  auto made = std::make_shared<Eligibility>();
  made->spec_ = std::move(spec);
  made->in_.resize(slots_.size());
  for (std::uint32_t n = 0; n < slots_.size(); ++n)
    made->in_[n] = eligible(made->spec_, static_cast<NodeId>(n)) ? 1 : 0;
  eligibilities_.push_back(made);
  return made;
}

void ClusterState::update_eligibility(NodeId id, const Node* node) {
  for (const std::weak_ptr<Eligibility>& weak : eligibilities_)
    if (const auto alive = weak.lock()) {
      if (index(id) >= alive->in_.size()) alive->in_.resize(slots_.size());
      alive->in_[index(id)] = node != nullptr && eligible(alive->spec_, id) ? 1 : 0;
    }
}

}  // namespace berth::scheduler
