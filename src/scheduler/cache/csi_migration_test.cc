// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/csi_migration.h"

#include <gtest/gtest.h>

#include "scheduler/cache/labels.h"
#include "scheduler/cache/storage_builders.h"

namespace berth::scheduler {
namespace {

using namespace test;

Labels labelled(std::vector<Labels::Pair> pairs) { return Labels(std::move(pairs)); }

std::string source_of(const StorageBuilder& builder) {
  const kube::Object object = builder;
  const InTreePlugin* plugin = in_tree_plugin(object.member("spec"));
  if (plugin == nullptr) return "not in-tree";
  const Result<CsiSource> source = csi_source_of(*plugin, object);
  return source ? source->driver + " " + source->handle : "error: " + source.error().message;
}

TEST(CsiMigration, GivesVolumesTheirDriversHandles) {
  struct Row {
    const char* name;
    StorageBuilder volume;
    const char* want;
  };
  const auto gce = [] { return volume("v").spec("gcePersistentDisk: {pdName: d}"); };
  constexpr const char* kZone = "topology.kubernetes.io/zone";
  const Row rows[] = {
      {"csi", volume("v").csi("d", "h"), "not in-tree"},
      {"gce without zone", gce(),
       "pd.csi.storage.gke.io projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"},
      {"gce in a zone", gce().label(kZone, "us-east1-a"),
       "pd.csi.storage.gke.io projects/UNSPECIFIED/zones/us-east1-a/disks/d"},
      {"gce in a region", gce().label(kZone, "us-east1-a__us-east1-b"),
       "pd.csi.storage.gke.io projects/UNSPECIFIED/regions/us-east1/disks/d"},
      {"gce prefers the old label",
       gce().label(kZone, "a").label("failure-domain.beta.kubernetes.io/zone", "b"),
       "pd.csi.storage.gke.io projects/UNSPECIFIED/zones/b/disks/d"},
      {"gce in odd zones", gce().label(kZone, "a__b"),
       "error: failed to get region from zones: zone in unexpected format, expected: "
       "{locale}-{region}-{zone}, got: a"},
      {"ebs", volume("v").spec("awsElasticBlockStore: {volumeID: vol-1}"), "ebs.csi.aws.com vol-1"},
      {"ebs as a URL", volume("v").spec("awsElasticBlockStore: {volumeID: 'aws://zone/vol-1'}"),
       "ebs.csi.aws.com vol-1"},
      {"ebs as a bad URL", volume("v").spec("awsElasticBlockStore: {volumeID: 'aws://zone/x'}"),
       "error: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume "
       "(aws://zone/x)"},
      {"cinder", volume("v").spec("cinder: {volumeID: c}"), "cinder.csi.openstack.org c"},
      {"azure disk", volume("v").spec("azureDisk: {diskURI: u, kind: Managed}"),
       "disk.csi.azure.com u"},
      {"azure disk of another kind", volume("v").spec("azureDisk: {diskURI: u, kind: Shared}"),
       "error: kind(Shared) is not supported in csi migration"},
      {"portworx", volume("v").spec("portworxVolume: {volumeID: p}"), "pxd.portworx.com p"},
  };
  for (const Row& row : rows) EXPECT_EQ(source_of(row.volume), row.want) << row.name;
}

TEST(CsiMigration, TranslatesTopologyToTheDriversKeys) {
  constexpr const char *kZone = "topology.kubernetes.io/zone",
                       *kBetaZone = "failure-domain.beta.kubernetes.io/zone",
                       *kGke = "topology.gke.io/zone";
  struct Row {
    const char* name;
    StorageBuilder volume;
    Labels node;
    bool fits;
  };
  const auto gce = [] { return volume("v").spec("gcePersistentDisk: {pdName: d}"); };
  const Row rows[] = {
      {"no topology", gce(), Labels(), true},
      {"the driver's key is asked for", gce().only_where(kZone, "a"), labelled({{kGke, "a"}}),
       true},
      {"not the old one", gce().only_where(kZone, "a"), labelled({{kZone, "a"}}), false},
      {"nor the beta one", gce().only_where(kBetaZone, "a"), labelled({{kGke, "a"}}), true},
      {"labels count where the affinity says nothing", gce().label(kZone, "a__b"),
       labelled({{kGke, "b"}}), true},
      {"and keep other nodes out", gce().label(kZone, "a__b"), labelled({{kGke, "c"}}), false},
      {"labels are added to what the affinity asks otherwise",
       gce().only_where("disk", "ssd").label(kZone, "a"), labelled({{kGke, "a"}}), false},
      {"both hold", gce().only_where("disk", "ssd").label(kZone, "a"),
       labelled({{kGke, "a"}, {"disk", "ssd"}}), true},
      {"an empty label adds nothing", gce().label(kZone, ""), Labels(), true},
      {"disks without topology keep their affinity",
       volume("v").spec("azureDisk: {diskURI: u}").only_where(kZone, "a"), labelled({{kZone, "a"}}),
       true},
  };
  for (const Row& row : rows) {
    const kube::Object object = row.volume;
    const auto affinity = csi_affinity_of(*in_tree_plugin(object.member("spec")), object);
    EXPECT_EQ(!affinity || matches(*affinity, row.node, ""), row.fits) << row.name;
  }
}

TEST(CsiMigration, TheBetaRegionBecomesTheOneThatNewNodesHave) {
  const kube::Object object = volume("v").spec(
      R"({"cinder":{"volumeID":"c"},"nodeAffinity":{"required":{"nodeSelectorTerms":[
        {"matchExpressions":[{"key":"failure-domain.beta.kubernetes.io/zone","operator":"In","values":["a"]},
                             {"key":"failure-domain.beta.kubernetes.io/region","operator":"In","values":["r"]}]}]}}})");
  const auto affinity = csi_affinity_of(*in_tree_plugin(object.member("spec")), object);
  EXPECT_TRUE(matches(*affinity,
                      labelled({{"topology.cinder.csi.openstack.org/zone", "a"},
                                {"topology.kubernetes.io/region", "r"}}),
                      ""));
}

}  // namespace
}  // namespace berth::scheduler
