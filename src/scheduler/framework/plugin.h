// SPDX-License-Identifier: Apache-2.0
// What a plugin can be. A plugin inherits from the roles it plays; it is made once a profile, keeps
// no pointer to rows and no state of an attempt outside Cycle (except where a role says so). All
// calls come from the scheduler's loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/scope.h"
#include "scheduler/cache/row_set.h"
#include "scheduler/cache/rows.h"
#include "scheduler/framework/cycle.h"
#include "scheduler/framework/event.h"
#include "scheduler/framework/plugin_args.h"
#include "scheduler/framework/plugin_set.h"
#include "scheduler/framework/reasons.h"
#include "scheduler/framework/status.h"

namespace berth::scheduler {

class Profile;   // profile.h
class Services;  // services.h: the API, events, the waiting pods

// What the framework hands a plugin when it makes one.
struct PluginContext {
  PluginId id = PluginId::kNone;
  std::string_view name;
  std::size_t slot = 0;  // where its parts and states stand; dense within a profile
  PluginArgs args;
  ReasonTable& reasons;
  Services* services = nullptr;  // null where nothing may be done, only decided (explain, tests)
  const Profile* profile = nullptr;  // that it will be part of; not complete yet
};

enum class Reach : std::uint8_t {
  kObject,   // answers depend on the pod's shape and the node object
  kRow,      // and on what runs on that node
  kDomain,   // and on counters of the topology domains the node is in; implement ByDomain
  kCluster,  // on anything: never cached, asked about every node for every pod
};

class Plugin {
 public:
  explicit Plugin(const PluginContext& context)
      : id_(context.id), name_(context.name), slot_(context.slot) {}
  virtual ~Plugin() = default;
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  PluginId id() const { return id_; }
  std::string_view name() const { return name_; }
  std::size_t slot() const { return slot_; }

  // Once a shape. The part may hold counted references into the cluster (PodSets, counters, node
  // selectors).
  virtual std::unique_ptr<ShapePart> compile(const Pod&, ClusterState&) const { return nullptr; }
  // What besides spec, namespace and membership makes a shape: appended to its key.
  virtual void shape_key(const Pod&, const ClusterState&, std::string&) const {}

  // Events after which a pod that this plugin refused may fit. nullopt: all of them.
  virtual std::optional<std::vector<EventInterest>> events() const { return std::nullopt; }

 private:
  PluginId id_;
  std::string_view name_;
  std::size_t slot_;
};

class PreEnqueue : public virtual Plugin {
 public:
  virtual Status pre_enqueue(const Pod&) const = 0;  // not ok: the pod is gated
};

// What QueueSort sees of a pod in the queue.
struct QueueEntry {
  const Pod& pod;
  Instant timestamp;  // when it came, or came back after a failed attempt
};
class QueueSort : public virtual Plugin {
 public:
  virtual bool less(const QueueEntry&, const QueueEntry&) const = 0;
};

struct PreFilterResult {
  Status status = {};
  std::optional<std::vector<std::string>> nodes = std::nullopt;  // only these are looked at

  static PreFilterResult skip() { return {Status::skip()}; }
};

class Filter : public virtual Plugin {
 public:
  // PreFilter, once an attempt, for plugins that the profile has at that point; may skip, reject or
  // name nodes.
  virtual PreFilterResult prepare(Cycle&) const { return {}; }

  virtual Reach reach(const Shape&) const { return Reach::kCluster; }
  // Clears from `keep` the rows that the pod cannot use, and looks at no others. `why` is null
  // unless reasons are wanted. An error ends the attempt.
  virtual Status filter(const Cycle&, const Rows&, RowSet& keep, Rejections* why) const = 0;

