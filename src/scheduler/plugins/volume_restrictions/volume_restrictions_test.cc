// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/storage_builders.h"
#include "scheduler/cache/storage_state.h"
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;
constexpr const char *kNoDisk = "Unschedulable: node(s) had no available disk",
                     *kInUse =
                         "Unschedulable: node(s) unavailable due to PersistentVolumeClaim "
                         "with ReadWriteOncePod access mode already in-use by another pod";

TEST(VolumeRestrictions, ADiskIsSharedOnlyWhereItsKindAllows) {
  struct Row {
    const char *name, *held, *wanted;
    bool fits;
  };
  const Row rows[] = {
      {"a GCE disk", "gcePersistentDisk: {pdName: d}", "gcePersistentDisk: {pdName: d}", false},
      {"another GCE disk", "gcePersistentDisk: {pdName: d}", "gcePersistentDisk: {pdName: e}",
       true},
      {"a GCE disk, both reading", "gcePersistentDisk: {pdName: d, readOnly: true}",
       "gcePersistentDisk: {pdName: d, readOnly: true}", true},
      {"a GCE disk, one writing", "gcePersistentDisk: {pdName: d, readOnly: true}",
       "gcePersistentDisk: {pdName: d}", false},
      {"an EBS volume, both reading", "awsElasticBlockStore: {volumeID: v, readOnly: true}",
       "awsElasticBlockStore: {volumeID: v, readOnly: true}", false},
      {"another EBS volume", "awsElasticBlockStore: {volumeID: v}",
       "awsElasticBlockStore: {volumeID: w}", true},
      {"an iSCSI target", "iscsi: {iqn: i, lun: 0}", "iscsi: {iqn: i, lun: 1}", false},
      {"an iSCSI target, both reading", "iscsi: {iqn: i, readOnly: true}",
       "iscsi: {iqn: i, readOnly: true}", true},
      {"an image by a common monitor", "rbd: {monitors: [a, b], pool: p, image: i}",
       "rbd: {monitors: [b, c], pool: p, image: i}", false},
      {"an image without a common monitor", "rbd: {monitors: [a], pool: p, image: i}",
       "rbd: {monitors: [c], pool: p, image: i}", true},
      {"an image of another pool", "rbd: {monitors: [a], pool: p, image: i}",
       "rbd: {monitors: [a], pool: q, image: i}", true},
      {"an image, both reading", "rbd: {monitors: [a], pool: p, image: i, readOnly: true}",
       "rbd: {monitors: [a], pool: p, image: i, readOnly: true}", true},
      {"kinds do not mix", "gcePersistentDisk: {pdName: d}", "awsElasticBlockStore: {volumeID: d}",
       true},
  };
  for (const Row& row : rows) {
    PluginBench bench("VolumeRestrictions");
    const auto with = [](PodBuilder builder, const char* source) {
      return builder.volume(fmt::format("{{name: disk, {}}}", source));
    };
    bench.with(node("busy")).with(node("idle")).with(with(pod("h"), row.held).on("busy"));
    EXPECT_EQ(bench.filter(with(pod("p"), row.wanted)),
              (Verdicts{{"busy", row.fits ? "" : kNoDisk}, {"idle", ""}}))
        << row.name;
  }
}

TEST(VolumeRestrictions, SkipsPodsThatNothingRestricts) {
  PluginBench bench("VolumeRestrictions");
  bench.with(node("n")).with(pod("h").claim("used").on("n"));
  bench.cluster().storage().put(claim("used"));
  bench.cluster().storage().put(claim("free").modes("[ReadWriteOncePod]"));
  EXPECT_TRUE(bench.skips(pod("p")));
  EXPECT_TRUE(bench.skips(pod("p").volume("{name: v, emptyDir: {}}")));
  EXPECT_TRUE(bench.skips(pod("p").claim("used")));
  EXPECT_TRUE(bench.skips(pod("p").claim("free")));
  EXPECT_FALSE(bench.skips(pod("p").volume("{name: v, gcePersistentDisk: {pdName: d}}")));
}

TEST(VolumeRestrictions, AClaimForOnePodKeepsOthersOffEveryNode) {
  PluginBench bench("VolumeRestrictions");
  bench.with(node("busy")).with(node("idle")).with(pod("h").claim("c").on("busy"));
  bench.cluster().storage().put(claim("c").modes("[ReadWriteOncePod]"));
  EXPECT_EQ(bench.filter(pod("p").claim("c")), (Verdicts{{"busy", kInUse}, {"idle", kInUse}}));
}

