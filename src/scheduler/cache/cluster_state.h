// SPDX-License-Identifier: Apache-2.0
// What the scheduler knows of the cluster: nodes as rows, the pods on them (bound or assumed), and
// everything that is counted about them. Changes come one at a time; between two of them all is
// consistent, so a decision needs no snapshot.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduler/cache/columns.h"
#include "scheduler/cache/counters.h"
#include "scheduler/cache/ids.h"
#include "scheduler/cache/node.h"
#include "scheduler/cache/pod.h"
#include "scheduler/cache/row_set.h"
#include "scheduler/cache/rows.h"
#include "scheduler/cache/string_map.h"

namespace berth::scheduler {

class StorageState;     // storage_state.h: volumes, claims, classes, CSI objects
class OwnerState;       // owner_state.h: Services and the controllers that own pods
class BudgetState;      // budget_state.h: PodDisruptionBudgets
class AttachedVolumes;  // attached_volumes.h
struct NodeAttached;

// What a set of tolerations makes of each list of taints. Loop-confined.
class TolerationVerdicts {
 public:
  struct Verdict {
    bool passes = true;          // every NoSchedule and NoExecute taint is tolerated
    std::uint16_t disliked = 0;  // PreferNoSchedule taints that are not
  };
  const Verdict& of(TaintSetId id) const { return verdicts_[index(id)]; }
  const std::vector<kube::Toleration>& tolerations() const { return tolerations_; }

 private:
  friend class ClusterState;
  std::vector<kube::Toleration> tolerations_;
  std::vector<Verdict> verdicts_;
};

// A predicate on node objects with its answer for every node. Loop-confined.
class NodeMatch {
 public:
  bool has(NodeId node) const { return index(node) < in_.size() && in_[index(node)] != 0; }
  bool test(const Node& node) const { return predicate_(node); }

 private:
  friend class ClusterState;
  std::string text_;
  std::function<bool(const Node&)> predicate_;
  std::vector<std::uint8_t> in_;
};

// An image that some node has.
struct ImageOnNode {
  std::int64_t bytes = 0;   // as the first node that reported it has it
  std::uint32_t nodes = 0;  // k8s 1.36: how many had it when this row was last touched
};

struct PortUse {
  NodeId node;
  std::string ip;
  std::uint32_t pods = 0;
};

// Exact sums, for rows whose amounts do not fit a double.
struct NodeSums {
  std::int64_t millicores = 0, memory = 0, disk = 0, nonzero_millicores = 0, nonzero_memory = 0;
};

// Loop-confined.
class ClusterState {
 public:
  ClusterState();
  ~ClusterState();
  ClusterState(const ClusterState&) = delete;
  ClusterState& operator=(const ClusterState&) = delete;
  // A copy that is its own, for planners; counters of sets are made anew when somebody asks.
  std::unique_ptr<ClusterState> clone() const;

  // --- Changes: nodes. Kube's order of rows: zone by zone, round robin. ---
  void put_node(NodePtr);                   // new or changed
  void remove_node(std::string_view name);  // its pods stay known

  // --- Changes: pods with a node. Keyed by uid. ---
  enum class Added : std::uint8_t { kNew, kConfirmed, kMoved, kKnown };
  Added add_pod(PodPtr);    // bound, from the API server; confirms or moves an assumed one
  void update_pod(PodPtr);  // goes to the end of its node's list, as in kube-scheduler
  bool remove_pod(std::string_view uid);
  void assume_pod(PodPtr placed);         // must not be known
  bool forget_pod(std::string_view uid);  // only an assumed one
  bool assumed(std::string_view uid) const;
  PodPtr pod(std::string_view uid) const;  // null: not on any node

  // --- Changes: namespaces. ---
  void put_namespace(std::string name, LabelsPtr labels);
  void remove_namespace(std::string_view name);
  const Labels& namespace_labels(std::string_view name) const;  // empty where unknown
  bool knows_namespace(std::string_view name) const;

  StorageState& storage() { return *storage_; }
  const StorageState& storage() const { return *storage_; }
  OwnerState& owners() { return *owners_; }
  const OwnerState& owners() const { return *owners_; }
  BudgetState& budgets() { return *budgets_; }
  const BudgetState& budgets() const { return *budgets_; }