  // AddPod/RemovePod: a pod was put on (+1) or taken from (-1) the node of a scratch row. Only for
  // plugins that were not skipped. `deltas` is this plugin's own memory for that row, empty at
  // first.
  virtual bool sees_moves() const { return false; }
  virtual void moved(const Cycle&, const Rows&, std::uint32_t /*row*/, const Pod&, int /*sign*/,
                     std::vector<std::int32_t>& /*deltas*/) const {}
};

// Feasible nodes, for plugins whose scores depend on them.
struct FeasibleSummary {
  const Rows& rows;
  const RowSet& feasible;
  std::uint32_t count = 0;
};

enum class Normalize : std::uint8_t {
  kNone,
  kDefault,          // 100 * s / max
  kDefaultReversed,  // 100 - that
  kOwn,              // normalize(), a function of the set of values
  kPerNode,          // normalize(), of anything else: not cached
};

class Score : public virtual Plugin {
 public:
  // PreScore, once an attempt. Skip: this plugin adds nothing.
  virtual Status prepare_score(Cycle&, const FeasibleSummary&) const { return {}; }
  virtual Reach score_reach(const Shape&) const { return Reach::kCluster; }
  // Fills raw[row] for the rows in `of`; the others are not looked at.
  virtual Status score(const Cycle&, const Rows&, const RowSet& of,
                       std::span<std::int64_t> raw) const = 0;
  virtual Normalize normalization() const { return Normalize::kNone; }
  // kOwn and kPerNode: the values of the feasible nodes in order. With kOwn the result for a value
  // depends on that value and on the set of values, not on order or how often it occurs.
  virtual void normalize(const Cycle&, std::span<std::int64_t> /*values*/) const {}
};

// A group of nodes with the same domains and own parts, as columns.
struct GroupRows {
  std::uint32_t size = 0;
  std::span<const TopologyKeyId> keys;
  std::span<const DomainId* const> domains;     // by place in `keys`: a column of domains
  const std::uint64_t* own = nullptr;           // this plugin's own part
  const DomainId* domain(TopologyKeyId) const;  // null: not among the keys
};
// What is known about feasible nodes when they are groups.
struct GroupSummary {
  const GroupRows& groups;
  std::span<const std::uint32_t> counts;  // feasible nodes in each group, 0: none
  std::uint32_t count = 0;                // feasible nodes
};

// For filters and scorers with Reach::kDomain: nodes with equal domains of keys() and equal
// own_part() get equal answers. judge() and raw() read live counters; filter() and score() of the
// same plugin use the same formulas.
class ByDomain {
 public:
  virtual ~ByDomain() = default;
  virtual void keys(const Cycle&, std::vector<TopologyKeyId>&) const = 0;  // shared keys only
  // What comes from the node itself, packed as the plugin likes: counts under keys whose domains
  // hold one node each.
  virtual void own_part(const Cycle&, const Rows&, std::span<std::uint64_t> own) const = 0;
  // Changes of a row after which its own part may be another one; after others it is not asked for.
  virtual RowChanges own_part_changes(const Cycle&) const { return row_change::kAnything; }
  // Clears pass[group] of the groups whose nodes filter() would clear; leaves the others.
  virtual void judge(const Cycle&, const GroupRows&, std::span<std::uint8_t> pass) const = 0;
  // A score of each group with count > 0, as score() would give it for its nodes; false: Skip.
  virtual bool raw(Cycle&, const GroupSummary&, std::span<std::int64_t>) const = 0;
};

struct PostFilterResult {
  Status status;
  // Set: the nomination becomes this ("" clears it). Not set: it stays as it is.
  std::optional<std::string> nominate = std::nullopt;
};
// What a failed attempt found: a verdict for every row of the table.
struct Diagnosis;  // diagnosis.h
class PostFilter : public virtual Plugin {
 public:
  // kWait: the answer takes time, and post_filter_later is called to get it.
  virtual PostFilterResult post_filter(Cycle&, const Diagnosis&) = 0;
  // Meanwhile the cluster may change: rows of the diagnosis are those of the attempt.
  virtual void post_filter_later(Cycle&, const Diagnosis&, Done<PostFilterResult>) {}
};

class Reserve : public virtual Plugin {
 public:
  virtual Status reserve(Cycle&, const std::string& node) = 0;
  virtual void unreserve(Cycle&, const std::string& node) = 0;  // also after a reserve that failed
};

struct PermitResult {
  Status status = {};  // kWait: until allowed, rejected, or `timeout`
  Duration timeout = {};
};
class Permit : public virtual Plugin {
 public:
  virtual PermitResult permit(Cycle&, const std::string& node) = 0;
};

class PreBind : public virtual Plugin {
 public:
  virtual Status pre_bind_pre_flight(Cycle&, const std::string& /*node*/) {
    return {};
  }  // Skip: nothing to do
  virtual void pre_bind(Cycle&, const std::string& node, Done<Status>) = 0;
};

class Bind : public virtual Plugin {
 public:
  virtual void bind(Cycle&, const std::string& node, Done<Status>) = 0;  // Skip: not mine
};

class PostBind : public virtual Plugin {
 public:
  virtual void post_bind(Cycle&, const std::string& node) = 0;
};

// scores of DefaultNormalizeScore.
void default_normalize(std::span<std::int64_t> scores, bool reverse);

}  // namespace berth::scheduler
