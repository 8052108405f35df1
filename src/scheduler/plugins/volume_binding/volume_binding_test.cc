// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "scheduler/cache/storage_builders.h"
#include "scheduler/cache/storage_state.h"
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;
constexpr const char *kNoVolume =
                         "UnschedulableAndUnresolvable: node(s) didn't find available "
                         "persistent volumes to bind",
                     *kAffinity =
                         "UnschedulableAndUnresolvable: node(s) didn't match "
                         "PersistentVolume's node affinity",
                     *kNoSpace =
                         "UnschedulableAndUnresolvable: node(s) did not have enough free storage",
                     *kHost = "kubernetes.io/hostname";

// Nodes a and b, the latter with disk: ssd; classes "local" (volumes are made beforehand), "made"
// (by csi.example.com) and "now" (which does not wait).
struct Lab {
  Lab() {
    bench.with(node("a")).with(node("b").label("disk", "ssd"));
    put(storage_class("local", "kubernetes.io/no-provisioner"));
    put(storage_class("made", "csi.example.com"));
    put(storage_class("now", "csi.example.com", false));
  }
  void put(const kube::Object& object) { bench.cluster().storage().put(object); }
  std::string on(std::string_view node, const PodPtr& wanted) {
    return bench.filter(wanted).at(std::string(node));
  }
  PluginBench bench{"VolumeBinding"};
};

TEST(VolumeBinding, SkipsPodsWithoutClaims) {
  Lab lab;
  EXPECT_TRUE(lab.bench.skips(pod("p")));
  EXPECT_TRUE(lab.bench.skips(pod("p").volume("{name: v, gcePersistentDisk: {pdName: d}}")));
}

TEST(VolumeBinding, TellsWhatIsWrongWithClaimsBeforeAnyNode) {
  Lab lab;
  lab.put(claim("lost").bound_to("v").status("phase: Lost"));
  lab.put(claim("leaving").metadata("deletionTimestamp: '2026-01-01T00:00:00Z'"));
  lab.put(claim("p-theirs").made_for("q"));
  lab.put(claim("immediate").of_class("now"));
  lab.put(claim("prebound").of_class("made").spec("volumeName: v"));
  lab.put(claim("classless"));
  struct Row {
    PodBuilder pod;
    const char* want;
  };
  const Row rows[] = {
      {pod("p").claim("absent"), "persistentvolumeclaim \"absent\" not found"},
      {pod("p").volume("{name: scratch, ephemeral: {}}"),
       "waiting for ephemeral volume controller to create the persistentvolumeclaim "
       "\"p-scratch\""},
      {pod("p").claim("lost"),
       "persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"v\""},
      {pod("p").claim("leaving"), "persistentvolumeclaim \"leaving\" is being deleted"},
      {pod("p").volume("{name: theirs, ephemeral: {}}"),
       "PVC default/p-theirs was not created for pod default/p (pod is not owner)"},
      {pod("p").claim("immediate"), "pod has unbound immediate PersistentVolumeClaims"},
      {pod("p").claim("prebound"), "pod has unbound immediate PersistentVolumeClaims"},
      {pod("p").claim("classless"), "pod has unbound immediate PersistentVolumeClaims"},
  };
  for (const Row& row : rows) {
    const Status status = lab.bench.prepare(row.pod);
    EXPECT_EQ(status.code, Code::kUnresolvable) << row.want;
    EXPECT_EQ(status.message(), row.want);
  }
}

TEST(VolumeBinding, AClassWithoutABindingModeIsAnError) {
  Lab lab;
  lab.put(storage_class("odd", "p").merge("volumeBindingMode: null"));
  lab.put(claim("c").of_class("odd"));
  const Status status = lab.bench.prepare(pod("p").claim("c"));
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_THAT(status.message(),
              testing::HasSubstr("VolumeBindingMode not set for StorageClass \"odd\""));
}

TEST(VolumeBinding, BoundVolumesMustBeUsableOnTheNode) {
  Lab lab;
  lab.put(volume("v").only_where(kHost, "a"));
  lab.put(claim("c").bound_to("v"));
  EXPECT_EQ(lab.bench.filter(pod("p").claim("c")), (Verdicts{{"a", ""}, {"b", kAffinity}}));
  lab.put(claim("gone").bound_to("nothing"));
  EXPECT_EQ(lab.on("a", pod("p").claim("gone")),
            "UnschedulableAndUnresolvable: node(s) unavailable due to one or more pvc(s) bound to "
            "non-existent pv(s)");
}

