// SPDX-License-Identifier: Apache-2.0
// Keeps pods off nodes without room for what they ask for, and scores nodes by how much of them
// would be allocated.
//
// k8s 1.36: the filter sees requests at pod level, the scorer only those of containers. With
// DRAExtendedResource a resource that a DeviceClass stands for would be left to DynamicResources;
// Berth knows no device classes, so nothing is.
#include <algorithm>
#include <limits>
#include <string>

#include "base/vector_code.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/exact_row.h"
#include "scheduler/plugins/node_resources_fit/allocation_score.h"
#include "scheduler/plugins/node_resources_fit/fit_hints.h"
#include "scheduler/plugins/row_kernel.h"

namespace berth::scheduler {
namespace {

constexpr double kNotAsked = -std::numeric_limits<double>::infinity();  // fits everywhere

struct Part final : ShapePart {
  struct Scalar {
    ResourceId id;
    std::string name;
    std::int64_t amount;
  };
  double cpu = kNotAsked, memory = kNotAsked, disk = kNotAsked;
  std::vector<Scalar> scalars;
  std::vector<ScoredResource> scored;
};

// Which resources are short, as bits; a scalar's is kScalar shifted by its place.
using Shortage = std::uint64_t;
constexpr Shortage kPods = 1, kCpu = 2, kMemory = 4, kDisk = 8, kScalar = 16,
                   kBeyondNode = Shortage{1} << 63;  // more is asked than the node has at all
constexpr std::size_t kScalarBits = 59;

Shortage shortage(const Part& part, const Resources& asked, const Rows& rows, std::uint32_t row) {
  const ExactRow exact(rows, row);
  Shortage found = rows.pod_room[row] < 1 ? kPods : 0;
  const auto check = [&found](std::int64_t want, std::int64_t has, std::int64_t used,
                              Shortage bit) {
    if (want > 0 && want > has - used) found |= want > has ? bit | kBeyondNode : bit;
  };
  const Resources& has = exact.allocatable();
  check(asked.millicores, has.millicores, exact.used().millicores, kCpu);
  check(asked.memory, has.memory, exact.used().memory, kMemory);
  check(asked.disk, has.disk, exact.used().disk, kDisk);
  for (std::size_t i = 0; i < part.scalars.size(); ++i) {
    const auto& [id, name, amount] = part.scalars[i];
    check(amount, has.scalar(name), exact.scalar_used(id, name),
          kScalar << std::min(i, kScalarBits - 1));
  }
  return found;
}

// out[i]: row begin + i has no room.
BERTH_VECTOR_CODE void mark_full(const Rows& rows, const Part& part, std::uint32_t begin,
                                 std::uint32_t count, std::uint8_t* out) {
  const double *cpu_alloc = rows.cpu_alloc + begin, *cpu_used = rows.cpu_used + begin;
  const double *memory_alloc = rows.memory_alloc + begin, *memory_used = rows.memory_used + begin;
  const double cpu = part.cpu, memory = part.memory, disk = part.disk;
  const std::int32_t* room = rows.pod_room + begin;
  for (std::uint32_t i = 0; i < count; ++i)
    out[i] = (room[i] < 1) | (cpu > cpu_alloc[i] - cpu_used[i]) |
             (memory > memory_alloc[i] - memory_used[i]);
  if (disk == kNotAsked) return;
  const double *disk_alloc = rows.disk_alloc + begin, *disk_used = rows.disk_used + begin;
  for (std::uint32_t i = 0; i < count; ++i) out[i] |= disk > disk_alloc[i] - disk_used[i];
}

class NodeResourcesFit final : public Filter, public Score {
 public:
  explicit NodeResourcesFit(const PluginContext& context)
      : Plugin(context),
        args_(std::holds_alternative<NodeResourcesFitArgs>(context.args)
                  ? std::get<NodeResourcesFitArgs>(context.args)
                  : NodeResourcesFitArgs{}),
        scorer_(args_) {}

