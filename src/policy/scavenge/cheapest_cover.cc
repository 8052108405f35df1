// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/cheapest_cover.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

#include "policy/scavenge/cover_search.h"
#include "policy/scavenge/resources.h"

namespace berth::scavenge {
namespace {

constexpr std::size_t kAlwaysExact = 12;  // units: the budget is enough for all of their sets

// The units in an order of their own, whatever the caller's was.
std::vector<std::size_t> by_uid(std::span<const Unit> units) {
  std::vector<std::size_t> places(units.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(units[a].uid, a) < std::tie(units[b].uid, b);
  });
  return places;
}

using Order = std::function<bool(std::size_t, std::size_t)>;

// All are out; then each comes back, in this order, if the rest still does. `fits` is dear and
// mostly agrees with the numbers, so it need not be asked at every step.
void reprieve(CoverSearch& search, const Order& comes_back_first, bool ask_at_every_step) {
  std::vector<std::size_t> order(search.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), comes_back_first);
  std::vector<std::size_t> set = order;
  if (ask_at_every_step && !search.fits(set)) return;
  for (const std::size_t unit : order) {
    std::vector<std::size_t> rest;
    for (const std::size_t each : set)
      if (each != unit) rest.push_back(each);
    if (search.covers(rest) && (!ask_at_every_step || search.fits(rest))) set = std::move(rest);
  }
  const CoverSearch::Answer answer = search.offer(set);
  if (answer == CoverSearch::Answer::kRefused && !ask_at_every_step)
    reprieve(search, comes_back_first, true);
}

// Takes what is cheapest for the share of the need that it still fills, then drops what turned out
// superfluous.
void greedy(CoverSearch& search) {
  std::vector<std::size_t> set;
  std::vector<bool> taken(search.size(), false);
  while (!search.covers(set)) {
    std::size_t best = search.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < search.size(); ++i) {
      if (taken[i]) continue;
      const double share = search.share_after(set, i);
      if (share <= 0) continue;
      const double price = search.weight(i) / share;
      if (price < least) std::tie(least, best) = std::tuple(price, i);
    }
    if (best == search.size()) return;
    taken[best] = true;
    set.push_back(best);
  }
  std::vector<std::size_t> order = set;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return search.weight(a) > search.weight(b);
  });
  for (const std::size_t unit : order) {
    std::vector<std::size_t> rest;
    for (const std::size_t each : set)
      if (each != unit) rest.push_back(each);
    if (search.covers(rest)) set = std::move(rest);
  }
  search.offer(set);
}

}  // namespace

Cover cheapest_cover(std::span<const Unit> units, std::span<const std::int64_t> need,
                     const std::function<bool(const UnitSet&)>& fits, std::uint32_t budget,
                     std::int64_t give_up_above) {
  Cover best;
  const std::vector<std::size_t> places = by_uid(units);
  std::vector<int> tiers;
  for (const Unit& unit : units) tiers.push_back(unit.tier);
  std::sort(tiers.begin(), tiers.end());
  tiers.erase(std::unique(tiers.begin(), tiers.end()), tiers.end());
  if (tiers.empty()) tiers.push_back(0);

  bool exact = true;
  std::uint32_t looked_at = 0;
  for (const int tier : tiers) {
    std::vector<std::size_t> open;
    for (const std::size_t place : places)
      if (units[place].tier <= tier) open.push_back(place);
    CoverSearch search(units, std::move(open), need, fits, give_up_above);
    if (!search.coverable()) continue;
    greedy(search);
    const Order stock = [&](std::size_t a, std::size_t b) {  // k8s 1.36: the important, the old
      const Unit &one = search.unit(a), &other = search.unit(b);
      return std::tie(other.tier, one.started) < std::tie(one.tier, other.started);
    };
    reprieve(search, stock, false);
    reprieve(
        search, [&](std::size_t a, std::size_t b) { return search.weight(a) > search.weight(b); },
        false);
    std::uint32_t left = budget - std::min(budget, looked_at);
    // Not even all of them out would do: hardly any set will, so not much is spent on it.
    if (!search.found() && search.refused() && search.size() > kAlwaysExact) left /= 64;
    search.run(left);
    if (!search.complete()) reprieve(search, stock, true);
    looked_at += search.looked_at();
    exact &= search.complete();
    if (search.found()) {
      Cover cover = search.cover();
      if (!best.found || cover.pdb_violations < best.pdb_violations) best = std::move(cover);
    }
    if (best.found && best.pdb_violations == 0) break;
  }
  best.exact = exact;
  best.looked_at = looked_at;
  return best;
}

bool better(const Cover& cover, WallTime latest_start, const Cover& than,
            WallTime its_latest_start) {
  if (!cover.found || !than.found) return cover.found && !than.found;
  const auto key = [](const Cover& each, WallTime start) {
    return std::tuple(each.pdb_violations, each.top_tier, each.cost, each.units.size(),
                      -start.unix_nanos);
  };
  return key(cover, latest_start) < key(than, its_latest_start);
}

}  // namespace berth::scavenge
