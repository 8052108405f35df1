// SPDX-License-Identifier: Apache-2.0
// How many pods of a set are where: counted once when a set first appears, then kept by events,
// read at every decision.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/label_selector.h"
#include "scheduler/cache/ids.h"
#include "scheduler/cache/pod.h"
#include "scheduler/cache/rows.h"

namespace berth::scheduler {

class ClusterState;
class PodSet;
class TolerationVerdicts;
class NodeMatch;

// Which nodes count: those that have all these keys, match the selector and have no taint that the
// tolerations do not tolerate. Shared by all counters that ask for the same. Loop-confined.
class Eligibility {
 public:
  struct Spec {
    std::vector<TopologyKeyId> keys;                   // sorted; kItself never stands here
    std::shared_ptr<const NodeMatch> nodes;            // null: any
    std::shared_ptr<const TolerationVerdicts> taints;  // null: any
    friend bool operator==(const Spec&, const Spec&) = default;
  };
  const Spec& spec() const { return spec_; }
  bool has(NodeId node) const { return index(node) < in_.size() && in_[index(node)] != 0; }

 private:
  friend class ClusterState;
  Spec spec_;
  std::vector<std::uint8_t> in_;  // by node
};

// Something that is counted on nodes.
struct Tally {
  std::vector<std::int32_t> by_node;          // may be shorter than the number of nodes: zeros
  std::int64_t total = 0;                     // on nodes that have a row
  RowChanges change = row_change::kAnything;  // what a row's journal entry says when this changed
  std::int32_t on(NodeId node) const {
    return index(node) < by_node.size() ? by_node[index(node)] : 0;
  }
  void prefetch(NodeId node) const { __builtin_prefetch(by_node.data() + index(node)); }
};

// A Tally by the domains of one topology key, over eligible nodes. Loop-confined.
class DomainCounter : public std::enable_shared_from_this<DomainCounter> {
 public:
  TopologyKeyId key() const { return key_; }
  std::int32_t at(DomainId domain) const {
    return index(domain) < by_domain_.size() ? by_domain_[index(domain)] : 0;
  }
  std::int64_t total() const { return total_; }       // over nodes that have the key
  std::uint32_t present() const { return present_; }  // domains with an eligible node
  bool exists(DomainId domain) const {
    return index(domain) < nodes_in_.size() && nodes_in_[index(domain)] > 0;
  }
  // The smallest count of the domains that exist; 0 if none does. Kept where there is an
  // eligibility.
  std::int32_t least() const { return least_; }
  // The same if `domain` had `count` instead of its own.
  std::int32_t least_if(DomainId domain, std::int32_t count) const;
  const std::shared_ptr<const Eligibility>& eligibility() const { return eligibility_; }
  bool eligible(NodeId node) const { return !eligibility_ || eligibility_->has(node); }
  RowChanges change() const { return tally_->change; }  // Tally::change of what is counted

 private:
  friend class ClusterState;
  DomainCounter() = default;
  void add(DomainId domain, std::int32_t by);        // pods
  void add_nodes(DomainId domain, std::int32_t by);  // eligible nodes
  void entered(std::int32_t count);                  // a domain has this count now
  void left(std::int32_t count);                     // and no longer that one
  void find_least();

  TopologyKeyId key_ = TopologyKeyId::kItself;
  std::shared_ptr<const Eligibility> eligibility_;  // null: all nodes
  const Tally* tally_ = nullptr;
  std::shared_ptr<const PodSet> set_;  // keeps the tally, where it is a set's
  std::vector<std::int32_t> by_domain_;
  std::vector<std::uint32_t> nodes_in_;
  std::int32_t least_ = 0;
  std::uint32_t at_least_ = 0;  // domains that exist and have the least count
  std::uint32_t present_ = 0;
  std::int64_t total_ = 0;
};
using CounterPtr = std::shared_ptr<const DomainCounter>;

// Pods chosen by namespace and labels.
struct PodMatcher {
  std::vector<std::string> namespaces;  // sorted
  bool all_namespaces = false;
  std::optional<kube::LabelSelector> namespace_selector;  // besides those listed
  kube::LabelSelector selector;
};
struct PodSetSpec {
  std::vector<PodMatcher> all_of;  // every one must match
  bool live_only = false;          // terminating pods are left out, as spreading does
  std::string text() const;        // equal texts, equal sets
};

// What pods on nodes hold against or for others: a term of theirs whose set is the PodSet it is
// filed under.
enum class HeldKind : std::uint8_t {
  kRequiredAnti,
  kRequired,
  kPreferred,      // weight > 0
  kPreferredAnti,  // weight > 0, counts against
};
struct HeldTerm {
  HeldKind kind = HeldKind::kRequired;
  std::int32_t weight = 0;
  std::shared_ptr<const DomainCounter> holders;  // by the term's key, over all nodes
};

// Loop-confined. Counted: it lives while a shape or a pod's term refers to it.
class PodSet {
 public:
  const PodSetSpec& spec() const { return spec_; }
  const Tally& pods() const { return tally_; }
  // Terms that pods on nodes hold about this set's pods; only those held by at least one.
  const std::vector<const HeldTerm*>& held() const { return held_; }
  std::uint64_t held_epoch() const { return held_epoch_; }  // moves when held() does

 private:
  friend class ClusterState;
  PodSetSpec spec_;
  std::string text_;
  Tally tally_;
  std::vector<DomainCounter*> counters_;
  std::vector<const HeldTerm*> held_;
  std::uint64_t held_epoch_ = 0;
};
using PodSetPtr = std::shared_ptr<const PodSet>;

}  // namespace berth::scheduler