  std::unique_ptr<ShapePart> compile(const Pod& pod, ClusterState& cluster) const override {
    const Resources& asked = pod.spec->asked;
    auto part = std::make_unique<Part>();
    if (asked.millicores > 0) part->cpu = static_cast<double>(asked.millicores);
    if (asked.memory > 0) part->memory = static_cast<double>(asked.memory);
    if (asked.disk > 0) part->disk = static_cast<double>(asked.disk);
    for (const auto& [name, amount] : asked.scalars)
      if (amount != 0 && !ignored(name))
        part->scalars.push_back({cluster.resource(name), name, amount});
    part->scored = scored_resources(args_.resources, pod.spec->asked_nonzero, cluster);
    return part;
  }

  Reach reach(const Shape&) const override { return Reach::kRow; }
  Status filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                Rejections* why) const override {
    const Part& part = cycle.part<Part>(slot());
    const Resources& asked = cycle.shape.spec->asked;
    std::vector<std::pair<Shortage, ReasonId>> known;
    const auto reason = [&](std::uint32_t row) {
      const Shortage found = shortage(part, asked, rows, row);
      for (const auto& [same, known_id] : known)
        if (same == found) return known_id;
      known.emplace_back(found, why->table().id(id(), code_of(found), reasons_of(part, found)));
      return known.back().second;
    };
    bool wide = false;
    for_each_wide(rows, 0, rows.size, [&wide](std::uint32_t) { wide = true; });
    if (wide) {
      reject_rows(
          keep, why, [&](std::uint32_t row) { return shortage(part, asked, rows, row) != 0; },
          reason);
      return {};
    }
    reject_bytes(
        keep, why,
        [&](std::uint32_t begin, std::uint32_t count, std::uint8_t* out) {
          mark_full(rows, part, begin, count, out);
        },
        reason);
    for (const Part::Scalar& scalar : part.scalars) {
      const auto [alloc, used] = rows.scalar(scalar.id);
      if (alloc == nullptr) {  // no node has any
        reject_rows(
            keep, why, [](std::uint32_t) { return true; }, reason);
        break;
      }
      reject_rows(
          keep, why,
          [amount = static_cast<double>(scalar.amount), has = alloc,
           taken = used](std::uint32_t row) { return amount > has[row] - taken[row]; },
          reason);
    }
    return {};
  }

  Reach score_reach(const Shape&) const override { return Reach::kRow; }
  Status score(const Cycle& cycle, const Rows& rows, const RowSet& of,
               std::span<std::int64_t> raw) const override {
    scorer_.score(cycle.part<Part>(slot()).scored, rows, of, raw);
    return {};
  }

  std::optional<std::vector<EventInterest>> events() const override { return fit_events(); }

 private:
  bool ignored(const std::string& name) const {
    const auto in = [](const std::vector<std::string>& list, std::string_view text) {
      return std::find(list.begin(), list.end(), text) != list.end();
    };
    return is_extended_resource(name) &&
           (in(args_.ignored_resources, name) ||
            in(args_.ignored_resource_groups, std::string_view(name).substr(0, name.find('/'))));
  }
  static Code code_of(Shortage found) {
    return (found & kBeyondNode) != 0 ? Code::kUnresolvable : Code::kUnschedulable;
  }
  static std::vector<std::string> reasons_of(const Part& part, Shortage found) {
    std::vector<std::string> out;
    if ((found & kPods) != 0) out.emplace_back("Too many pods");
    if ((found & kCpu) != 0) out.emplace_back("Insufficient cpu");
    if ((found & kMemory) != 0) out.emplace_back("Insufficient memory");
    if ((found & kDisk) != 0) out.emplace_back("Insufficient ephemeral-storage");
    for (std::size_t i = 0; i < part.scalars.size() && i < kScalarBits; ++i)
      if ((found & kScalar << i) != 0) out.push_back("Insufficient " + part.scalars[i].name);
    return out;
  }

  NodeResourcesFitArgs args_;
  AllocationScore scorer_;
};

}  // namespace

std::unique_ptr<Plugin> make_node_resources_fit(const PluginContext& context) {
  return std::make_unique<NodeResourcesFit>(context);
}

}  // namespace berth::scheduler