TEST(VolumeBinding, InTreeVolumesAreTranslatedWhereTheNodeHasMigrated) {
  Lab lab;
  lab.put(volume("v")
              .spec("gcePersistentDisk: {pdName: d}")
              .only_where("topology.kubernetes.io/zone", "z"));
  lab.put(claim("c").bound_to("v"));
  lab.bench.with(node("old").zone("z")).with(node("new").label("topology.gke.io/zone", "z"));
  lab.put(csi_node("old", {}));
  lab.put(csi_node("new", {}).annotation("storage.alpha.kubernetes.io/migrated-plugins",
                                         "kubernetes.io/aws-ebs,kubernetes.io/gce-pd"));
  const Verdicts verdicts = lab.bench.filter(pod("p").claim("c"));
  EXPECT_EQ(verdicts.at("old"), "");
  EXPECT_EQ(verdicts.at("new"), "");
  EXPECT_EQ(verdicts.at("a"), kAffinity);
}

TEST(VolumeBinding, AClaimThatWaitsTakesAVolumeThatIsThere) {
  struct Row {
    const char* name;
    StorageBuilder claim, volume;
    bool fits;
  };
  const auto wanted = [] { return claim("c").of_class("local").asks("5Gi"); };
  const auto there = [] { return volume("v").of_class("local"); };
  const Row rows[] = {
      {"it fits", wanted(), there(), true},
      {"too small", wanted().asks("11Gi"), there(), false},
      {"another class", wanted(), there().of_class("made"), false},
      {"not available", wanted(), there().status("phase: Released"), false},
      {"other access modes", wanted().modes("[ReadWriteOnce, ReadOnlyMany]"), there(), false},
      {"more access modes", wanted(), there().modes("[ReadWriteOnce, ReadOnlyMany]"), true},
      {"another volume mode", wanted().spec("volumeMode: Block"), there(), false},
      {"the default volume mode", wanted().spec("volumeMode: Filesystem"), there(), true},
      {"other attributes", wanted().spec("volumeAttributesClassName: gold"), there(), false},
      {"the same attributes", wanted().spec("volumeAttributesClassName: gold"),
       there().spec("volumeAttributesClassName: gold"), true},
      {"labels that are not selected", wanted().spec("selector: {matchLabels: {tier: x}}"), there(),
       false},
      {"labels that are selected", wanted().spec("selector: {matchLabels: {tier: x}}"),
       there().label("tier", "x"), true},
      {"meant for another", wanted(), there().for_claim("default", "d"), false},
      {"meant for it", wanted(), there().for_claim("default", "c").status("phase: Pending"), true},
      {"meant for an earlier one of that name", wanted(), there().for_claim("default", "c", "old"),
       false},
      {"being deleted", wanted(), there().metadata("deletionTimestamp: '2026-01-01T00:00:00Z'"),
       false},
      {"only elsewhere", wanted(), there().only_where(kHost, "b"), false},
      {"here", wanted(), there().only_where(kHost, "a"), true},
  };
  for (const Row& row : rows) {
    Lab lab;
    lab.put(row.claim);
    lab.put(row.volume);
    EXPECT_EQ(lab.on("a", pod("p").claim("c")), row.fits ? "" : kNoVolume) << row.name;
  }
}

TEST(VolumeBinding, AVolumeServesOneClaimOnly) {
  Lab lab;
  for (const char* name : {"c", "d"}) lab.put(claim(name).of_class("local"));
  lab.put(volume("v").of_class("local").only_where(kHost, "a"));
  lab.put(volume("w").of_class("local"));
  EXPECT_EQ(lab.bench.filter(pod("p").claim("c").claim("d")),
            (Verdicts{{"a", ""}, {"b", kNoVolume}}));
}