TEST(VolumeRestrictions, AMissingClaimIsToldBeforeAnyNodeIsLookedAt) {
  PluginBench bench("VolumeRestrictions");
  const Status status = bench.prepare(pod("p").claim("gone"));
  EXPECT_EQ(status.code, Code::kUnresolvable);
  EXPECT_EQ(status.message(), "persistentvolumeclaim \"gone\" not found");
}

// As Profile does it: the plugin is told of moves.
std::string after_moves(PluginBench& bench, const PodPtr& wanted, std::string_view on,
                        const std::function<void(WhatIf&, std::uint32_t)>& moves) {
  const auto attempt = bench.attempt(wanted);
  bench.profile().prepare(attempt->cycle);
  const std::unique_ptr<WhatIf> what_if = bench.profile().what_if(attempt->cycle);
  const std::uint32_t row = what_if->open(bench.cluster().node_id(on));
  moves(*what_if, row);
  RowSet keep(1, true);
  ReasonTable reasons;
  Rejections why(reasons, 1);
  EXPECT_TRUE(bench.profile().filter(attempt->cycle, what_if->row(row), keep, nullptr).ok());
  return keep.has(0) ? "fits" : "does not";
}

TEST(VolumeRestrictions, VictimsGiveClaimsBackByNameAlone) {
  PluginBench bench("VolumeRestrictions");
  const PodPtr holder = pod("h").claim("c").on("busy");
  const PodPtr stranger = pod("s").ns("elsewhere").claim("c").on("busy");
  const PodPtr other = pod("o").claim("d").on("busy");
  bench.with(node("busy")).with(holder).with(stranger).with(other);
  bench.cluster().storage().put(claim("c").modes("[ReadWriteOncePod]"));
  const PodPtr wanted = pod("p").claim("c");
  const auto without = [&](const PodPtr& victim) {
    return after_moves(bench, wanted, "busy",
                       [&](WhatIf& what_if, std::uint32_t row) { what_if.remove(row, victim); });
  };
  EXPECT_EQ(without(holder), "fits");
  EXPECT_EQ(without(other), "does not");
  EXPECT_EQ(without(stranger), "fits") << "namespaces are not compared";
  EXPECT_EQ(after_moves(bench, wanted, "busy",
                        [&](WhatIf& what_if, std::uint32_t row) {
                          what_if.remove(row, holder);
                          what_if.add(row, holder);
                        }),
            "does not");
}

TEST(VolumeRestrictions, QueuesWhenADiskOrClaimMayHaveBecomeFree) {
  PluginBench bench("VolumeRestrictions");
  const PodPtr wanted = pod("p").claim("c").volume("{name: v, gcePersistentDisk: {pdName: d}}");
  struct Row {
    const char* name;
    Change change;
    Hint want;
  };
  const auto gone = [](const PodBuilder& pod) {
    return pod_event(action::kDelete, pod.compile(), nullptr);
  };
  const auto claim_event = [](const kube::Object& after) {
    return Change{.event = {EventResource::kPersistentVolumeClaim, action::kAdd}, .after = after};
  };
  const Row rows[] = {
      {"a pod with the disk goes",
       gone(pod("h").volume("{name: x, gcePersistentDisk: {pdName: d}}")), Hint::kQueue},
      {"a pod with another disk goes",
       gone(pod("h").volume("{name: x, gcePersistentDisk: {pdName: e}}")), Hint::kSkip},
      {"a pod with the claim goes", gone(pod("h").claim("c").on("n")), Hint::kQueue},
      {"a pod with another claim goes", gone(pod("h").claim("d").on("n")), Hint::kSkip},
      {"it was in another namespace", gone(pod("h").ns("other").claim("c").on("n")), Hint::kSkip},
      {"the claim comes", claim_event(claim("c")), Hint::kQueue},
      {"another claim comes", claim_event(claim("d")), Hint::kSkip},
      {"a claim of that name comes elsewhere", claim_event(claim("c", "other")), Hint::kSkip},
      {"a node comes", node_event(action::kAdd, nullptr, node("n")), Hint::kQueue},
      {"a node is relabelled", node_event(action::kUpdateNodeLabel, node("n"), node("n")),
       Hint::kSkip},
  };
  for (const Row& row : rows) EXPECT_EQ(bench.hint(wanted, row.change), row.want) << row.name;
}

}  // namespace
}  // namespace berth::scheduler
