// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/storage_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/storage_builders.h"

namespace berth::scheduler {
namespace {

using namespace test;
using testing::ElementsAre;

std::vector<std::string> names(const std::vector<VolumePtr>& volumes) {
  std::vector<std::string> out;
  for (const VolumePtr& v : volumes) out.push_back(v->name);
  return out;
}

TEST(StorageState, KnowsWhatWasPutUntilItIsRemoved) {
  StorageState state;
  const kube::Object objects[] = {volume("v"),
                                  claim("c"),
                                  storage_class("s", "csi.example.com"),
                                  csi_node("n", {{"csi.example.com", 3}}),
                                  csi_driver("csi.example.com", true),
                                  csi_capacity("k", "s", "5Gi", "ssd"),
                                  attachment("a", "csi.example.com", "n", "v")};
  const auto known = [&state] {
    return std::vector<bool>{state.volume("v") != nullptr,
                             state.claim("default/c") != nullptr,
                             state.storage_class("s") != nullptr,
                             state.csi_node("n") != nullptr,
                             state.tracks_capacity("csi.example.com"),
                             state.capacities_of("s").size() == 1,
                             state.attachments_on("n").size() == 1};
  };
  for (std::size_t i = 0; i < std::size(objects); ++i) {
    const std::uint64_t before = state.epoch();
    state.put(objects[i]);
    state.put(objects[i]);  // once more is the same
    EXPECT_GT(state.epoch(), before);
    std::vector<bool> want(std::size(objects), false);
    std::fill_n(want.begin(), i + 1, true);
    EXPECT_EQ(known(), want) << "after " << i;
  }
  for (const kube::Object& object : objects) state.remove(object);
  EXPECT_EQ(known(), std::vector<bool>(std::size(objects), false));
}

TEST(StorageState, ListsVolumesByClassAndFollowsThemToAnother) {
  StorageState state;
  state.put(volume("b").of_class("fast"));
  state.put(volume("a").of_class("fast"));
  state.put(
      volume("c").of_class("slow").annotation("volume.beta.kubernetes.io/storage-class", "fast"));
  EXPECT_THAT(names(state.latest_of_class("fast")), ElementsAre("a", "b", "c"));
  state.put(volume("a").of_class("slow"));
  EXPECT_THAT(names(state.latest_of_class("fast")), ElementsAre("b", "c"));
  EXPECT_THAT(names(state.latest_of_class("slow")), ElementsAre("a"));
  EXPECT_TRUE(state.latest_of_class("none").empty());
}

TEST(StorageState, AnAttachmentThatMovesIsCountedOnce) {
  StorageState state;
  state.put(attachment("a", "d", "n1", "v"));
  state.put(attachment("a", "d", "n2", "v"));
  EXPECT_TRUE(state.attachments_on("n1").empty());
  EXPECT_EQ(state.attachments_on("n2").size(), 1u);
}

TEST(StorageState, WhatIsAssumedStandsUntilANewerRevisionComes) {
  StorageState state;
  state.put(volume("v").of_class("fast").revision(5));
  const VolumePtr assumed =
      Volume::compile(volume("v").of_class("fast").revision(5).for_claim("default", "c", "u"));
  ASSERT_TRUE(state.assume(assumed));
  EXPECT_EQ(state.latest_volume("v"), assumed);
  EXPECT_EQ(state.latest_of_class("fast").front(), assumed);
  EXPECT_FALSE(state.volume("v")->claim) << "what the API server has stays as it is";

  state.put(volume("v").of_class("fast").revision(5));  // a resync
  EXPECT_EQ(state.latest_volume("v"), assumed);
  state.put(volume("v").of_class("fast").revision(6));
  EXPECT_EQ(state.latest_volume("v")->revision, 6u);
  EXPECT_EQ(state.assumed(), 0u);
}

TEST(StorageState, RestoreGivesBackOnlyThatRevision) {
  StorageState state;
  state.put(claim("c").revision(5));
  const ClaimPtr assumed = Claim::compile(claim("c").revision(5).on_node("n"));
  ASSERT_TRUE(state.assume(assumed));
  state.restore(*Claim::compile(claim("c").revision(7).on_node("n")));
  EXPECT_EQ(state.latest_claim("default/c"), assumed);
  state.restore(*assumed);
  EXPECT_FALSE(state.latest_claim("default/c")->selected_node);
  state.restore(*assumed);  // twice does nothing
}

TEST(StorageState, RefusesToAssumeWhatIsOutOfDateOrGone) {
  StorageState state;
  state.put(claim("c").revision(6));
  const Result<Ok> old = state.assume(Claim::compile(claim("c").revision(5)));
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().message, "\"default/c\" is out of sync (stored: 6, assume: 5)");
  const Result<Ok> gone = state.assume(Volume::compile(volume("v")));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().message, "persistentvolumes \"v\" not found");
}

