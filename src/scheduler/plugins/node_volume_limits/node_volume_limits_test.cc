// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/storage_builders.h"
#include "scheduler/cache/storage_state.h"
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;
constexpr const char *kFull = "Unschedulable: node(s) exceed max volume count",
                     *kDriver = "csi.example.com", *kGke = "pd.csi.storage.gke.io";

// A node that attaches `limit` volumes, and claims a, b and c that are bound to volumes of the
// driver.
struct Lab {
  explicit Lab(int limit, std::string_view driver = kDriver) {
    bench.with(node("n"));
    put(csi_node("n", {{driver, limit}}));
    for (const char* name : {"a", "b", "c"}) bound(name, kDriver, name);
  }
  void put(const kube::Object& object) { bench.cluster().storage().put(object); }
  void bound(std::string_view name, std::string_view driver, std::string_view handle) {
    put(claim(name).bound_to(name));
    put(volume(name).csi(driver, handle));
  }
  bool fits(const PodPtr& wanted) {
    const std::string verdict = bench.filter(wanted).at("n");
    EXPECT_TRUE(verdict.empty() || verdict == kFull) << verdict;
    return verdict.empty();
  }
  PluginBench bench{"NodeVolumeLimits"};
};

TEST(NodeVolumeLimits, CountsDistinctVolumesOfADriver) {
  Lab lab(2);
  lab.bench.with(pod("h1").claim("a").on("n")).with(pod("h2").claim("a").on("n"));
  EXPECT_TRUE(lab.fits(pod("p").claim("b"))) << "a is attached once for both pods";
  EXPECT_FALSE(lab.fits(pod("p").claim("b").claim("c")));
  EXPECT_TRUE(lab.fits(pod("p").claim("a").claim("b"))) << "a is there already";
  lab.bound("same", kDriver, "a");
  EXPECT_TRUE(lab.fits(pod("p").claim("same").claim("b"))) << "another claim, the same volume";
}

TEST(NodeVolumeLimits, OtherDriversHaveLimitsOfTheirOwn) {
  Lab lab(1);
  lab.bench.with(pod("h").claim("a").on("n"));
  lab.bound("other", "other.example.com", "x");
  EXPECT_TRUE(lab.fits(pod("p").claim("other"))) << "no limit is stated";
  lab.put(csi_node("n", {{kDriver, 1}, {"other.example.com", 0}}));
  EXPECT_FALSE(lab.fits(pod("p").claim("other")));
}

TEST(NodeVolumeLimits, ANodeWithoutLimitsTakesAll) {
  Lab lab(0);
  EXPECT_FALSE(lab.fits(pod("p").claim("a")));
  lab.put(StorageBuilder(kube::kCsiNode, "n").spec("drivers: [{name: csi.example.com}]"));
  EXPECT_TRUE(lab.fits(pod("p").claim("a")));
  lab.bench.cluster().storage().remove(csi_node("n", {}));
  EXPECT_TRUE(lab.fits(pod("p").claim("a")));
}

TEST(NodeVolumeLimits, ClaimsThatAreNotBoundCountForTheProvisionerOfTheirClass) {
  Lab lab(1);
  lab.put(storage_class("fast", kDriver));
  lab.put(claim("new1").of_class("fast"));
  lab.put(claim("new2").of_class("fast"));
  lab.put(claim("lost").of_class("fast").bound_to("gone"));
  lab.put(claim("unclassed"));
  EXPECT_TRUE(lab.fits(pod("p").claim("new1")));
  EXPECT_FALSE(lab.fits(pod("p").claim("new1").claim("new2")));
  EXPECT_FALSE(lab.fits(pod("p").claim("new1").claim("lost")));
  EXPECT_TRUE(lab.fits(pod("p").claim("new1").claim("unclassed")));
}

