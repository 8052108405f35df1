// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/admit_room.h"

#include <algorithm>
#include <queue>
#include <set>

#include <fmt/format.h>

#include "policy/scavenge/resources.h"

namespace berth::scavenge {
namespace {

constexpr std::size_t kAlways = 2;  // cpu and memory count, asked for or not

__extension__ typedef __int128 Wide;

std::int64_t part(std::int64_t of, int percent, bool up) {
  const Wide exact = Wide{of} * percent;
  return static_cast<std::int64_t>((exact + (up ? 99 : 0)) / 100);
}

}  // namespace

Room::Room(const AdmitQuestion& question, int threshold_percent)
    : scope_(question.rules.scope), mode_(question.rules.mode), percent_(threshold_percent) {
  resources_ = {"cpu", "memory"};
  std::set<std::string_view> others;
  const auto collect = [&others](const kube::ResourceList& asked) {
    for (const auto& [resource, quantity] : asked)
      if (resource != "cpu" && resource != "memory") others.insert(resource);
  };
  for (const Waiting& waiting : question.waiting) {
    collect(waiting.member);
    if (waiting.beside) collect(*waiting.beside);
  }
  resources_.insert(resources_.end(), others.begin(), others.end());
  for (std::size_t r = 0; r < resources_.size(); ++r)
    counted_.push_back(r < kAlways || is_extended(resources_[r]));

  const std::size_t width = resources_.size();
  const std::size_t cells = question.nodes.size() * width;
  allocatable_.reserve(cells);
  free_.reserve(cells);
  left_.reserve(cells);
  capacity_.assign(width, 0);
  used_.assign(width, 0);
  for (const NodeRoom& node : question.nodes) {
    const Amounts has = amounts(node.allocatable), used = amounts(node.used);
    names_.push_back(&node.name);
    for (std::size_t r = 0; r < width; ++r) {
      allocatable_.push_back(has[r]);
      free_.push_back(has[r] - used[r]);
      left_.push_back(part(has[r], percent_, mode_ == ThresholdMode::kCurrent) - used[r]);
      capacity_[r] = saturating_add(capacity_[r], has[r]);
      used_[r] = saturating_add(used_[r], used[r]);
    }
  }
  const Amounts in_flight = amounts(question.in_flight);
  const Amounts pending = amounts(question.pending);
  for (std::size_t r = 0; r < width; ++r) {
    used_[r] = saturating_add(used_[r], in_flight[r]);
    if (question.rules.respect_pending) used_[r] = saturating_add(used_[r], pending[r]);
  }
  drain(in_flight);
  largest_free_.assign(width, 0);
  for (std::size_t cell = 0; cell < free_.size(); ++cell)
    largest_free_[cell % width] = std::max(largest_free_[cell % width], free_[cell]);
  const bool names_asked =
      std::any_of(question.waiting.begin(), question.waiting.end(),
                  [](const Waiting& waiting) { return !waiting.node_names.empty(); });
  if (names_asked)
    for (std::uint32_t n = 0; n < names_.size(); ++n) by_name_.emplace(*names_[n], n);
}

// Starts that are on their way have been given their room in the order of nodes.
void Room::drain(Amounts amounts) {
  for (std::uint32_t n = 0; n < names_.size(); ++n)
    for (std::size_t r = 0; r < amounts.size(); ++r) {
      const std::int64_t taken = std::min(amounts[r], std::max<std::int64_t>(0, at(free_, n, r)));
      at(free_, n, r) -= taken;
      at(left_, n, r) -= taken;
      amounts[r] -= taken;
    }
}

Amounts Room::amounts(const kube::ResourceList& list) const {
  Amounts all(resources_.size(), 0);
  for (std::size_t r = 0; r < resources_.size(); ++r)
    if (const auto found = list.find(resources_[r]); found != list.end())
      all[r] = amount_of(resources_[r], found->second);
  return all;
}

Shape Room::shape(const Waiting& waiting) const {
  Shape shape{.member = amounts(waiting.member)};
  for (const std::string& name : waiting.node_names)
    if (const auto found = by_name_.find(name); found != by_name_.end())
      shape.nodes.push_back(found->second);
  std::sort(shape.nodes.begin(), shape.nodes.end());
  shape.nodes.erase(std::unique(shape.nodes.begin(), shape.nodes.end()), shape.nodes.end());
  shape.nowhere = !waiting.node_names.empty() && shape.nodes.empty();
  return shape;
}

Shape Room::shape_beside(const Waiting& waiting) const {
  Shape one = shape(waiting);
  one.member = amounts(*waiting.beside);
  return one;
}

std::string Room::text(const Amounts& amounts) const {
  std::string all;
  for (std::size_t r = 0; r < amounts.size(); ++r)
    if (amounts[r] > 0)
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", resources_[r],
                         amount_text(resources_[r], amounts[r]));
  return all.empty() ? "nothing" : all;
}

int Room::short_of(const Amounts& candidate, const Amounts& held) const {
  if (scope_ == ThresholdScope::kNode) return -1;
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    if (!counted_[r] || (candidate[r] == 0 && (r >= kAlways || capacity_[r] == 0))) continue;
    const Wide used = (Wide{used_[r]} + held[r]) * 100;
    const Wide most = Wide{capacity_[r]} * percent_;
    const bool passes =
        mode_ == ThresholdMode::kCurrent ? used < most : used + Wide{candidate[r]} * 100 <= most;
    if (!passes) return static_cast<int>(r);
  }
  return -1;
}

