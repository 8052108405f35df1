// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cycle/fast_path.h"

#include <algorithm>

namespace berth::scheduler {
namespace {

constexpr std::size_t kMostEntries = 4096;
constexpr std::uint64_t kRetryAfter = 1024;  // decisions, where a shape had too many groups

}  // namespace

FastPath::FastPath(const Profile& profile, ClusterState& cluster, const NominatedPods* nominated,
                   Spec spec)
    : profile_(profile), cluster_(cluster), nominated_(nominated), spec_(std::move(spec)) {}

bool FastPath::decide(Decision& decision, std::uint32_t next_start, bool list_feasible) {
  ++uses_;
  const std::uint64_t built = stats_.builds;
  Cycle& cycle = decision.attempt->cycle;
  if (decision.prepared.named) return fall_back("named_nodes"), false;
  if (!cycle.pod.nominated_node_name.empty()) return fall_back("nominated_pod"), false;
  Entry& entry = entry_of(decision.attempt->shape);
  if (entry.layout != cluster_.layout_epoch()) {
    entry.layout = cluster_.layout_epoch();
    entry.retry = 0;
    if (!spec_.at_first_sight) {
      ++stats_.first_sights;
      return false;
    }
  }
  if (!make_current(entry, cycle)) return false;
  hidden_.clear();
  if (nominated_ != nullptr && !nominated_->empty() && !hide_promised(cycle)) {
    fall_back("filter_error");
    return false;
  }
  RowSet rows;
  const std::optional<ShapeCache::Winner> winner =
      entry.cache->decide(cycle, next_start, hidden_, list_feasible ? &rows : nullptr);
  weigh(entry);
  if (!winner) return fall_back("score_out_of_range"), false;
  if (winner->feasible == 0) {
    if (refused_before(entry, decision)) return true;
    fall_back("diagnosis");
    return false;
  }
  if (stats_.builds == built) ++stats_.hits;
  decision.row = winner->row;
  decision.node = cluster_.node(cluster_.table().node[winner->row]).name;
  decision.feasible_count = winner->feasible;
  decision.total = winner->total;
  decision.evaluated = cluster_.size();
  if (list_feasible) {
    rows.for_each([&](std::uint32_t row) { decision.feasible.push_back(row); });
    std::rotate(decision.feasible.begin(),
                std::lower_bound(decision.feasible.begin(), decision.feasible.end(), next_start),
                decision.feasible.end());
  }
  return true;
}

FastPath::Entry& FastPath::entry_of(const std::shared_ptr<const Shape>& shape) {
  if (const auto known = by_shape_.find(shape.get()); known != by_shape_.end()) {
    entries_.splice(entries_.begin(), entries_, known->second);
    return *known->second;
  }
  if (entries_.size() >= kMostEntries) {
    bytes_ -= entries_.back().bytes;
    by_shape_.erase(entries_.back().shape.get());
    entries_.pop_back();
  }
  entries_.emplace_front();
  entries_.front().shape = shape;
  by_shape_.emplace(shape.get(), entries_.begin());
  return entries_.front();
}

bool FastPath::make_current(Entry& entry, Cycle& cycle) {
  if (entry.cache) {
    if (!prepare_row_scores(profile_, cycle, cluster_.rows()).ok())
      return fall_back("pre_score_error"), false;
    if (entry.cache->fits(cycle) && entry.cache->catch_up(cycle)) return true;
  }
  return build(entry, cycle);
}

bool FastPath::build(Entry& entry, Cycle& cycle) {
  if (uses_ < entry.retry) return fall_back("many_groups"), false;
  entry.cache.reset();
  entry.refusal.reset();
  weigh(entry);
  std::string_view why;
  std::optional<CachePlan> plan = plan_cache(profile_, cycle, why);
  if (!plan) return fall_back(why), false;
  auto made = std::make_unique<ShapeCache>(*std::move(plan), cycle, scratch_);
  ++stats_.builds;
  if (spec_.on_build) spec_.on_build();
  if (!made->usable()) {
    entry.retry = uses_ + kRetryAfter;
    return fall_back("many_groups"), false;
  }
  entry.cache = std::move(made);
  return true;
}

std::size_t FastPath::limit() const {
  constexpr std::size_t kUsual = std::size_t{32} << 20, kPerNode = 1536;
  return spec_.bytes.value_or(std::max(kUsual, kPerNode * cluster_.size()));
}

void FastPath::weigh(Entry& entry) {
  bytes_ -= entry.bytes;
  entry.bytes = entry.cache ? entry.cache->bytes() : 0;
  if (entry.refusal) entry.bytes += entry.refusal->diagnosis.by_row.capacity() * sizeof(ReasonId);
  bytes_ += entry.bytes;
  // The one in use stays, whatever its size.
  const std::size_t most = limit();
  for (auto last = entries_.end(); bytes_ > most && entries_.size() > 1;) {
    if (--last == entries_.begin()) break;
    bytes_ -= last->bytes;
    by_shape_.erase(last->shape.get());
    last = entries_.erase(last);
  }
}

// Rows where the pod does not fit beside the pods that were promised the node.
bool FastPath::hide_promised(const Cycle& cycle) {
  std::unique_ptr<WhatIf> what_if;
  for (const std::string& node : nominated_->nodes()) {
    const std::optional<std::uint32_t> row = cluster_.row_of(node);
    if (!row) continue;
    const std::vector<PodPtr> pods = nominated_before(cycle.pod, node, *nominated_);
    if (pods.empty()) continue;
    if (!what_if) what_if = profile_.what_if(cycle);
    const std::uint32_t scratch = what_if->open(cluster_.table().node[*row]);
    for (const PodPtr& pod : pods) what_if->add(scratch, pod);
    hidden_.push_back(*row);
  }
  if (!what_if) return true;
  RowSet keep(what_if->size(), true);
  if (!profile_.filter(cycle, what_if->rows(), keep, nullptr).ok()) return false;
  std::uint32_t scratch = 0;
  std::erase_if(hidden_, [&](std::uint32_t) { return keep.has(scratch++); });
  return true;
}

bool FastPath::refused_before(const Entry& entry, Decision& decision) {
  if (!entry.refusal || (nominated_ != nullptr && !nominated_->empty())) return false;
  const Refusal& before = *entry.refusal;
  if (before.journal != cluster_.journal_end() || before.keys != cluster_.key_epoch() ||
      before.namespaces != cluster_.namespace_epoch() || before.layout != cluster_.layout_epoch())
    return false;
  ++stats_.diagnoses;
  decision.diagnosis = before.diagnosis;
  decision.status = {.code = Code::kUnschedulable};
  decision.evaluated = cluster_.size();
  return true;
}

void FastPath::remember_refusal(const Decision& decision) {
  if (nominated_ != nullptr && !nominated_->empty()) return;
  const auto known = by_shape_.find(decision.attempt->shape.get());
  if (known == by_shape_.end() || !known->second->cache) return;
  known->second->refusal = {cluster_.journal_end(), cluster_.key_epoch(),
                            cluster_.namespace_epoch(), cluster_.layout_epoch(),
                            decision.diagnosis};
  weigh(*known->second);
}

std::size_t FastPath::caches() const {
  return static_cast<std::size_t>(std::count_if(
      entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.cache != nullptr; }));
}

void FastPath::clear() {
  by_shape_.clear();
  entries_.clear();
  bytes_ = 0;
}

std::string FastPath::check(const Decision& decision) const {
  const auto known = by_shape_.find(decision.attempt->shape.get());
  if (known == by_shape_.end() || !known->second->cache) return {};
  return known->second->cache->check(decision.attempt->cycle);
}

}  // namespace berth::scheduler
