// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cycle/shape_cache.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/check.h"
#include "base/vector_code.h"
#include "scheduler/cache/planted_fault.h"

namespace berth::scheduler {
namespace {

constexpr std::uint32_t kBlock = 256;  // journal entries looked at together

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
  return hash ^ hash >> 32;
}

// Are all points from 0 to 100? Then what is added is right.
BERTH_VECTOR_CODE bool add_points(const std::int64_t* points, std::uint32_t count,
                                  std::uint32_t weight, std::uint32_t* local) {
  std::uint64_t beyond = 0;  // 100 - p has its sign bit set above 100, p itself below 0
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto p = static_cast<std::uint64_t>(points[i]);
    beyond |= p | (100 - p);
    local[i] += static_cast<std::uint32_t>(p) * weight;
  }
  return beyond >> 63 == 0;
}

// More groups than this and the plain path is as fast.
std::uint32_t most_groups(std::uint32_t rows) {
  return std::min<std::uint32_t>(std::max<std::uint32_t>(256, rows / 4), 65534);
}

}  // namespace

ShapeCache::ShapeCache(CachePlan plan, const Cycle& cycle, CacheScratch& scratch)
    : plan_(std::move(plan)), stamp_(stamp(cycle)), rows_(cycle.cluster.size()), scratch_(scratch) {
  const std::size_t padded = (std::size_t{rows_} + 63) / 64 * 64;
  group_.assign(padded, kNoGroup);
  local_.assign(padded, 0);
  object_ok_.reset(rows_, false);
  feasible_.reset(rows_, false);
  group_domains_.resize(plan_.keys.size());
  group_own_.resize(plan_.owners.size());
  group_raw_.resize(plan_.normalised.size());
  table_.assign(std::bit_ceil(std::size_t{most_groups(rows_)} * 2), kNoGroup);
  seen_ = cycle.cluster.journal_end();
  const Rows all = cycle.cluster.rows();
  overflow_ = !look(cycle, all);
  for (std::uint32_t row = 0; row < rows_ && !overflow_; ++row) settle(row, row);
}

ShapeCache::Stamp ShapeCache::stamp(const Cycle& cycle) const {
  Stamp now{cycle.cluster.layout_epoch(), cycle.cluster.key_epoch(),
            cycle.cluster.namespace_epoch(), 0};
  if (planted(CacheFault::kKeepOnRemoval)) now.layout = cycle.cluster.size();
  if (!plan_.owners.empty())
    for (const PodSet* set : cycle.cluster.sets_of(cycle.pod))
      now.held = mix(now.held, set->held_epoch());
  return now;
}

bool ShapeCache::fits(const Cycle& cycle) const {
  return !overflow_ && plan_.skipped == cycle.skipped &&
         plan_.skipped_score == cycle.skipped_score && stamp_ == stamp(cycle);
}

bool ShapeCache::catch_up(const Cycle& cycle) {
  const ClusterState& cluster = cycle.cluster;
  const std::uint64_t end = cluster.journal_end();
  if (seen_ < cluster.journal_begin() || end - seen_ > std::max<std::uint64_t>(rows_ / 2, kBlock))
    return false;
  scratch_.regrouping.clear();
  while (seen_ < end) {
    const ClusterState::JournalBlock block = cluster.journal_from(seen_, kBlock);
    const std::uint32_t size = block.rows.size;
    // What to do with an entry cannot be foretold: no branches.
    std::uint32_t keeping[kBlock], regrouping[kBlock], keep = 0, regroup = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      __builtin_prefetch(group_.data() + block.row[i]);
      __builtin_prefetch(local_.data() + block.row[i]);
      const RowChanges changes = block.changes[i];
      const bool moves = (changes & plan_.regrouping) != 0;
      const bool latest = (changes & row_change::kSuperseded) == 0;
      keeping[keep] = i;
      keep += static_cast<std::uint32_t>(latest & !moves);
      regrouping[regroup] = block.row[i];
      regroup += static_cast<std::uint32_t>(moves);
    }
    scratch_.regrouping.insert(scratch_.regrouping.end(), regrouping, regrouping + regroup);
    if (keep > 0) {
      scratch_.ok.reset(size, true);
      if (!look_at_pods(cycle, block.rows)) return false;
      for (std::uint32_t k = 0; k < keep; ++k) {
        if (planted(CacheFault::kSkipJournal) && (seen_ + keeping[k]) % 4 == 0) continue;
        rescore(block.row[keeping[k]], keeping[k]);
      }
    }
    seen_ += size;
  }
  return regroup(cycle);
}