TEST(VolumeBinding, SmallClaimsAreServedFirstAndTakeSmallVolumes) {
  Lab lab;
  lab.put(claim("large").of_class("local").asks("50Gi"));
  lab.put(claim("small").of_class("local").asks("1Gi"));
  lab.put(volume("v100").of_class("local").holds("100Gi"));
  lab.put(volume("v10").of_class("local").holds("10Gi"));
  EXPECT_EQ(lab.on("a", pod("p").claim("large").claim("small")), "")
      << "were the large volume spent on the small claim, it would not fit";
}

TEST(VolumeBinding, AVolumeMeantForTheClaimIsTheOnlyOneItTakes) {
  Lab lab;
  lab.put(claim("c").of_class("local"));
  lab.put(volume("v").of_class("local"));
  lab.put(volume("w").of_class("local").for_claim("default", "c").only_where(kHost, "b"));
  EXPECT_EQ(lab.bench.filter(pod("p").claim("c")), (Verdicts{{"a", kNoVolume}, {"b", ""}}));
}

TEST(VolumeBinding, WhatIsNotThereIsMadeWhereTheClassAllows) {
  Lab lab;
  lab.put(claim("c").of_class("made"));
  const PodPtr wanted = pod("p").claim("c");
  EXPECT_EQ(lab.bench.filter(wanted), (Verdicts{{"a", ""}, {"b", ""}}));
  lab.put(storage_class("made", "csi.example.com")
              .merge("allowedTopologies: [{matchLabelExpressions: [{key: disk, values: [ssd]}]}]"));
  EXPECT_EQ(lab.bench.filter(wanted), (Verdicts{{"a", kNoVolume}, {"b", ""}}));
}

TEST(VolumeBinding, WhatIsMadeNeedsSpaceWhereTheDriverTellsOfIt) {
  Lab lab;
  lab.put(claim("c").of_class("made").asks("5Gi"));
  const PodPtr wanted = pod("p").claim("c");
  lab.put(csi_driver("csi.example.com", true));
  EXPECT_EQ(lab.bench.filter(wanted), (Verdicts{{"a", kNoSpace}, {"b", kNoSpace}}));
  lab.put(csi_capacity("k", "made", "10Gi", "ssd"));
  EXPECT_EQ(lab.bench.filter(wanted), (Verdicts{{"a", kNoSpace}, {"b", ""}}));
  lab.put(csi_capacity("k", "made", "10Gi", "ssd").merge("maximumVolumeSize: 4Gi"));
  EXPECT_EQ(lab.on("b", wanted), kNoSpace);
  lab.put(csi_capacity("k", "local", "10Gi", "ssd"));
  EXPECT_EQ(lab.on("b", wanted), kNoSpace) << "of another class";
  lab.put(csi_driver("csi.example.com", false));
  EXPECT_EQ(lab.on("a", wanted), "");
}

TEST(VolumeBinding, AClaimThatWasPromisedToANodeStaysThere) {
  Lab lab;
  lab.put(claim("c").of_class("made").on_node("b"));
  EXPECT_EQ(lab.bench.filter(pod("p").claim("c")), (Verdicts{{"a", kNoVolume}, {"b", ""}}));
  lab.put(claim("d").of_class("made").on_node("a"));
  EXPECT_EQ(lab.bench.filter(pod("p").claim("c").claim("d")),
            (Verdicts{{"a", kNoVolume}, {"b", kNoVolume}}));
}

TEST(VolumeBinding, NamesEveryReasonInOrder) {
  Lab lab;
  lab.put(volume("v").only_where(kHost, "b"));
  lab.put(claim("bound").bound_to("v"));
  lab.put(claim("c").of_class("local"));
  EXPECT_EQ(lab.on("a", pod("p").claim("c").claim("bound")),
            std::string(kAffinity) + ", node(s) didn't find available persistent volumes to bind");
}

TEST(VolumeBinding, WhatIsAssumedForOneIsGoneForOthers) {
  Lab lab;
  lab.put(claim("c").of_class("local"));
  lab.put(volume("v").of_class("local").revision(3));
  ASSERT_TRUE(lab.bench.cluster().storage().assume(
      Volume::compile(volume("v").of_class("local").revision(3).for_claim("default", "other"))));
  EXPECT_EQ(lab.on("a", pod("p").claim("c")), kNoVolume);
}