TEST(NodeVolumeLimits, WhatIsStillAttachedCountsUnlessAPodThereUsesIt) {
  Lab lab(2);
  lab.bench.with(pod("h").claim("a").on("n"));
  lab.put(attachment("of-a", kDriver, "n", "a"));
  EXPECT_TRUE(lab.fits(pod("p").claim("b")));
  lab.put(attachment("of-c", kDriver, "n", "c"));
  EXPECT_FALSE(lab.fits(pod("p").claim("b")));
  lab.bench.cluster().storage().remove(attachment("of-c", kDriver, "n", "c"));
  for (const StorageBuilder& other :
       {attachment("elsewhere", kDriver, "m", "c"), attachment("nobody's", "", "n", "c"),
        attachment("of nothing", kDriver, "n", "gone")})
    lab.put(other);
  EXPECT_TRUE(lab.fits(pod("p").claim("b")));
}

TEST(NodeVolumeLimits, InTreeVolumesCountForTheDriversThatServeThem) {
  const PodPtr wanted = pod("p").volume("{name: v, gcePersistentDisk: {pdName: new}}");
  Lab lab(1, kGke);
  EXPECT_TRUE(lab.fits(wanted));
  lab.put(volume("disk").spec("gcePersistentDisk: {pdName: old}"));
  lab.put(claim("in-tree").bound_to("disk"));
  lab.bench.with(pod("h").claim("in-tree").on("n"));
  EXPECT_FALSE(lab.fits(wanted));
  EXPECT_TRUE(lab.fits(pod("p").volume("{name: v, gcePersistentDisk: {pdName: old}}")));
  lab.put(storage_class("gce", "kubernetes.io/gce-pd"));
  lab.put(claim("new").of_class("gce"));
  EXPECT_FALSE(lab.fits(pod("p").claim("new")));
}

TEST(NodeVolumeLimits, AzureFilesAndVsphereDisksAreNotCounted) {
  Lab lab(0, "file.csi.azure.com");
  EXPECT_FALSE(lab.bench.skips(pod("p").volume("{name: v, azureFile: {shareName: s}}")));
  EXPECT_TRUE(lab.fits(pod("p").volume("{name: v, azureFile: {shareName: s}}")));
  lab.put(storage_class("file", "kubernetes.io/azure-file"));
  lab.put(claim("new").of_class("file"));
  EXPECT_TRUE(lab.fits(pod("p").claim("new")));
}

TEST(NodeVolumeLimits, EphemeralVolumesCountByTheirClaims) {
  Lab lab(0);
  lab.put(storage_class("fast", kDriver));
  lab.put(claim("p-scratch").of_class("fast").made_for("p"));
  EXPECT_FALSE(lab.fits(pod("p").volume("{name: scratch, ephemeral: {}}")));
}

TEST(NodeVolumeLimits, SkipsPodsWithoutAttachableVolumes) {
  Lab lab(0);
  EXPECT_TRUE(lab.bench.skips(pod("p")));
  EXPECT_TRUE(lab.bench.skips(pod("p").volume("{name: v, iscsi: {iqn: i}}")));
  EXPECT_TRUE(lab.bench.skips(pod("p").volume("{name: v, csi: {driver: csi.example.com}}")));
  EXPECT_FALSE(lab.bench.skips(pod("p").claim("a")));
}

TEST(NodeVolumeLimits, SaysWhichClaimIsMissing) {
  Lab lab(1);
  EXPECT_EQ(lab.bench.filter(pod("p").claim("gone")).at("n"),
            "UnschedulableAndUnresolvable: looking up PVC default/gone: persistentvolumeclaim "
            "\"gone\" not found");
}

TEST(NodeVolumeLimits, AClaimThatSomebodyElseMadeEndsTheAttempt) {
  Lab lab(1);
  lab.put(claim("h-scratch").made_for("someone"));
  lab.bench.with(pod("h").volume("{name: scratch, ephemeral: {}}").on("n"));
  const auto attempt = lab.bench.attempt(pod("p").claim("a"));
  ASSERT_TRUE(lab.bench.profile().prepare(attempt->cycle).status.ok());
  RowSet keep(1, true);
  const Status status =
      lab.bench.profile().filter(attempt->cycle, lab.bench.cluster().rows(), keep, nullptr);
  EXPECT_EQ(status.message(),
            "running \"NodeVolumeLimits\" filter plugin: PVC default/h-scratch was not created for "
            "pod default/h (pod is not owner)");
}