  // --- Reading: rows. Call begin_cycle() before a decision: it makes the order of rows current and
  // freezes what kube-scheduler freezes when it takes its snapshot. ---
  void begin_cycle();
  std::uint32_t size() const { return table_.size(); }  // rows: nodes with an object
  Rows rows() const { return table_.rows(*this, 0, table_.size()); }
  const Columns& table() const { return table_; }
  std::optional<std::uint32_t> row_of(std::string_view name) const;
  std::optional<std::uint32_t> row_of(NodeId id) const;
  NodeId node_id(std::string_view name) const;  // kNone where unknown
  const Node& node(NodeId id) const { return *slots_[index(id)].node; }
  const NodeSums& sums(NodeId id) const { return slots_[index(id)].sums; }
  std::int64_t scalar_used(NodeId id, ResourceId) const;
  const std::vector<PodPtr>& pods_on(NodeId id) const { return slots_[index(id)].pods; }
  std::uint32_t node_ids() const { return static_cast<std::uint32_t>(slots_.size()); }  // bound
  std::size_t pod_count() const { return records_.size(); }
  std::size_t assumed_count() const { return assumed_; }
  // As kube-scheduler's snapshot has it; nullopt where the node has no such image.
  std::optional<ImageOnNode> image_on(NodeId id, std::string_view normalized_name) const;
  // The same where many nodes are asked about one image. Valid until an image comes or goes.
  class Image {
   public:
    explicit operator bool() const { return state_ != nullptr; }
    bool on(NodeId id) const { return index(id) < on_.size() && on_[index(id)] != 0; }
    std::span<const NodeId> nodes() const { return nodes_; }  // in no order

   private:
    friend class ClusterState;
    const void* state_ = nullptr;
    std::span<const std::uint8_t> on_;
    std::span<const NodeId> nodes_;
  };
  Image find_image(std::string_view normalized_name) const;
  std::optional<ImageOnNode> image_on(NodeId id, Image) const;
  const std::vector<PortUse>* port_users(std::string_view protocol, std::int32_t port) const;
  // How many pods on nodes use the claim "ns/name".
  std::uint32_t claim_users(std::string_view key) const;
  // Changes, never to what it was before, when a pod with volumes comes to the node or leaves it.
  std::uint64_t volumes_epoch(NodeId id) const { return slots_[index(id)].volumes_epoch; }
  // What drivers have to attach for the node's pods; kept. Valid until something changes.
  const NodeAttached& attached_on(NodeId) const;
  std::vector<std::string> node_order() const;  // names of the rows
  template <class F>
  void for_each_pod(F&& f) const {  // f(const PodPtr&, bool assumed); any order
    for (const auto& [uid, record] : records_) f(record.pod, record.assumed);
  }

  template <class F>
  void for_each_node(F&& f) const {  // f(const Node&); any order
    for (const NodeSlot& slot : slots_)
      if (slot.node) f(*slot.node);
  }

  // --- Reading: things that are counted or looked up often; made on first request. ---
  TopologyKeyId topology_key(std::string_view label);
  std::optional<TopologyKeyId> find_topology_key(std::string_view label) const {
    const auto found = key_ids_.find(std::string(label));
    return found == key_ids_.end() ? std::nullopt : std::optional(found->second);
  }
  bool unique(TopologyKeyId) const;            // no domain holds more than one node
  std::uint32_t domains(TopologyKeyId) const;  // bound of its DomainIds
  DomainId domain_of(TopologyKeyId, NodeId) const;
  // The domain that a node with this value of the label is in; kNone where no node is.
  DomainId domain_named(TopologyKeyId, std::string_view value) const;
  ResourceId resource(std::string_view name);
  std::optional<ResourceId> find_resource(std::string_view name) const;
  std::shared_ptr<const TolerationVerdicts> tolerations(const std::vector<kube::Toleration>&);
  // `text` tells predicates apart: equal texts must mean equal predicates. A predicate may read the
  // node's labels and name only.
  std::shared_ptr<const NodeMatch> node_match(const std::string& text,
                                              std::function<bool(const Node&)> predicate);
  std::shared_ptr<const Eligibility> eligibility(Eligibility::Spec);
  PodSetPtr pod_set(const PodSetSpec&);
  CounterPtr counter(const PodSetPtr&, TopologyKeyId, std::shared_ptr<const Eligibility> = nullptr);
  // The sets that such a pod is in (or would be, on a node). Valid until the sets change.
  const std::vector<const PodSet*>& sets_of(const Pod&) const;
  bool contains(const PodSet&, const Pod&) const;
  // Moves whenever a set comes or goes or a namespace changes its labels: which sets a pod is in
  // may be different.
  std::uint64_t shape_epoch() const { return shape_epoch_; }
  std::uint64_t key_epoch() const { return key_epoch_; }  // moves when a key turns unique or shared
  std::uint64_t namespace_epoch() const { return namespace_epoch_; }  // sets were counted anew
  std::uint64_t layout_epoch() const { return layout_epoch_; }  // moves when rows change places

