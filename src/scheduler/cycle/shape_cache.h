// SPDX-License-Identifier: Apache-2.0
// What is known about every node for pods of one shape: two 16-bit numbers a node. Everything that
// normalisation or a topology domain touches is a function of the node's group; everything else is
// its local score. A decision catches up with the rows that changed, works out one value a group,
// and looks for the best node by scanning the two numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/cycle/cache_plan.h"
#include "scheduler/cycle/row_scan.h"
#include "scheduler/cycle/tie_break.h"

namespace berth::scheduler {

// Working memory that caches share: a decision needs it, nothing in it lasts. Loop-confined.
struct CacheScratch {
  // For a block of rows.
  RowSet object_ok, ok;
  std::vector<std::int64_t> points;
  std::vector<std::uint32_t> local;
  std::vector<std::vector<std::int64_t>> normalised;
  std::vector<std::vector<std::uint64_t>> own;
  std::vector<const DomainId*> block_domains;
  std::vector<std::uint64_t> key;         // of one row
  std::vector<std::uint32_t> regrouping;  // rows to look at afresh
  Columns gathered;                       // and their values
  // For groups.
  std::vector<const DomainId*> domain_columns;
  std::vector<std::uint8_t> pass;
  std::vector<std::uint32_t> counts;
  std::vector<std::int64_t> raw, values;
  std::vector<std::uint16_t> alive;
  // For ties.
  std::vector<GroupAndLocal> ties;
  std::vector<std::uint32_t> before;
};

// Loop-confined.
class ShapeCache {
 public:
  ShapeCache(CachePlan plan, const Cycle&, CacheScratch&);  // looks at every row

  bool usable() const { return !overflow_; }  // false: too many groups, or a score out of range

  // False: it was made for another layout of rows, or other things have become part of the answer;
  // make a new one. `cycle` has been prepared, and so have its row scores.
  bool fits(const Cycle&) const;
  // Sees the rows that changed. False: too many did, or too many groups came up; make a new one.
  bool catch_up(const Cycle&);

  struct Winner {
    std::uint32_t feasible = 0;  // nodes; 0: none, and the rest means nothing
    std::uint32_t row = 0;
    std::int64_t total = 0;
  };
  // `next_start`: the row where the list of feasible nodes begins. `hidden`: rows that are out for
  // this pod only. Nothing: a score is out of range. `feasible`, where wanted: the rows.
  std::optional<Winner> decide(Cycle&, std::uint32_t next_start,
                               std::span<const std::uint32_t> hidden = {},
                               RowSet* feasible = nullptr);

  std::size_t bytes() const;
  std::uint32_t groups() const { return live_groups_; }
  // For tests and the checker: the first row whose numbers differ from a fresh look, as text; empty
  // when all agree.
  std::string check(const Cycle&) const;

 private:
  static constexpr std::uint16_t kNoGroup = 0xffff;
  struct Group {
    std::uint32_t count = 0;
    std::uint16_t top = 0;     // no row of the group has more
    std::uint32_t at_top = 0;  // rows that have it; 0: all have less
    std::int64_t value = 0;    // of this decision
    bool passes = true;        // as feasible_ has it

    void raise(std::uint16_t local, bool alone) {  // a row has it now
      if (alone || local > top) {
        top = local;
        at_top = 1;
      } else if (local == top) {
        ++at_top;
      }
    }
  };
  struct Stamp {
    std::uint64_t layout, keys, namespaces, held;  // `held`: terms about such pods
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  Stamp stamp(const Cycle&) const;
  // Into the scratch: which rows of a block pass and what they score locally, and what groups them.
  bool look(const Cycle&, const Rows&);
  bool look_at_pods(const Cycle&, const Rows&);
  std::size_t key_words() const {
    return group_domains_.size() + group_own_.size() + group_raw_.size();
  }
  bool same_key(std::uint16_t group) const;  // as the one in the scratch
  std::uint16_t group_of_key();              // kNoGroup: too many
  void put(std::uint32_t row, std::uint16_t group, std::uint16_t local);
  void take(std::uint32_t row);
  bool settle(std::uint32_t row, std::uint32_t in_block);
  void rescore(std::uint32_t row, std::uint32_t in_block);
  bool regroup(const Cycle&);
  void judge(const Cycle&);
  std::optional<Winner> find(Cycle&, std::uint32_t next_start);
  bool value_groups(Cycle&, std::uint32_t feasible);
  std::int64_t best_total();
  void make_exact(Group&, std::uint16_t id);
  std::uint32_t first_tied(std::int64_t best, std::uint32_t feasible, std::uint32_t next_start);
  GroupRows rows_of_groups(std::size_t own) const;

  CachePlan plan_;
  Stamp stamp_;
  std::uint32_t rows_ = 0;
  std::uint64_t seen_ = 0;
  std::vector<std::uint16_t> group_, local_;  // padded to a multiple of 64 with kNoGroup
  RowSet object_ok_;                          // rows whose node object is not refused
  RowSet feasible_;                           // rows of groups that pass
  std::uint32_t live_groups_ = 0;
  // Groups, column by column; `table_` finds them by a hash of their key.
  std::vector<Group> groups_;
  std::vector<std::uint64_t> group_keys_;  // all of a group's key together, to compare with
  std::vector<std::vector<DomainId>> group_domains_;
  std::vector<std::vector<std::uint64_t>> group_own_;
  std::vector<std::vector<std::int64_t>> group_raw_;
  std::vector<std::uint16_t> table_;
  bool overflow_ = false;
  CacheScratch& scratch_;
};

}  // namespace berth::scheduler