TEST(NodeVolumeLimits, WhatIfsCount) {
  Lab lab(1);
  const PodPtr holder = pod("h").claim("a").on("n"), wanted = pod("p").claim("b");
  lab.bench.with(holder);
  EXPECT_EQ(lab.bench.filter_if(wanted, "n", [](WhatIf&, std::uint32_t) {}), kFull);
  EXPECT_EQ(
      lab.bench.filter_if(wanted, "n",
                          [&](WhatIf& what_if, std::uint32_t row) { what_if.remove(row, holder); }),
      "");
}

TEST(NodeVolumeLimits, QueuesWhenThereMayBeRoom) {
  PluginBench bench("NodeVolumeLimits");
  const PodPtr wanted = pod("p").claim("c").volume("{name: scratch, ephemeral: {}}");
  const PodPtr disk = pod("q").volume("{name: v, gcePersistentDisk: {pdName: d}}");
  const auto gone = [](const PodBuilder& pod) {
    return pod_event(action::kDelete, pod.compile(), nullptr);
  };
  const auto csi = [](EventAction what, const kube::Object& before, const kube::Object& after) {
    return Change{.event = {EventResource::kCsiNode, what}, .before = before, .after = after};
  };
  const auto claim_event = [](const kube::Object& after) {
    return Change{.event = {EventResource::kPersistentVolumeClaim, action::kAdd}, .after = after};
  };
  const auto detached = [](std::string_view driver) {
    return Change{.event = {EventResource::kVolumeAttachment, action::kDelete},
                  .before = attachment("a", driver, "n", "v")};
  };
  struct Row {
    const char* name;
    PodPtr pod;
    Change change;
    Hint want;
  };
  const Row rows[] = {
      {"a CSINode comes", wanted, csi(action::kAdd, {}, csi_node("n", {})), Hint::kQueue},
      {"a limit grows", wanted,
       csi(action::kUpdate, csi_node("n", {{"d", 1}}), csi_node("n", {{"d", 2}})), Hint::kQueue},
      {"a driver comes", wanted, csi(action::kUpdate, csi_node("n", {}), csi_node("n", {{"d", 1}})),
       Hint::kQueue},
      {"a limit shrinks", wanted,
       csi(action::kUpdate, csi_node("n", {{"d", 2}}), csi_node("n", {{"d", 1}})), Hint::kSkip},
      {"a pod with a claim goes", wanted, gone(pod("h").claim("x").on("n")), Hint::kQueue},
      {"it had no node", wanted, gone(pod("h").claim("x")), Hint::kSkip},
      {"a pod with an in-tree disk goes", wanted,
       gone(pod("h").volume("{name: v, cinder: {volumeID: c}}").nominated("n")), Hint::kQueue},
      {"a pod with no such volume goes", wanted,
       gone(pod("h").volume("{name: v, iscsi: {iqn: i}}").on("n")), Hint::kSkip},
      {"its claim comes", wanted, claim_event(claim("c")), Hint::kQueue},
      {"its ephemeral claim comes", wanted, claim_event(claim("p-scratch")), Hint::kQueue},
      {"another claim comes", wanted, claim_event(claim("x")), Hint::kSkip},
      {"a volume is detached", wanted, detached("whatever"), Hint::kQueue},
      {"a volume of its driver is detached", disk, detached(kGke), Hint::kQueue},
      {"a volume of another driver is detached", disk, detached("other"), Hint::kSkip},
  };
  for (const Row& row : rows) EXPECT_EQ(bench.hint(row.pod, row.change), row.want) << row.name;
}

}  // namespace
}  // namespace berth::scheduler