  // --- Reading: the journal of rows. ---
  // Every change of a row is an entry with the row's new values.
  std::uint64_t journal_end() const { return journal_end_; }
  std::uint64_t journal_begin() const;  // the oldest entry that is still there
  struct JournalBlock {                 // entries that lie together
    Rows rows;
    const std::uint32_t* row;  // whose entry it is
    const RowChanges* changes;
  };
  JournalBlock journal_from(std::uint64_t entry, std::uint32_t most) const;  // one at least

  // --- For tests and the checker: everything counted anew; empty when all agrees. ---
  std::string recount() const;

 private:
  friend class Trial;
  struct ImageState {
    std::int64_t bytes = 0;
    std::vector<NodeId> nodes;
    std::vector<std::uint8_t> on;  // by node: whether it is among them; may be shorter
    void mark(NodeId id, bool is) {
      if (index(id) >= on.size()) on.resize(index(id) + 1);
      on[index(id)] = is ? 1 : 0;
    }
  };
  struct FrozenImage {
    const ImageState* image;
    std::uint32_t nodes;
  };
  struct NodeSlot {
    std::string name;
    NodePtr node;  // null: pods name it, but it is not there
    std::uint32_t row = kNoRow;
    NodeSums sums;
    std::vector<std::pair<ResourceId, std::int64_t>> scalars;
    std::vector<PodPtr> pods;
    std::uint32_t ports = 0;  // host ports that its pods hold
    TaintSetId taints = TaintSetId::kNone;
    std::vector<FrozenImage> images;  // by address
    std::uint64_t images_epoch = 0;   // when they were frozen
    bool touched = false;
    std::uint64_t volumes_epoch = 0;
  };
  struct PodRecord {
    PodPtr pod;
    NodeId node = NodeId::kNone;
    std::uint32_t place = 0;  // among the node's pods
    bool assumed = false;
  };
  struct TopologyKey {
    std::string label;
    StringMap<DomainId> ids;
    std::vector<std::uint32_t> nodes_in;  // by domain
    std::vector<DomainId> free;
    std::uint32_t shared = 0;  // domains with more than one node
    std::vector<DomainId> of_node;
  };
  struct TaintSet {
    std::vector<kube::Taint> taints;
    std::string text;
    std::uint32_t nodes = 0;
  };
  // A term that pods hold, whoever they are.
  struct HeldTally {
    HeldTerm term;
    Tally tally;
    std::shared_ptr<DomainCounter> counter;
    std::shared_ptr<PodSet> set;
    std::uint32_t pods = 0;
    ~HeldTally();  // somebody may still hold the counter
  };
  // The terms of one (spec, namespace), and how many pods on nodes hold them.
  struct Held {
    PodSpecPtr spec;
    std::vector<std::shared_ptr<HeldTally>> terms;
    std::uint32_t pods = 0;
  };
  struct MembershipKey {
    const Labels* labels;
    std::string ns;
    bool deleting;
    friend bool operator==(const MembershipKey&, const MembershipKey&) = default;
  };
  struct MembershipHash {
    std::size_t operator()(const MembershipKey& key) const {
      return std::hash<const void*>()(key.labels) ^ (std::hash<std::string>()(key.ns) << 1) ^
             static_cast<std::size_t>(key.deleting);
    }
  };
  struct Membership {
    LabelsPtr labels;  // keeps the key's address its own
    std::uint64_t epoch = 0;
    std::vector<const PodSet*> sets;
  };
  using HeldKey = std::pair<const PodSpec*, std::string>;
  static constexpr std::uint32_t kNoRow = 0xffffffff;

  // cluster_state.cc: pods
  NodeSlot& slot(NodeId id) { return slots_[index(id)]; }
  NodeId slot_named(std::string_view name);
  void release_slot(NodeId);
  void place(PodPtr, NodeId, bool assumed);  // at the end of the node's list
  PodRecord take(std::string_view uid);      // the last one takes its place
  void put_back(PodRecord);                  // undoes take(), the order of the list too
  RowChanges account(const Pod&, NodeId, int sign);
  void account_claims(const Pod&, int sign);

  // cluster_nodes.cc: nodes and rows
  void new_node(NodeId, NodePtr);
  void join_zone(NodeId, const std::string& zone);
  void leave_zone(NodeId, const std::string& zone);
  void touch(NodeId, RowChanges);
  void fill_row(std::uint32_t row);
  void rebuild_layout();
  void write_journal(std::uint32_t row, RowChanges);