// Only the row's pods changed, and none that its group depends on.
inline void ShapeCache::rescore(std::uint32_t row, std::uint32_t in_block) {
  const bool ok = scratch_.ok.has(in_block);
  const std::uint16_t group = group_[row];
  if (group == kNoGroup) {
    if (ok && object_ok_.has(row)) scratch_.regrouping.push_back(row);
    return;
  }
  if (!ok) return take(row);
  const auto local = static_cast<std::uint16_t>(scratch_.local[in_block]);
  std::uint16_t& mine = local_[row];
  if (mine == local) return;
  Group& of = groups_[group];
  if (mine == of.top && of.at_top > 0) --of.at_top;
  of.raise(local, of.count == 1);
  mine = local;
}

// A row may be in the list because of an earlier change than its last one; it is looked at as it
// is now.
bool ShapeCache::regroup(const Cycle& cycle) {
  const std::vector<std::uint32_t>& list = scratch_.regrouping;
  if (list.empty()) return true;
  const auto count = static_cast<std::uint32_t>(list.size());
  Columns& gathered = scratch_.gathered;
  gathered.match_layout(cycle.cluster.table());
  if (gathered.size() < count) gathered.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) gathered.copy_row(cycle.cluster.table(), list[i], i);
  if (!look(cycle, gathered.rows(cycle.cluster, 0, count))) return false;
  for (std::uint32_t i = 0; i < count; ++i)
    if (!settle(list[i], i)) return false;
  return true;
}

bool ShapeCache::look_at_pods(const Cycle& cycle, const Rows& rows) {
  CacheScratch& block = scratch_;
  for (const Filter* filter : plan_.row_filters)
    if (!filter->filter(cycle, rows, block.ok, nullptr).ok()) return false;
  block.points.resize(std::max<std::size_t>(block.points.size(), rows.size));
  const std::span<std::int64_t> points(block.points.data(), rows.size);
  block.local.assign(rows.size, 0);
  for (const CachePlan::Scorer& scorer : plan_.local) {
    if (!scorer.plugin->score(cycle, rows, block.ok, points).ok()) return false;
    if (add_points(points.data(), rows.size, static_cast<std::uint32_t>(scorer.weight),
                   block.local.data()))
      continue;
    bool in_range = true;  // but rows that are out have no score
    block.ok.for_each(
        [&](std::uint32_t i) { in_range = in_range && points[i] >= 0 && points[i] <= 100; });
    if (!in_range) return false;  // the plain path reports it
  }
  return true;
}

bool ShapeCache::look(const Cycle& cycle, const Rows& rows) {
  CacheScratch& block = scratch_;
  block.ok.reset(rows.size, true);
  for (const Filter* filter : plan_.object_filters)
    if (!filter->filter(cycle, rows, block.ok, nullptr).ok()) return false;
  block.object_ok = block.ok;
  if (!look_at_pods(cycle, rows)) return false;
  block.normalised.resize(std::max(block.normalised.size(), plan_.normalised.size()));
  for (std::size_t n = 0; n < plan_.normalised.size(); ++n) {
    block.normalised[n].resize(rows.size);
    if (!plan_.normalised[n].plugin->score(cycle, rows, block.ok, block.normalised[n]).ok())
      return false;
  }
  block.own.resize(std::max(block.own.size(), plan_.owners.size()));
  for (std::size_t n = 0; n < plan_.owners.size(); ++n) {
    block.own[n].resize(rows.size);
    plan_.owners[n]->own_part(cycle, rows, block.own[n]);
  }
  block.block_domains.clear();
  for (TopologyKeyId key : plan_.keys) block.block_domains.push_back(rows.domain(key));
  block.key.resize(std::max(block.key.size(), key_words()));
  return true;
}

bool ShapeCache::settle(std::uint32_t row, std::uint32_t in_block) {
  CacheScratch& block = scratch_;
  object_ok_.assign(row, block.object_ok.has(in_block));
  if (!block.ok.has(in_block)) {
    take(row);
    return true;
  }
  std::uint64_t* word = block.key.data();
  for (std::size_t k = 0; k < group_domains_.size(); ++k)
    *word++ = index(block.block_domains[k][in_block]);
  for (std::size_t n = 0; n < group_own_.size(); ++n) *word++ = block.own[n][in_block];
  for (std::size_t n = 0; n < group_raw_.size(); ++n)
    *word++ = static_cast<std::uint64_t>(block.normalised[n][in_block]);
  const auto local = static_cast<std::uint16_t>(block.local[in_block]);
  const std::uint16_t before = group_[row];
  // Most changes leave a row in its group.
  const std::uint16_t group = before != kNoGroup && same_key(before) ? before : group_of_key();
  if (group == kNoGroup) {
    overflow_ = true;
    return false;
  }
  if (before == group && local_[row] == local) return true;
  take(row);
  put(row, group, local);
  return true;
}

