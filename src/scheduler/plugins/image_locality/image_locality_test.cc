// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;
constexpr std::int64_t kMiB = 1024 * 1024;

PodBuilder with_images(std::initializer_list<const char*> images) {
  std::string containers;
  for (const char* image : images)
    containers += fmt::format("{{name: c{}, image: '{}'}},", containers.size(), image);
  return pod("p").spec(fmt::format("containers: [{}]", containers));
}

// The first two rows are kube-scheduler's own tests; the others follow from the formula by hand.
TEST(ImageLocality, LargeImagesThatManyNodesHaveScoreMore) {
  struct Row {
    const char* name;
    PodBuilder pod;
    std::vector<NodeBuilder> nodes;
    Points want;
  };
  const auto n1 = [] {
    return node("n1").image("gcr.io/40:latest", 40 * kMiB).image("gcr.io/300:latest", 300 * kMiB);
  };
  const auto n2 = [] { return node("n2").image("gcr.io/250:latest", 250 * kMiB); };
  const Row rows[] = {
      {"40 on one of two, 250 on the other",
       with_images({"gcr.io/40", "gcr.io/250"}),
       {n1(), n2()},
       {{"n1", 0}, {"n2", 5}}},
      {"40 and 300 on one",
       with_images({"gcr.io/40", "gcr.io/300"}),
       {n1(), n2()},
       {{"n1", 7}, {"n2", 0}}},
      {"more than the bound",
       with_images({"gcr.io/huge"}),
       {node("n1").image("gcr.io/huge:latest", 4000 * kMiB), node("n2")},
       {{"n1", 100}, {"n2", 0}}},
      {"an image twice counts twice",
       with_images({"gcr.io/250", "gcr.io/250"}),
       {n2().image("gcr.io/x:1", kMiB)},
       {{"n2", 24}}},
      {"unknown images", with_images({"gcr.io/none"}), {n1(), n2()}, {{"n1", 0}, {"n2", 0}}},
  };
  for (const Row& row : rows) {
    PluginBench bench("ImageLocality");
    for (const NodeBuilder& n : row.nodes) bench.with(n);
    EXPECT_EQ(bench.raw(row.pod), row.want) << row.name;
  }
}

TEST(ImageLocality, InitContainersAndImageVolumesCountButOnlyContainersRaiseTheBound) {
  const auto points = [](const PodBuilder& p) {
    PluginBench bench("ImageLocality");
    bench.with(node("n").image("a:1", 500 * kMiB).image("b:1", 400 * kMiB));
    return bench.raw(p).at("n");
  };
  EXPECT_EQ(points(with_images({"a:1"})), 48);
  EXPECT_EQ(points(with_images({"a:1"}).init_container("{name: i, image: 'b:1'}")), 44);
  EXPECT_EQ(points(with_images({"a:1"}).volume("{name: v, image: {reference: 'b:1'}}")), 89);
}

TEST(ImageLocality, SparseAndCommonImagesAgree) {
  // Enough nodes that images on few of them are looked up from the image's side.
  PluginBench bench("ImageLocality");
  for (int i = 0; i < 130; ++i) {
    NodeBuilder n = node(fmt::format("n{:03}", i));
    n.image("all:1", 900 * kMiB);
    if (i % 50 == 0) n.image("few:1", 9000 * kMiB);
    bench.with(n);
  }
  const Points few = bench.raw(with_images({"few:1"}));
  EXPECT_EQ(few.at("n000"), 18);
  EXPECT_EQ(few.at("n001"), 0);
  const Points both = bench.raw(with_images({"few:1", "all:1"}));
  EXPECT_EQ(both.at("n001"), 44);
  EXPECT_EQ(both.at("n100"), 54);
}

}  // namespace
}  // namespace berth::scheduler