  // cluster_lookups.cc: domains, taints, selectors, images
  void enter_domains(NodeId, const Node&);
  void leave_domains(NodeId);
  void enter_domain(TopologyKey&, NodeId, const Node&);
  void leave_domain(TopologyKey&, NodeId);
  TaintSetId enter_taints(const std::vector<kube::Taint>&);
  void leave_taints(TaintSetId);
  static TolerationVerdicts::Verdict judge(const std::vector<kube::Toleration>&,
                                           const std::vector<kube::Taint>&);
  void update_matches(NodeId, const Node*);
  void enter_images(NodeId, const Node&);
  void leave_images(NodeId, const Node&);
  void freeze_images(NodeSlot&);

  // cluster_sets.cc: sets, terms and counters
  RowChanges count_pod(const Pod&, NodeId, int sign);
  void add_to(Tally&, std::span<DomainCounter* const>, NodeId, std::int32_t by);
  void update_eligibility(NodeId, const Node*);
  bool eligible(const Eligibility::Spec&, NodeId) const;
  void enter_counters(NodeId, int sign);
  void enter_tallies(NodeId, int sign);
  Held& held_by(const Pod&);
  std::shared_ptr<HeldTally> held_tally(const PodSetSpec&, const std::string& topology_key,
                                        HeldKind, std::int32_t weight);
  bool in_scope(const PodMatcher&, std::string_view ns) const;
  void count_set(PodSet&);
  void fill_counter(DomainCounter&);
  std::shared_ptr<DomainCounter> new_counter(TopologyKeyId, std::shared_ptr<const Eligibility>,
                                             const Tally&);
  std::shared_ptr<PodSet> find_or_make_set(const PodSetSpec&);
  void forget_set(PodSet*);
  void namespaces_changed();

  std::shared_ptr<ClusterState*> alive_;  // what counted references ask when they end
  std::vector<NodeSlot> slots_;
  std::vector<NodeId> free_slots_;
  StringMap<NodeId> by_name_;
  StringMap<PodRecord> records_;  // by uid
  std::size_t assumed_ = 0;
  // Kube's node tree: zones in order of first appearance, nodes in order of arrival.
  std::vector<std::pair<std::string, std::vector<NodeId>>> zones_;
  Columns table_;
  bool layout_stale_ = false;
  std::uint64_t layout_epoch_ = 0, shape_epoch_ = 1, key_epoch_ = 0, namespace_epoch_ = 0;
  std::vector<NodeId> touched_;

  Columns journal_;
  std::vector<std::uint32_t> journal_rows_;
  std::vector<RowChanges> journal_changes_;
  static constexpr std::uint64_t kNoEntry = ~std::uint64_t{0};
  std::vector<std::uint64_t> last_entry_;  // by row
  std::uint64_t journal_end_ = 0, journal_start_ = 0;

  std::vector<TopologyKey> keys_;
  StringMap<TopologyKeyId> key_ids_;
  StringMap<ResourceId> resource_ids_;
  std::vector<TaintSet> taint_sets_;
  std::vector<TaintSetId> free_taint_sets_;
  StringMap<TaintSetId> taint_ids_;
  StringMap<ImageState> images_;
  std::uint64_t images_epoch_ = 1;
  StringMap<std::vector<PortUse>> ports_;  // "TCP/80"
  StringMap<std::uint32_t> claims_;        // "ns/name" -> pods on nodes
  StringMap<LabelsPtr> namespaces_;

  StringMap<std::weak_ptr<TolerationVerdicts>> tolerations_;
  StringMap<std::weak_ptr<NodeMatch>> matches_;
  std::vector<std::weak_ptr<Eligibility>> eligibilities_;
  StringMap<std::weak_ptr<PodSet>> sets_;      // by text
  StringMap<std::vector<PodSet*>> set_index_;  // by namespace and label, or label alone
  std::vector<PodSet*> unindexed_sets_;
  std::vector<DomainCounter*> counters_;  // every one alive
  StringMap<std::weak_ptr<HeldTally>> held_tallies_;
  std::uint64_t held_clock_ = 0;  // a set that comes again has no epoch that it had before
  std::map<HeldKey, Held> held_;
  mutable std::unordered_map<MembershipKey, Membership, MembershipHash> memberships_;
  std::unique_ptr<StorageState> storage_;
  std::unique_ptr<OwnerState> owners_;
  std::unique_ptr<BudgetState> budgets_;
  std::uint64_t volumes_epoch_ = 0;
  mutable std::unique_ptr<AttachedVolumes> attached_;
};

}  // namespace berth::scheduler