bool ShapeCache::same_key(std::uint16_t group) const {
  const std::size_t width = key_words();
  const std::uint64_t* const mine = group_keys_.data() + group * width;
  std::uint64_t differing = 0;
  for (std::size_t i = 0; i < width; ++i) differing |= mine[i] ^ scratch_.key[i];
  return differing == 0;
}

std::uint16_t ShapeCache::group_of_key() {
  const std::vector<std::uint64_t>& key = scratch_.key;
  const std::size_t width = key_words();
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < width; ++i) hash = mix(hash, key[i]);
  const std::size_t mask = table_.size() - 1;
  std::size_t at = hash & mask;
  for (; table_[at] != kNoGroup; at = (at + 1) & mask)
    if (same_key(table_[at])) return table_[at];
  if (groups_.size() >= most_groups(rows_)) return kNoGroup;
  const auto fresh = static_cast<std::uint16_t>(groups_.size());
  table_[at] = fresh;
  groups_.emplace_back();
  groups_.back().passes = false;  // until judged; feasible_ has none of its rows
  group_keys_.insert(group_keys_.end(), key.begin(),
                     key.begin() + static_cast<std::ptrdiff_t>(width));
  const std::uint64_t* word = key.data();
  for (auto& column : group_domains_) column.push_back(static_cast<DomainId>(*word++));
  for (auto& column : group_own_) column.push_back(*word++);
  for (auto& column : group_raw_) column.push_back(static_cast<std::int64_t>(*word++));
  return fresh;
}

void ShapeCache::put(std::uint32_t row, std::uint16_t group, std::uint16_t local) {
  Group& of = groups_[group];
  if (of.count++ == 0) ++live_groups_;
  of.raise(local, of.count == 1);
  group_[row] = group;
  local_[row] = local;
  if (of.passes) feasible_.insert(row);
}

void ShapeCache::take(std::uint32_t row) {
  if (group_[row] == kNoGroup) return;
  Group& of = groups_[group_[row]];
  if (--of.count == 0) --live_groups_;
  if (local_[row] == of.top && of.at_top > 0) --of.at_top;
  group_[row] = kNoGroup;
  feasible_.erase(row);
}

GroupRows ShapeCache::rows_of_groups(std::size_t own) const {
  return {static_cast<std::uint32_t>(groups_.size()), plan_.keys, scratch_.domain_columns,
          group_own_[own].data()};
}

void ShapeCache::judge(const Cycle& cycle) {
  if (groups_.empty()) return;
  scratch_.domain_columns.clear();
  for (const auto& column : group_domains_) scratch_.domain_columns.push_back(column.data());
  scratch_.pass.assign(groups_.size(), 1);
  for (const CachePlan::Judge& judge : plan_.judges)
    judge.by_domain->judge(cycle, rows_of_groups(judge.own), scratch_.pass);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const bool passes = scratch_.pass[g] != 0;
    if (groups_[g].passes == passes) continue;
    groups_[g].passes = passes;
    if (planted(CacheFault::kKeepFeasible)) continue;
    if (groups_[g].count > 0)
      mark_group(group_, static_cast<std::uint16_t>(g), passes, feasible_.words());
  }
}

std::optional<ShapeCache::Winner> ShapeCache::decide(Cycle& cycle, std::uint32_t next_start,
                                                     std::span<const std::uint32_t> hidden,
                                                     RowSet* feasible) {
  judge(cycle);
  struct Away {
    std::uint32_t row;
    std::uint16_t group;
  };
  std::vector<Away> away;
  for (std::uint32_t row : hidden) {
    if (group_[row] == kNoGroup) continue;
    away.push_back({row, group_[row]});
    take(row);
  }
  std::optional<Winner> winner = find(cycle, next_start);
  if (feasible != nullptr) *feasible = feasible_;
  for (const Away& back : away) put(back.row, back.group, local_[back.row]);
  return winner;
}

