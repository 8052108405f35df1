// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/cover_search.h"

#include <algorithm>
#include <climits>
#include <limits>
#include <numeric>
#include <tuple>

#include "policy/scavenge/resources.h"

namespace berth::scavenge {
namespace {

constexpr CoverWeight kNever = CoverWeight{1} << 120;
// Up to so many units all sets are within the budget, and the best is found whatever it takes.
// Beyond, what is left to gain soon is not worth the time: all jobs may lose equally per core.
constexpr std::size_t kAlwaysExact = 12;
constexpr std::uint32_t kPatience = 1'000;
constexpr double kExactInDouble = 9e15;

std::int64_t negated(WallTime time) { return -std::max(time.unix_nanos, -INT64_MAX); }

}  // namespace

CoverSearch::CoverSearch(std::span<const Unit> units, std::vector<std::size_t> open,
                         std::span<const std::int64_t> need,
                         const std::function<bool(const UnitSet&)>& fits,
                         std::int64_t give_up_above)
    : units_(units), open_(std::move(open)), fits_(fits) {
  std::vector<std::size_t> short_of;
  for (std::size_t r = 0; r < need.size(); ++r)
    if (need[r] > 0) {
      short_of.push_back(r);
      need_.push_back(need[r]);
    }
  // One violation outweighs all costs, and a unit of cost any number of units.
  CoverWeight all_costs = 1;
  for (std::size_t i = 0; i < size(); ++i) all_costs += std::max<std::int64_t>(0, unit(i).cost);
  const auto one_cost = static_cast<CoverWeight>(size() + 1);
  for (std::size_t i = 0; i < size(); ++i) {
    const Unit& from = unit(i);
    Item& item = items_.emplace_back();
    item.weight = (std::clamp(from.pdb_violations, 0, 1 << 16) * all_costs +
                   std::max<std::int64_t>(0, from.cost)) *
                      one_cost +
                  1;
    for (std::size_t k = 0; k < short_of.size(); ++k) {
      const std::size_t r = short_of[k];
      const std::int64_t freed = r < from.freed.size() ? from.freed[r] : 0;
      item.freed.push_back(std::clamp<std::int64_t>(freed, 0, need_[k]));
    }
  }
  limit_ = kNever;
  if (give_up_above < INT64_MAX && std::none_of(units_.begin(), units_.end(), [](const Unit& each) {
        return each.pdb_violations > 0;
      }))
    limit_ = (CoverWeight{give_up_above} + 1) * one_cost - 1;
}

bool CoverSearch::Rank::better_than(const Rank& other) const {
  return std::tie(weight, not_started, set) < std::tie(other.weight, other.not_started, other.set);
}

bool CoverSearch::coverable() const {
  Set all(size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return covers(all);
}

bool CoverSearch::covers(const Set& set) const {
  for (std::size_t r = 0; r < need_.size(); ++r) {
    std::int64_t freed = 0;
    for (const std::size_t i : set) freed = saturating_add(freed, items_[i].freed[r]);
    if (freed < need_[r]) return false;
  }
  return true;
}

double CoverSearch::share_after(const Set& set, std::size_t unit) const {
  double share = 0;
  for (std::size_t r = 0; r < need_.size(); ++r) {
    std::int64_t missing = need_[r];
    for (const std::size_t i : set) missing -= std::min(missing, items_[i].freed[r]);
    share += static_cast<double>(std::min(missing, items_[unit].freed[r])) /
             static_cast<double>(need_[r]);
  }
  return share;
}

CoverSearch::Rank CoverSearch::rank_of(const Set& set) const {
  Rank rank{.weight = 0, .not_started = INT64_MIN, .set = set};
  std::sort(rank.set.begin(), rank.set.end());
  for (const std::size_t i : set) {
    rank.weight += items_[i].weight;
    rank.not_started = std::max(rank.not_started, negated(unit(i).started));
  }
  return rank;
}

bool CoverSearch::fits(const Set& set) {
  UnitSet places;
  for (const std::size_t i : set) places.push_back(open_[i]);
  std::sort(places.begin(), places.end());
  if (fits_(places)) return true;
  refused_ = true;
  return false;
}

CoverSearch::Answer CoverSearch::offer(const Set& set) {
  Rank rank = rank_of(set);
  if (rank.weight > limit_ || (best_ && !rank.better_than(*best_))) return Answer::kNoBetter;
  if (!fits(set)) return Answer::kRefused;
  limit_ = rank.weight;
  best_ = std::move(rank);
  return Answer::kAccepted;
}

// A unit that frees no less and is no worse makes another one needless as long as it is there
// itself. That holds where `fits` refuses nothing.
void CoverSearch::find_dominators() {
  const auto no_worse = [&](std::size_t a, std::size_t b) {
    const Item &by = items_[a], &of = items_[b];
    if (by.weight > of.weight) return false;
    if (by.weight == of.weight && (a > b || negated(unit(a).started) > negated(unit(b).started)))
      return false;
    for (std::size_t r = 0; r < need_.size(); ++r)
      if (by.freed[r] < of.freed[r]) return false;
    return true;
  };
  const std::size_t words = (size() + 63) / 64;
  dominators_.assign(size(), std::vector<std::uint64_t>(words, 0));
  for (std::size_t b = 0; b < size(); ++b)
    for (std::size_t a = 0; a < size(); ++a)
      if (a != b && no_worse(order_[a], order_[b]))
        dominators_[b][a / 64] |= std::uint64_t{1} << (a % 64);
}

void CoverSearch::run(std::uint32_t budget) {
  budget_ = budget;
  order_.resize(size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::vector<double> price;
  for (std::size_t i = 0; i < size(); ++i) {
    const double share = share_after({}, i);
    price.push_back(share > 0 ? weight(i) / share : std::numeric_limits<double>::infinity());
  }
  std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(price[a], items_[a].weight, negated(unit(a).started), a) <
           std::tuple(price[b], items_[b].weight, negated(unit(b).started), b);
  });
  cheapest_first_.assign(need_.size(), {});
  for (std::size_t r = 0; r < need_.size(); ++r) {
    for (std::size_t p = 0; p < size(); ++p)
      if (const std::int64_t freed = items_[order_[p]].freed[r]; freed > 0)
        cheapest_first_[r].push_back({p, static_cast<double>(freed), weight(order_[p])});
    std::stable_sort(
        cheapest_first_[r].begin(), cheapest_first_[r].end(),
        [](const Step& a, const Step& b) { return a.weight / a.freed < b.weight / b.freed; });
  }
  CoverWeight all = 0;
  for (const Item& item : items_) all += item.weight;
  exact_doubles_ = all < static_cast<CoverWeight>(kExactInDouble);
  excluded_.assign((size() + 63) / 64, 0);
  missing_ = need_;
  least_ = least_more(0);
  nearly_ = least_ + least_ / 100;
  find_dominators();
  use_dominators_ = !refused_;
  const auto search = [&] {
    if (need_.empty() && offer({}) == Answer::kAccepted) return;
    descend(0);
  };
  search();
  if (use_dominators_ && refused_ && complete_) {
    use_dominators_ = false;
    search();
  }
}

bool CoverSearch::dominated(std::size_t position) const {
  if (!use_dominators_) return false;
  for (std::size_t w = 0; w < excluded_.size(); ++w)
    if ((dominators_[position][w] & excluded_[w]) != 0) return true;
  return false;
}

// What has to be added at least, from this place on: each resource by itself, with fractions. What
// doubles cannot hold is rounded down, so that no set is lost to them.
CoverWeight CoverSearch::least_more(std::size_t from) const {
  double most = 1;
  for (std::size_t r = 0; r < need_.size(); ++r) {
    auto lacking = static_cast<double>(missing()[r]);
    if (lacking <= 0) continue;
    if (lacking > kExactInDouble) lacking *= 1 - 1e-12;
    double sum = 0;
    for (const Step& step : cheapest_first_[r]) {
      if (step.place < from) continue;
      if (step.freed < lacking) {
        lacking -= step.freed;
        sum += step.weight;
        continue;
      }
      const double part = lacking / step.freed;
      sum += part < 1 ? step.weight * part * (1 - 1e-14) : step.weight;
      lacking = 0;
      break;
    }
    if (lacking > 0) return kNever;
    most = std::max(most, sum);
  }
  return static_cast<CoverWeight>(exact_doubles_ ? most : most * (1 - 1e-13));
}

bool CoverSearch::enough() const {
  return size() > kAlwaysExact && looked_at_ >= kPatience && best_ && best_->weight <= nearly_;
}

bool CoverSearch::hopeless(std::size_t from) const {
  const CoverWeight least = chosen_weight_ + least_more(from);
  if (least > limit_) return true;
  // Of what weighs the same the later start is taken, and more units never make it later.
  return best_ && least == best_->weight && chosen_not_started_ > best_->not_started;
}

void CoverSearch::descend(std::size_t from) {
  for (std::size_t at = from; at < size() && !hopeless(at); ++at) {
    const std::size_t i = order_[at];
    if (!dominated(at)) {
      if (looked_at_ >= budget_ || enough()) {
        complete_ = false;
        break;
      }
      ++looked_at_;
      const std::int64_t not_started = chosen_not_started_;
      chosen_.push_back(i);
      chosen_weight_ += items_[i].weight;
      chosen_not_started_ = std::max(not_started, negated(unit(i).started));
      bool covered = true;
      for (std::size_t r = 0; r < need_.size(); ++r) {
        const std::int64_t before = missing_[missing_.size() - need_.size()];
        missing_.push_back(before - std::min(before, items_[i].freed[r]));
        covered &= missing_.back() == 0;
      }
      if (!covered || offer(chosen_) == Answer::kRefused) descend(at + 1);
      missing_.resize(missing_.size() - need_.size());
      chosen_not_started_ = not_started;
      chosen_weight_ -= items_[i].weight;
      chosen_.pop_back();
    }
    excluded_[at / 64] |= std::uint64_t{1} << (at % 64);
  }
  for (std::size_t at = from; at < size(); ++at)
    excluded_[at / 64] &= ~(std::uint64_t{1} << (at % 64));
}

Cover CoverSearch::cover() const {
  Cover cover{.found = true, .started = {INT64_MAX}};
  cover.top_tier = INT_MIN;
  for (const std::size_t i : best_->set) {
    const Unit& from = unit(i);
    cover.units.push_back(open_[i]);
    cover.top_tier = std::max(cover.top_tier, from.tier);
    cover.pdb_violations += from.pdb_violations;
    cover.cost = saturating_add(cover.cost, std::max<std::int64_t>(0, from.cost));
    cover.started = std::min(cover.started, from.started);
  }
  std::sort(cover.units.begin(), cover.units.end());
  if (!complete_ && cover.cost > 0 && least_ > 0)
    cover.gap = std::max(1.0, static_cast<double>(best_->weight) / static_cast<double>(least_));
  return cover;
}

}  // namespace berth::scavenge
