// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/node_resources_fit/allocation_score.h"

#include <algorithm>
#include <cmath>

#include "base/vector_code.h"
#include "scheduler/plugins/row_kernel.h"

namespace berth::scheduler {
namespace {

constexpr std::uint32_t kBlock = 256;  // rows worked on at once: sums stay in the first-level cache

// Sums over resources, for a block of rows.
struct Sums {
  double points[kBlock] = {};
  double weights[kBlock] = {};
};

// Two loops each: together they have a branch, and the compiler makes no vector code of them.
BERTH_VECTOR_CODE void add_least(Sums& sums, const double* alloc, const double* used, double asked,
                                 double weight, std::uint32_t count) {
  double *points = sums.points, *weights = sums.weights;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double left = alloc[i] - (used[i] + asked);
    points[i] += percent(left > 0 ? left : 0, alloc[i] != 0 ? alloc[i] : 1) * weight;
  }
  for (std::uint32_t i = 0; i < count; ++i) weights[i] += alloc[i] != 0 ? weight : 0;
}

BERTH_VECTOR_CODE void add_most(Sums& sums, const double* alloc, const double* used, double asked,
                                double weight, std::uint32_t count) {
  double *points = sums.points, *weights = sums.weights;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double taken = used[i] + asked;
    points[i] +=
        percent(taken <= alloc[i] ? taken : alloc[i], alloc[i] != 0 ? alloc[i] : 1) * weight;
  }
  for (std::uint32_t i = 0; i < count; ++i) weights[i] += alloc[i] != 0 ? weight : 0;
}

// k8s 1.36: a resource that scores 0 has no weight either.
void add_ratio(Sums& sums, const std::array<std::int32_t, 101>& by_utilization, const double* alloc,
               const double* used, double asked, double weight, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const double whole = alloc[i], taken = used[i] + asked;
    if (whole == 0) continue;
    const std::int32_t points =
        by_utilization[static_cast<std::size_t>(taken <= whole ? percent(taken, whole) : 100)];
    if (points <= 0) continue;
    sums.points[i] += points * weight;
    sums.weights[i] += weight;
  }
}

// Where nothing has a weight, the points are 0 too.
BERTH_VECTOR_CODE void divide(const Sums& sums, std::uint32_t count, std::int64_t* raw) {
  for (std::uint32_t i = 0; i < count; ++i)
    raw[i] =
        static_cast<std::int32_t>(sums.points[i] / (sums.weights[i] != 0 ? sums.weights[i] : 1));
}

// As Go multiplies: absurd amounts wrap around.
std::int64_t exact_percent(std::int64_t part, std::int64_t whole) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(part) * 100) / whole;
}

std::int32_t broken_line(const std::vector<ShapePoint>& shape, std::int32_t at) {
  constexpr std::int32_t kScale = 10;  // configured scores end at 10, ours at 100
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (at > shape[i].utilization) continue;
    if (i == 0) return shape[0].score * kScale;
    const ShapePoint &left = shape[i - 1], &right = shape[i];
    return left.score * kScale + (right.score - left.score) * kScale * (at - left.utilization) /
                                     (right.utilization - left.utilization);
  }
  return shape.empty() ? 0 : shape.back().score * kScale;
}

}  // namespace

AllocationScore::AllocationScore(const NodeResourcesFitArgs& args) : strategy_(args.strategy) {
  for (std::int32_t u = 0; u <= 100; ++u)
    by_utilization_[static_cast<std::size_t>(u)] = broken_line(args.shape, u);
}

void AllocationScore::score(const std::vector<ScoredResource>& resources, const Rows& rows,
                            const RowSet& of, std::span<std::int64_t> raw) const {
  for_each_run(of, [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t at = begin; at < end; at += kBlock)
      score_run(resources, rows, at, std::min(kBlock, end - at), raw.data() + at);
    for_each_wide(rows, begin, end,
                  [&](std::uint32_t row) { raw[row] = exact(resources, ExactRow(rows, row)); });
  });
}

void AllocationScore::score_run(const std::vector<ScoredResource>& resources, const Rows& rows,
                                std::uint32_t begin, std::uint32_t count, std::int64_t* raw) const {
  Sums sums;
  for (const ScoredResource& resource : resources) {
    const ResourceColumns columns = columns_of(resource, rows, Used::kNonzero);
    if (columns.alloc == nullptr) continue;
    const double *alloc = columns.alloc + begin, *used = columns.used + begin;
    const auto asked = static_cast<double>(resource.asked),
               weight = static_cast<double>(resource.weight);
    switch (strategy_) {
      case Strategy::kLeastAllocated:
        add_least(sums, alloc, used, asked, weight, count);
        break;
      case Strategy::kMostAllocated:
        add_most(sums, alloc, used, asked, weight, count);
        break;
      case Strategy::kRequestedToCapacityRatio:
        add_ratio(sums, by_utilization_, alloc, used, asked, weight, count);
        break;
    }
  }
  if (strategy_ == Strategy::kRequestedToCapacityRatio) {
    for (std::uint32_t i = 0; i < count; ++i)
      raw[i] = static_cast<std::int32_t>(
          std::round(sums.points[i] / (sums.weights[i] != 0 ? sums.weights[i] : 1)));
    return;
  }
  divide(sums, count, raw);
}

std::int64_t AllocationScore::exact(const std::vector<ScoredResource>& resources,
                                    const ExactRow& row) const {
  std::int64_t points = 0, weights = 0;
  for (const ScoredResource& resource : resources) {
    const auto [alloc, used] = exact_amounts(resource, row, Used::kNonzero);
    if (alloc == 0) continue;
    const std::int64_t taken = used + resource.asked;
    std::int64_t one = 0;
    switch (strategy_) {
      case Strategy::kLeastAllocated:
        one = taken > alloc ? 0 : exact_percent(alloc - taken, alloc);
        break;
      case Strategy::kMostAllocated:
        one = exact_percent(std::min(taken, alloc), alloc);
        break;
      case Strategy::kRequestedToCapacityRatio: {
        const std::int64_t u = taken > alloc ? 100 : exact_percent(taken, alloc);
        one = by_utilization_[static_cast<std::size_t>(std::clamp<std::int64_t>(u, 0, 100))];
        if (one <= 0) continue;
        break;
      }
    }
    points += one * resource.weight;
    weights += resource.weight;
  }
  if (weights == 0) return 0;
  if (strategy_ == Strategy::kRequestedToCapacityRatio)
    return static_cast<std::int64_t>(
        std::round(static_cast<double>(points) / static_cast<double>(weights)));
  return points / weights;
}

}  // namespace berth::scheduler