std::optional<ShapeCache::Winner> ShapeCache::find(Cycle& cycle, std::uint32_t next_start) {
  Winner winner;
  std::vector<std::uint16_t>& alive = scratch_.alive;
  alive.clear();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].count == 0 || !groups_[g].passes) continue;
    alive.push_back(static_cast<std::uint16_t>(g));
    winner.feasible += groups_[g].count;
  }
  if (winner.feasible == 0) return winner;
  if (winner.feasible == 1) {
    // k8s 1.36: the only one is taken without a score.
    feasible_.for_each([&](std::uint32_t row) { winner.row = row; });
    return winner;
  }
  if (!value_groups(cycle, winner.feasible)) return std::nullopt;
  winner.total = best_total();
  winner.row = first_tied(winner.total, winner.feasible, next_start);
  return winner;
}

bool ShapeCache::value_groups(Cycle& cycle, std::uint32_t feasible) {
  for (std::uint16_t g : scratch_.alive) groups_[g].value = 0;
  const auto add = [&](const CachePlan::Scorer& scorer, const std::vector<std::int64_t>& raw) {
    scratch_.values.clear();
    for (std::uint16_t g : scratch_.alive) scratch_.values.push_back(raw[g]);
    switch (scorer.plugin->normalization()) {
      case Normalize::kDefault:
        default_normalize(scratch_.values, false);
        break;
      case Normalize::kDefaultReversed:
        default_normalize(scratch_.values, true);
        break;
      case Normalize::kOwn:
        scorer.plugin->normalize(cycle, scratch_.values);
        break;
      case Normalize::kNone:
      case Normalize::kPerNode:
        break;
    }
    for (std::size_t i = 0; i < scratch_.alive.size(); ++i) {
      if (scratch_.values[i] < 0 || scratch_.values[i] > 100)
        return false;  // the plain path reports it
      groups_[scratch_.alive[i]].value += scorer.weight * scratch_.values[i];
    }
    return true;
  };
  for (std::size_t n = 0; n < plan_.normalised.size(); ++n)
    if (!add(plan_.normalised[n], group_raw_[n])) return false;
  if (plan_.by_domain.empty()) return true;
  scratch_.counts.assign(groups_.size(), 0);
  for (std::uint16_t g : scratch_.alive) scratch_.counts[g] = groups_[g].count;
  for (const CachePlan::Scorer& scorer : plan_.by_domain) {
    const GroupRows groups = rows_of_groups(scorer.own);
    scratch_.raw.assign(groups_.size(), 0);
    if (!scorer.by_domain->raw(cycle, {groups, scratch_.counts, feasible}, scratch_.raw))
      continue;  // Skip
    if (!add(scorer, scratch_.raw)) return false;
  }
  return true;
}

void ShapeCache::make_exact(Group& group, std::uint16_t id) {
  const GroupTop found = find_top(group_, local_, id);
  group.top = found.top;
  group.at_top = found.at_top;
}

std::int64_t ShapeCache::best_total() {
  constexpr int kScans = 8;
  for (int scans = 0;; ++scans) {
    std::int64_t best = INT64_MIN;
    std::uint16_t leader = scratch_.alive.front();
    bool reached = false;
    for (std::uint16_t g : scratch_.alive) {
      const Group& group = groups_[g];
      const std::int64_t bound = group.value + group.top;
      if (bound > best) {
        best = bound;
        leader = g;
        reached = group.at_top > 0;
      } else if (bound == best && group.at_top > 0) {
        reached = true;
      }
    }
    if (planted(CacheFault::kStrictBound)) reached = true;
    // A bound that is not reached and equals the best is no tie: its rows have less.
    if (reached) return best;
    if (scans < kScans) {
      make_exact(groups_[leader], leader);
      continue;
    }
    for (std::uint16_t g : scratch_.alive) groups_[g].top = 0, groups_[g].at_top = 0;
    for (std::uint32_t row = 0; row < rows_; ++row) {
      if (group_[row] == kNoGroup) continue;
      Group& group = groups_[group_[row]];
      if (!group.passes) continue;
      if (group.at_top == 0 || local_[row] > group.top) {
        group.top = local_[row];
        group.at_top = 0;
      }
      group.at_top += local_[row] == group.top ? 1 : 0;
    }
  }
}