TEST(VolumeBinding, NeverScores) {
  Lab lab;
  lab.put(claim("c").of_class("made"));
  EXPECT_TRUE(lab.bench.raw(pod("p").claim("c")).empty());
}

TEST(VolumeBinding, QueuesWhenVolumesMayFitNow) {
  Lab lab;
  const PodPtr wanted = pod("p")
                            .claim("c")
                            .volume("{name: scratch, ephemeral: {}}")
                            .volume("{name: inline, csi: {driver: d}}");
  const auto change = [](EventResource what, EventAction how, const kube::Object& before,
                         const kube::Object& after) {
    return Change{.event = {what, how}, .before = before, .after = after};
  };
  using enum EventResource;
  const auto topologies = [](const char* value) {
    return storage_class("s", "p").merge(fmt::format(
        "allowedTopologies: [{{matchLabelExpressions: [{{key: zone, values: [{}]}}]}}]", value));
  };
  const auto migrated = [](const char* plugins) {
    return csi_node("n", {}).annotation("storage.alpha.kubernetes.io/migrated-plugins", plugins);
  };
  const auto capacity = [](const char* amount) { return csi_capacity("k", "s", amount, "ssd"); };
  struct Row {
    const char* name;
    Change change;
    Hint want;
  };
  const Row rows[] = {
      {"a class comes", change(kStorageClass, action::kAdd, {}, storage_class("s", "p")),
       Hint::kQueue},
      {"a class allows other nodes",
       change(kStorageClass, action::kUpdate, topologies("a"), topologies("b")), Hint::kQueue},
      {"a class changes otherwise",
       change(kStorageClass, action::kUpdate, topologies("a"), topologies("a").label("x", "y")),
       Hint::kSkip},
      {"its claim changes", change(kPersistentVolumeClaim, action::kUpdate, claim("c"), claim("c")),
       Hint::kQueue},
      {"its ephemeral claim comes",
       change(kPersistentVolumeClaim, action::kAdd, {}, claim("p-scratch")), Hint::kQueue},
      {"another claim comes", change(kPersistentVolumeClaim, action::kAdd, {}, claim("d")),
       Hint::kSkip},
      {"a claim comes elsewhere",
       change(kPersistentVolumeClaim, action::kAdd, {}, claim("c", "other")), Hint::kSkip},
      {"a volume changes", change(kPersistentVolume, action::kUpdate, volume("v"), volume("v")),
       Hint::kQueue},
      {"a node comes", node_event(action::kAdd, nullptr, node("n")), Hint::kQueue},
      {"a node is relabelled", node_event(action::kUpdateNodeLabel, node("n"), node("n")),
       Hint::kQueue},
      {"a CSINode comes", change(kCsiNode, action::kAdd, {}, csi_node("n", {})), Hint::kQueue},
      {"a plugin is migrated", change(kCsiNode, action::kUpdate, migrated("a"), migrated("a,b")),
       Hint::kQueue},
      {"a CSINode changes otherwise",
       change(kCsiNode, action::kUpdate, csi_node("n", {}), csi_node("n", {{"d", 1}})),
       Hint::kSkip},
      {"a driver stops telling of space",
       change(kCsiDriver, action::kUpdate, csi_driver("d", true), csi_driver("d", false)),
       Hint::kQueue},
      {"a driver begins to",
       change(kCsiDriver, action::kUpdate, csi_driver("d", false), csi_driver("d", true)),
       Hint::kSkip},
      {"another driver stops",
       change(kCsiDriver, action::kUpdate, csi_driver("e", true), csi_driver("e", false)),
       Hint::kSkip},
      {"space comes", change(kCsiStorageCapacity, action::kAdd, {}, capacity("1Gi")), Hint::kQueue},
      {"space grows",
       change(kCsiStorageCapacity, action::kUpdate, capacity("1Gi"), capacity("2Gi")),
       Hint::kQueue},
      {"space shrinks",
       change(kCsiStorageCapacity, action::kUpdate, capacity("2Gi"), capacity("1Gi")), Hint::kSkip},
  };
  for (const Row& row : rows) EXPECT_EQ(lab.bench.hint(wanted, row.change), row.want) << row.name;
}

}  // namespace
}  // namespace berth::scheduler
