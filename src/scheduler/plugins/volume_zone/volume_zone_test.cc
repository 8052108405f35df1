// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/storage_builders.h"
#include "scheduler/cache/storage_state.h"
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;
constexpr const char *kElsewhere =
                         "UnschedulableAndUnresolvable: node(s) had no available volume zone",
                     *kZone = "topology.kubernetes.io/zone",
                     *kRegion = "topology.kubernetes.io/region",
                     *kBetaZone = "failure-domain.beta.kubernetes.io/zone";

TEST(VolumeZone, NodesMustHaveTheLabelsOfTheVolumes) {
  struct Row {
    const char* name;
    StorageBuilder volume;
    NodeBuilder node;
    bool fits;
  };
  const Row rows[] = {
      {"the zone", volume("v").label(kZone, "a"), node("n").zone("a"), true},
      {"another zone", volume("v").label(kZone, "a"), node("n").zone("b"), false},
      {"one of two zones", volume("v").label(kZone, "a__b"), node("n").zone("b"), true},
      {"a node without labels", volume("v").label(kZone, "a"), node("n"), true},
      {"a node with a region only", volume("v").label(kZone, "a"), node("n").region("r"), false},
      {"zone and region", volume("v").label(kZone, "a").label(kRegion, "r"),
       node("n").zone("a").region("r"), true},
      {"zone but not region", volume("v").label(kZone, "a").label(kRegion, "r"),
       node("n").zone("a").region("s"), false},
      {"a beta label on the volume", volume("v").label(kBetaZone, "a"), node("n").zone("a"), true},
      {"a beta label on both", volume("v").label(kBetaZone, "a"),
       node("n").zone("b").label(kBetaZone, "a"), true},
      {"a beta label on the node only", volume("v").label(kZone, "a"),
       node("n").label(kBetaZone, "a"), false},
  };
  for (const Row& row : rows) {
    PluginBench bench("VolumeZone");
    bench.with(row.node);
    bench.cluster().storage().put(row.volume);
    bench.cluster().storage().put(claim("c").bound_to("v"));
    EXPECT_EQ(bench.filter(pod("p").claim("c")).at("n"), row.fits ? "" : kElsewhere) << row.name;
  }
}

TEST(VolumeZone, TellsWhatIsWrongWithClaimsBeforeAnyNode) {
  PluginBench bench("VolumeZone");
  StorageState& storage = bench.cluster().storage();
  storage.put(claim("lost").bound_to("gone"));
  storage.put(claim("classless"));
  storage.put(claim("misclassed").of_class("none"));
  storage.put(claim("modeless").of_class("modeless"));
  storage.put(claim("immediate").of_class("now"));
  storage.put(claim("waiting").of_class("later"));
  storage.put(storage_class("modeless", "p").merge("volumeBindingMode: null"));
  storage.put(storage_class("now", "p", false));
  storage.put(storage_class("later", "p"));
  const std::pair<const char*, const char*> rows[] = {
      {"", "PersistentVolumeClaim had no name"},
      {"absent", "persistentvolumeclaim \"absent\" not found"},
      {"lost", "persistentvolume \"gone\" not found"},
      {"classless", "PersistentVolumeClaim had no pv name and storageClass name"},
      {"misclassed", "storageclass.storage.k8s.io \"none\" not found"},
      {"modeless", "VolumeBindingMode not set for StorageClass \"modeless\""},
      {"immediate", "PersistentVolume had no name"},
  };
  for (const auto& [name, want] : rows) {
    const Status status = bench.prepare(pod("p").claim(name));
    EXPECT_EQ(status.code, Code::kUnresolvable) << name;
    EXPECT_EQ(status.message(), want);
  }
  EXPECT_TRUE(bench.skips(pod("p").claim("waiting")));
}

TEST(VolumeZone, SkipsWhereNoVolumeHasAZone) {
  PluginBench bench("VolumeZone");
  bench.cluster().storage().put(volume("v").label("tier", "x"));
  bench.cluster().storage().put(claim("c").bound_to("v"));
  EXPECT_TRUE(bench.skips(pod("p")));
  EXPECT_TRUE(bench.skips(pod("p").claim("c")));
  EXPECT_TRUE(bench.skips(pod("p").volume("{name: scratch, ephemeral: {}}")));
}

TEST(VolumeZone, QueuesWhenZonesMayFitNow) {
  PluginBench bench("VolumeZone");
  const PodPtr wanted = pod("p").claim("c");
  const auto change = [](EventResource what, EventAction how, const kube::Object& before,
                         const kube::Object& after) {
    return Change{.event = {what, how}, .before = before, .after = after};
  };
  constexpr auto kVolume = EventResource::kPersistentVolume;
  constexpr auto kClaim = EventResource::kPersistentVolumeClaim;
  struct Row {
    const char* name;
    Change change;
    Hint want;
  };
  const Row rows[] = {
      {"a class that waits comes",
       change(EventResource::kStorageClass, action::kAdd, {}, storage_class("s", "p")),
       Hint::kQueue},
      {"a class that does not comes",
       change(EventResource::kStorageClass, action::kAdd, {}, storage_class("s", "p", false)),
       Hint::kSkip},
      {"a node comes", node_event(action::kAdd, nullptr, node("n")), Hint::kQueue},
      {"a node is relabelled", node_event(action::kUpdateNodeLabel, node("n"), node("n")),
       Hint::kQueue},
      {"its claim changes", change(kClaim, action::kUpdate, claim("c"), claim("c")), Hint::kQueue},
      {"another claim changes", change(kClaim, action::kUpdate, claim("d"), claim("d")),
       Hint::kSkip},
      {"a volume comes", change(kVolume, action::kAdd, {}, volume("v")), Hint::kQueue},
      {"a volume moves",
       change(kVolume, action::kUpdate, volume("v").label(kZone, "a"),
              volume("v").label(kZone, "b")),
       Hint::kQueue},
      {"a volume changes otherwise",
       change(kVolume, action::kUpdate, volume("v").label(kZone, "a"),
              volume("v").label(kZone, "a").label("tier", "x")),
       Hint::kSkip},
  };
  for (const Row& row : rows) EXPECT_EQ(bench.hint(wanted, row.change), row.want) << row.name;
}

}  // namespace
}  // namespace berth::scheduler