std::uint32_t ShapeCache::first_tied(std::int64_t best, std::uint32_t feasible,
                                     std::uint32_t next_start) {
  std::vector<GroupAndLocal>& ties = scratch_.ties;
  ties.clear();
  std::uint32_t count = 0;
  for (std::uint16_t g : scratch_.alive) {
    const Group& group = groups_[g];
    if (group.at_top == 0 || group.value + group.top != best) continue;
    ties.push_back({g, group.top});
    count += group.at_top;
  }
  if (planted(CacheFault::kStrictBound) && count == 0) return 0;
  if (count == 1) return find_row(group_, local_, ties, 0, rows_);

  // Ranks count feasible rows from `next_start` on, places from row 0 on.
  const std::vector<std::uint64_t>& words = feasible_.words();
  std::vector<std::uint32_t>& before = scratch_.before;
  before.resize(words.size() + 1);
  count_before(words, before);
  const auto place_of = [&](std::uint32_t row) {
    const std::uint64_t below = (std::uint64_t{1} << row % 64) - 1;
    return before[row / 64] + static_cast<std::uint32_t>(std::popcount(words[row / 64] & below));
  };
  const auto row_at = [&](std::uint32_t place) {
    if (planted(CacheFault::kKeepFeasible) && place >= before.back()) return 0u;
    const auto word = static_cast<std::uint32_t>(
        std::upper_bound(before.begin(), before.end(), place) - before.begin() - 1);
    std::uint64_t bits = words[word];
    for (std::uint32_t skip = place - before[word]; skip > 0; --skip) bits &= bits - 1;
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
  };
  const std::uint32_t start =
      next_start < rows_ && !planted(CacheFault::kRankWithoutStart) ? next_start : 0;
  const std::uint32_t base = place_of(start), wrap = feasible - base;
  const auto next = [&](std::uint32_t rank) {
    std::uint32_t from = 0;
    if (rank < wrap) {
      const std::uint32_t row = find_row(group_, local_, ties, row_at(base + rank), rows_);
      if (row < rows_) return place_of(row) - base;
    } else {
      from = row_at(rank - wrap);
    }
    const std::uint32_t row = find_row(group_, local_, ties, from, start);
    return row < start ? place_of(row) + wrap : feasible;
  };
  const std::uint32_t rank = first_in_preorder(feasible, next);
  return row_at(rank < wrap ? base + rank : rank - wrap);
}

std::size_t ShapeCache::bytes() const {
  return sizeof *this + group_.capacity() * 4 + feasible_.words().capacity() * 16 +
         table_.capacity() * 2 +
         groups_.capacity() * (sizeof(Group) + 8 * key_words() + 4 * plan_.keys.size() +
                               8 * plan_.owners.size() + 8 * plan_.normalised.size() + 16);
}

std::string ShapeCache::check(const Cycle& cycle) const {
  CacheScratch scratch;
  const ShapeCache fresh(plan_, cycle, scratch);
  for (std::uint32_t row = 0; row < rows_; ++row) {
    const std::uint16_t mine = group_[row], theirs = fresh.group_[row];
    if ((mine == kNoGroup) != (theirs == kNoGroup))
      return fmt::format("row {}: kept {}, fresh {}", row, mine != kNoGroup, theirs != kNoGroup);
    if (mine == kNoGroup) continue;
    bool same = local_[row] == fresh.local_[row];
    for (std::size_t k = 0; k < group_domains_.size(); ++k)
      same = same && group_domains_[k][mine] == fresh.group_domains_[k][theirs];
    for (std::size_t n = 0; n < group_own_.size(); ++n)
      same = same && group_own_[n][mine] == fresh.group_own_[n][theirs];
    for (std::size_t n = 0; n < group_raw_.size(); ++n)
      same = same && group_raw_[n][mine] == fresh.group_raw_[n][theirs];
    if (!same) return fmt::format("row {}: its group or local score", row);
    if (feasible_.has(row) != groups_[mine].passes) return fmt::format("row {}: feasible", row);
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const GroupTop exact = find_top(group_, local_, static_cast<std::uint16_t>(g));
    std::uint32_t count = 0;
    for (std::uint32_t row = 0; row < rows_; ++row) count += group_[row] == g ? 1 : 0;
    if (count != groups_[g].count) return fmt::format("group {}: its count", g);
    if (count == 0) continue;
    const bool bound = groups_[g].at_top > 0
                           ? groups_[g].top == exact.top && groups_[g].at_top == exact.at_top
                           : groups_[g].top > exact.top;
    if (!bound) return fmt::format("group {}: its top", g);
  }
  return {};
}

}  // namespace berth::scheduler