std::string Room::shortage(int resource, const Amounts& candidate) const {
  const auto r = static_cast<std::size_t>(resource);
  const std::string& name = resources_[r];
  return fmt::format("{}: {} of {} in use, {} more asked for", name, amount_text(name, used_[r]),
                     amount_text(name, part(capacity_[r], percent_, false)),
                     amount_text(name, candidate[r]));
}

bool Room::over(std::uint32_t n) const {
  const std::int64_t least = mode_ == ThresholdMode::kCurrent ? 1 : 0;
  for (std::size_t r = 0; r < kAlways; ++r)
    if (at(left_, n, r) < least && at(allocatable_, n, r) > 0) return true;
  return false;
}

std::int64_t Room::count_on(std::uint32_t n, const Shape& shape, std::int64_t most,
                            bool threshold) const {
  const std::size_t width = resources_.size();
  for (std::size_t r = 0; r < width; ++r)
    if (shape.member[r] > 0 && at(free_, n, r) < shape.member[r]) return 0;
  if (threshold && over(n)) return 0;
  std::int64_t count = most;
  for (std::size_t r = 0; r < width; ++r) {
    const std::int64_t each = shape.member[r];
    if (each == 0) continue;
    count = std::min(count, at(free_, n, r) / each);
    if (!threshold || !counted_[r]) continue;
    const std::int64_t left = std::max<std::int64_t>(0, at(left_, n, r));
    const std::int64_t up = mode_ == ThresholdMode::kCurrent ? each - 1 : 0;
    count = std::min(count, saturating_add(left, up) / each);
  }
  return count;
}

template <class Each>
void Room::for_each_node(const Shape& shape, Each each) const {
  if (shape.nowhere) return;
  if (shape.nodes.empty()) {
    for (std::uint32_t n = 0; n < names_.size(); ++n)
      if (!each(n)) return;
  } else {
    for (const std::uint32_t n : shape.nodes)
      if (!each(n)) return;
  }
}

std::vector<Placement> Room::first_fit(const Shape& shape, std::int64_t members,
                                       const std::vector<bool>& without) const {
  std::vector<Placement> placed;
  for (std::size_t r = 0; r < shape.member.size(); ++r)
    if (shape.member[r] > largest_free_[r]) return placed;
  for_each_node(shape, [&](std::uint32_t n) {
    if (!without.empty() && without[n]) return true;
    if (const std::int64_t count = count_on(n, shape, members, by_node()); count > 0) {
      placed.push_back({n, count});
      members -= count;
    }
    return members > 0;
  });
  return placed;
}

bool Room::fits_but_for_threshold(const Shape& shape, std::int64_t members) const {
  for_each_node(shape, [&](std::uint32_t n) {
    members -= count_on(n, shape, members, false);
    return members > 0;
  });
  return members <= 0;
}

std::vector<std::uint32_t> Room::with_room(const Shape& shape, std::size_t most,
                                           const std::vector<bool>& without) const {
  std::vector<std::uint32_t> nodes;
  for_each_node(shape, [&](std::uint32_t n) {
    if ((without.empty() || !without[n]) && count_on(n, shape, 1, by_node()) > 0)
      nodes.push_back(n);
    return nodes.size() < most;
  });
  return nodes;
}

void Room::take(const Shape& shape, const std::vector<Placement>& placements) {
  for (const Placement& placement : placements)
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      const std::int64_t taken = saturating_multiply(shape.member[r], placement.members);
      at(free_, placement.node, r) -= taken;
      at(left_, placement.node, r) -= taken;
      used_[r] = saturating_add(used_[r], taken);
    }
}

void Room::give_back(const Shape& shape, std::vector<Placement> placements) {
  for (Placement& each : placements) each.members = -each.members;
  take(shape, placements);
}

bool Room::within_threshold_when_empty(const Amounts& candidate) const {
  if (scope_ == ThresholdScope::kNode || mode_ == ThresholdMode::kCurrent) return true;
  for (std::size_t r = 0; r < candidate.size(); ++r)
    if (counted_[r] && Wide{candidate[r]} * 100 > Wide{capacity_[r]} * percent_) return false;
  return true;
}

std::vector<std::uint32_t> Room::nodes_to_keep(const Shape& shape, std::int64_t members) const {
  // What has to leave a node before it holds one more, as a share of the node.
  const auto missing = [&](std::uint32_t n, std::int64_t held) {
    double share = 0;
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      const std::int64_t wanted = saturating_multiply(shape.member[r], held + 1);
      if (wanted == 0) continue;
      const std::int64_t has = at(allocatable_, n, r);
      const bool limited = by_node() && counted_[r];
      if (wanted > (limited ? part(has, percent_, false) : has)) return -1.0;
      const std::int64_t room =
          limited ? std::min(at(free_, n, r), at(left_, n, r)) : at(free_, n, r);
      share +=
          static_cast<double>(std::max<std::int64_t>(0, wanted - room)) / static_cast<double>(has);
    }
    return share;
  };
  using Entry = std::tuple<double, std::uint32_t, std::int64_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> cheapest;
  const auto push = [&](std::uint32_t n, std::int64_t held) {
    if (const double share = missing(n, held); share >= 0) cheapest.emplace(share, n, held);
    return true;
  };
  for_each_node(shape, [&](std::uint32_t n) { return push(n, 0); });
  std::set<std::uint32_t> kept;
  for (; members > 0; --members) {
    if (cheapest.empty()) return {};
    const auto [share, n, held] = cheapest.top();
    cheapest.pop();
    kept.insert(n);
    push(n, held + 1);
  }
  return {kept.begin(), kept.end()};
}

}  // namespace berth::scavenge
