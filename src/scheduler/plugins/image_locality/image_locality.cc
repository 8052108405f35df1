// SPDX-License-Identifier: Apache-2.0
// Prefers nodes that already have the pod's images; large images count for more, and an image that
// few nodes have for less, so that pods do not all go to the one node that has it.
#include <algorithm>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/row_kernel.h"

namespace berth::scheduler {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kLeast = 23 * kMiB, kMostEach = 1000 * kMiB;

std::int64_t scaled(const ImageOnNode& image, std::uint32_t nodes) {
  const double spread = static_cast<double>(image.nodes) / static_cast<double>(nodes);
  return static_cast<std::int64_t>(static_cast<double>(image.bytes) * spread);
}

// k8s 1.36: images of volumes count in the sum and not in its bound.
std::int64_t points_for(std::int64_t bytes, std::uint32_t containers) {
  const std::int64_t most = kMostEach * containers;
  if (bytes < kLeast)
    bytes = kLeast;
  else if (bytes > most)
    bytes = most;
  return 100 * (bytes - kLeast) / (most - kLeast);
}

class ImageLocality final : public Score {
 public:
  explicit ImageLocality(const PluginContext& context) : Plugin(context) {}

  // The counts that go into a score change when their row is touched, and with the number of nodes.
  Reach score_reach(const Shape&) const override { return Reach::kRow; }

  Status score(const Cycle& cycle, const Rows& rows, const RowSet& of,
               std::span<std::int64_t> raw) const override {
    const PodSpec& spec = *cycle.shape.spec;
    const ClusterState& cluster = cycle.cluster;
    std::vector<ClusterState::Image> images;
    std::size_t holders = 0;
    for (const std::string& name : spec.images)
      if (const ClusterState::Image image = cluster.find_image(name)) {
        images.push_back(image);
        holders += image.nodes().size();
      }
    const auto points_on = [&](NodeId node) {
      std::int64_t bytes = 0;
      for (const ClusterState::Image& known : images)
        if (const auto image = cluster.image_on(node, known))
          bytes += scaled(*image, cluster.size());
      return points_for(bytes, spec.image_containers);
    };
    const std::int64_t none = points_for(0, spec.image_containers);
    for_each_run(of, [&](std::uint32_t begin, std::uint32_t end) {
      std::fill(raw.data() + begin, raw.data() + end, none);
    });
    // Most images are on few nodes: with the whole table those are looked up, not all rows.
    const bool by_node = rows.columns == &cluster.table() && holders < rows.size;
    for (const ClusterState::Image& image : images) {
      if (!by_node) {
        for_each_run(of, [&, nodes = rows.node](std::uint32_t begin, std::uint32_t end) {
          for (std::uint32_t row = begin; row < end; ++row)
            if (image.on(nodes[row])) raw[row] = points_on(nodes[row]);
        });
        continue;
      }
      for (const NodeId node : image.nodes()) {
        const std::optional<std::uint32_t> at = cluster.row_of(node);
        if (!at || *at < rows.begin || *at - rows.begin >= rows.size) continue;
        if (of.has(*at - rows.begin)) raw[*at - rows.begin] = points_on(node);
      }
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Plugin> make_image_locality(const PluginContext& context) {
  return std::make_unique<ImageLocality>(context);
}

}  // namespace berth::scheduler