TEST(StorageState, DeletionEndsWhatIsAssumed) {
  StorageState state;
  state.put(volume("v"));
  ASSERT_TRUE(state.assume(Volume::compile(volume("v").for_claim("default", "c"))));
  state.remove(volume("v"));
  EXPECT_EQ(state.latest_volume("v"), nullptr);
  EXPECT_EQ(state.assumed(), 0u);
}

TEST(StorageState, ACloneIsItsOwn) {
  ClusterState cluster;
  cluster.storage().put(volume("v"));
  const std::unique_ptr<ClusterState> copy = cluster.clone();
  ASSERT_TRUE(copy->storage().assume(Volume::compile(volume("v").for_claim("default", "c"))));
  copy->storage().put(claim("c"));
  EXPECT_EQ(cluster.storage().assumed(), 0u);
  EXPECT_EQ(cluster.storage().claim("default/c"), nullptr);
}

TEST(Claim, IsBoundWhenItNamesAVolumeAndTheBindingIsComplete) {
  EXPECT_TRUE(Claim::compile(claim("c").bound_to("v"))->bound);
  EXPECT_FALSE(Claim::compile(claim("c").spec("volumeName: v"))->bound);
  EXPECT_FALSE(
      Claim::compile(claim("c").annotation("pv.kubernetes.io/bind-completed", "yes"))->bound);
}

TEST(Volume, IsMeantForTheClaimItNames) {
  const ClaimPtr c = Claim::compile(claim("c").uid("u"));
  const auto meant = [&c](const StorageBuilder& v) { return meant_for(*Volume::compile(v), *c); };
  EXPECT_FALSE(meant(volume("v")));
  EXPECT_TRUE(meant(volume("v").for_claim("default", "c")));
  EXPECT_TRUE(meant(volume("v").for_claim("default", "c", "u")));
  EXPECT_FALSE(meant(volume("v").for_claim("default", "c", "another")));
  EXPECT_FALSE(meant(volume("v").for_claim("other", "c", "u")));
}

TEST(Volume, ZonesAreReadFromFourLabelsAndUnreadableOnesAreLeftOut) {
  const auto zones = [](const StorageBuilder& v) { return Volume::compile(v)->zones; };
  EXPECT_THAT(zones(volume("v").label("topology.kubernetes.io/zone", "a__b")),
              ElementsAre(ZoneLabel{"topology.kubernetes.io/zone", {"a", "b"}}));
  EXPECT_TRUE(zones(volume("v").label("topology.kubernetes.io/zone", "a__")).empty());
  EXPECT_THAT(zones(volume("v")
                        .label("topology.kubernetes.io/region", "r")
                        .label("failure-domain.beta.kubernetes.io/zone", "z")),
              ElementsAre(ZoneLabel{"failure-domain.beta.kubernetes.io/zone", {"z"}},
                          ZoneLabel{"topology.kubernetes.io/region", {"r"}}));
}

TEST(StorageClass, AllowsNodesOfOneOfItsTopologies) {
  const auto allows = [](std::string_view topologies, std::string_view zone) {
    const StorageClassPtr made = StorageClass::compile(
        storage_class("s", "p").merge(fmt::format("allowedTopologies: {}", topologies)));
    return made->allows(Labels(std::vector<Labels::Pair>{{"zone", std::string(zone)}}));
  };
  EXPECT_TRUE(allows("null", "a"));
  EXPECT_TRUE(allows("[]", "a"));
  EXPECT_TRUE(allows("[{matchLabelExpressions: [{key: zone, values: [a, b]}]}]", "b"));
  EXPECT_FALSE(allows("[{matchLabelExpressions: [{key: zone, values: [a, b]}]}]", "c"));
  EXPECT_FALSE(allows("[{}]", "a")) << "an empty term allows no node";
  EXPECT_TRUE(allows("[{}, {matchLabelExpressions: [{key: zone, values: [a]}]}]", "a"));
  EXPECT_FALSE(allows("[{matchLabelExpressions: [{key: zone, values: []}]}]", "a"));
}

}  // namespace
}  // namespace berth::scheduler
