// SPDX-License-Identifier: Apache-2.0
// The search for one set of open tiers. Private to cheapest_cover.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "policy/scavenge/cheapest_cover.h"

namespace berth::scavenge {

__extension__ typedef __int128 CoverWeight;

// Thread-compatible; the spans and the function must outlive it. Sets are of places among the open
// units, in any order.
class CoverSearch {
 public:
  enum class Answer : std::uint8_t { kAccepted, kRefused, kNoBetter };
  using Set = std::vector<std::size_t>;

  CoverSearch(std::span<const Unit> units, std::vector<std::size_t> open,
              std::span<const std::int64_t> need, const std::function<bool(const UnitSet&)>& fits,
              std::int64_t give_up_above);

  std::size_t size() const { return open_.size(); }
  const Unit& unit(std::size_t i) const { return units_[open_[i]]; }
  double weight(std::size_t i) const { return static_cast<double>(items_[i].weight); }
  bool coverable() const;
  bool covers(const Set&) const;
  // Which share of what `set` leaves missing the unit fills, summed over resources.
  double share_after(const Set& set, std::size_t unit) const;

  bool fits(const Set&);
  Answer offer(const Set&);  // takes a cover that is better than the best so far and fits
  void run(std::uint32_t budget);

  bool found() const { return best_.has_value(); }
  bool refused() const { return refused_; }  // `fits` said no at least once
  bool complete() const { return complete_; }
  std::uint32_t looked_at() const { return looked_at_; }
  Cover cover() const;

 private:
  struct Item {
    CoverWeight weight = 0;           // violations, cost and one for itself, in one number
    std::vector<std::int64_t> freed;  // of what is needed, at most the need
  };
  struct Rank {  // less is better
    CoverWeight weight = 0;
    std::int64_t not_started = 0;  // the earliest start, negated
    std::vector<std::size_t> set;  // sorted, hence by uid
    bool better_than(const Rank&) const;
  };

  struct Step {
    std::size_t place = 0;  // in `order_`
    double freed = 0, weight = 0;
  };

  Rank rank_of(const Set&) const;
  void find_dominators();
  void descend(std::size_t from);
  bool enough() const;                    // was looked at for what may still be gained
  bool hopeless(std::size_t from) const;  // nothing better can come of what is chosen
  CoverWeight least_more(std::size_t from) const;
  const std::int64_t* missing() const { return missing_.data() + missing_.size() - need_.size(); }
  bool dominated(std::size_t position) const;

  std::span<const Unit> units_;
  std::vector<std::size_t> open_;
  const std::function<bool(const UnitSet&)>& fits_;
  std::vector<std::int64_t> need_;  // of the resources that are short
  std::vector<Item> items_;
  std::optional<Rank> best_;
  CoverWeight least_ = 0;   // nothing can be below this
  CoverWeight nearly_ = 0;  // a hundredth above
  CoverWeight limit_ = 0;   // what weighs more is not wanted
  bool refused_ = false;    // `fits` refused a set that covers the need
  bool complete_ = true;
  std::uint32_t looked_at_ = 0, budget_ = 0;

  // While it runs, by place in the order of branching.
  std::vector<std::size_t> order_;
  std::vector<std::vector<Step>> cheapest_first_;       // by resource
  std::vector<std::vector<std::uint64_t>> dominators_;  // bits: places of `order_`
  std::vector<std::uint64_t> excluded_;
  bool use_dominators_ = true;
  Set chosen_;
  CoverWeight chosen_weight_ = 0;
  std::int64_t chosen_not_started_ = INT64_MIN;
  std::vector<std::int64_t> missing_;  // of each set on the way to the chosen one
  bool exact_doubles_ = false;         // all weights together are a whole number in a double
};

}  // namespace berth::scavenge
