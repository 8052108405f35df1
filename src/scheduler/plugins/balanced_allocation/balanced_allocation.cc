// SPDX-License-Identifier: Apache-2.0
// Prefers nodes whose resources the pod would leave used in more equal shares than before. Every
// floating-point operation is Go's, in Go's order.
#include <algorithm>
#include <cmath>

#include "base/vector_code.h"
#include "scheduler/cache/balance.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/row_kernel.h"
#include "scheduler/plugins/scored_resource.h"

namespace berth::scheduler {
namespace {

struct Part final : ShapePart {
  bool asks = false;  // for at least one of the resources
  std::vector<ScoredResource> resources;
};

std::int64_t points_of(std::int64_t after, std::int64_t before) {
  return 50 + (50 + after - before) / 2;
}

// Shares of a node that are used, one a resource it has.
class Shares {
 public:
  explicit Shares(std::size_t resources) { shares_.reserve(resources); }
  void add(double used, double alloc) {
    double share = used / alloc;
    if (share > 1) share = 1;
    total_ += share;
    shares_.push_back(share);
  }
  std::int64_t balance() const {
    double deviation = 0;
    const auto count = static_cast<double>(shares_.size());
    if (shares_.size() == 2) {
      deviation = std::abs((shares_[0] - shares_[1]) / 2);
    } else if (shares_.size() > 2) {
      const double mean = total_ / count;
      double sum = 0;
      for (const double share : shares_) sum = sum + (share - mean) * (share - mean);
      deviation = std::sqrt(sum / count);
    }
    return static_cast<std::int64_t>((1 - deviation) * 100);
  }

 private:
  double total_ = 0;
  std::vector<double> shares_;
};

std::int64_t points_of_row(const std::vector<ScoredResource>& resources, const Rows& rows,
                           std::uint32_t row) {
  const ExactRow exact(rows, row);
  Shares before(resources.size()), after(resources.size());
  for (const ScoredResource& resource : resources) {
    const auto [alloc, used] = exact_amounts(resource, exact, Used::kAsked);
    if (alloc == 0) continue;
    before.add(static_cast<double>(used), static_cast<double>(alloc));
    after.add(static_cast<double>(used + resource.asked), static_cast<double>(alloc));
  }
  return points_of(after.balance(), before.balance());
}

BERTH_VECTOR_CODE void score_run(const Rows& rows, double cpu, double memory, std::uint32_t begin,
                                 std::uint32_t end, std::int64_t* out) {
  const double *cpu_used = rows.cpu_used, *cpu_alloc = rows.cpu_alloc;
  const double *memory_used = rows.memory_used, *memory_alloc = rows.memory_alloc;
  const std::int32_t* before = rows.balance_before;
  for (std::uint32_t row = begin; row < end; ++row) {
    const std::int32_t after = balance_of(cpu_used[row] + cpu, cpu_alloc[row],
                                          memory_used[row] + memory, memory_alloc[row]);
    out[row] = 50 + (50 + after - before[row]) / 2;
  }
}

class BalancedAllocation final : public Score {
 public:
  explicit BalancedAllocation(const PluginContext& context) : Plugin(context) {
    if (const auto* args = std::get_if<BalancedAllocationArgs>(&context.args)) args_ = *args;
    const auto named = [this](std::string_view name) {
      return std::any_of(args_.resources.begin(), args_.resources.end(),
                         [name](const ResourceWeight& r) { return r.name == name; });
    };
    cpu_and_memory_ = args_.resources.size() == 2 && named("cpu") && named("memory");
  }

  std::unique_ptr<ShapePart> compile(const Pod& pod, ClusterState& cluster) const override {
    const Resources& asked = pod.spec->used;
    auto part = std::make_unique<Part>();
    for (const ResourceWeight& resource : args_.resources)
      part->asks = part->asks || asked.of(resource.name) != 0;
    part->resources = scored_resources(args_.resources, asked, cluster);
    return part;
  }

  Status prepare_score(Cycle& cycle, const FeasibleSummary&) const override {
    return cycle.part<Part>(slot()).asks ? Status{} : Status::skip();
  }
  Reach score_reach(const Shape&) const override { return Reach::kRow; }
  Status score(const Cycle& cycle, const Rows& rows, const RowSet& of,
               std::span<std::int64_t> raw) const override {
    const Part& part = cycle.part<Part>(slot());
    if (!part.asks) {
      std::fill(raw.begin(), raw.end(), 0);
      return {};
    }
    if (!cpu_and_memory_) {
      of.for_each([&](std::uint32_t row) { raw[row] = points_of_row(part.resources, rows, row); });
      return {};
    }
    const Resources& asked = cycle.shape.spec->used;
    const auto cpu = static_cast<double>(asked.millicores);
    const auto memory = static_cast<double>(asked.memory);
    for_each_run(of, [&](std::uint32_t begin, std::uint32_t end) {
      score_run(rows, cpu, memory, begin, end, raw.data());
      for_each_wide(rows, begin, end, [&](std::uint32_t row) {
        raw[row] = points_of_row(part.resources, rows, row);
      });
    });
    return {};
  }

 private:
  BalancedAllocationArgs args_;
  bool cpu_and_memory_ = true;  // of which the table keeps the balance before
};

}  // namespace

std::unique_ptr<Plugin> make_balanced_allocation(const PluginContext& context) {
  return std::make_unique<BalancedAllocation>(context);
}

}  // namespace berth::scheduler
