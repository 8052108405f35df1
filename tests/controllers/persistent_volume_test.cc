// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using kube::kPersistentVolume;
using kube::kPersistentVolumeClaim;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Controllers storage() {
  return [] {
    return *make_controllers({"persistentvolume-binder-controller",
                              "persistentvolumeclaim-protection-controller",
                              "persistentvolume-protection-controller"});
  };
}
void volume(Lab& lab, const std::string& name, const std::string& size,
            const std::string& more = "") {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":"{}"}},"spec":{{"accessModes":["ReadWriteOnce"],"capacity":{{"storage":"{}"}},"persistentVolumeReclaimPolicy":"Retain"{}}}}})",
      name, size, more)));
}
void claim(Lab& lab, const std::string& name, const std::string& size,
           const std::string& more = R"(,"storageClassName":"")") {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"{}"}}}}{}}}}})",
      name, size, more)));
}
void storage_class(Lab& lab, const char* mode, const char* policy = "Delete") {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{{"name":"fast"}},"provisioner":"berth.dev/simulated","reclaimPolicy":"{}","volumeBindingMode":"{}"}})",
      policy, mode)));
}
std::string phase(Lab& lab, KindId kind, const std::string& name) {
  const Object found = lab.get(kind, {kind == kPersistentVolume ? "" : "default", name});
  return found.valid() ? found.status()["phase"].text() : "none";
}
std::string volume_of(Lab& lab, const std::string& name) {
  return lab.get(kPersistentVolumeClaim, {"default", name}).member("spec")["volumeName"].text();
}
constexpr const char* kFast = R"(,"storageClassName":"fast")";

TEST(PersistentVolumeStory, ClaimsGetWhatFitsThemBest) {
  Lab lab({.controllers = storage()});
  claim(lab, "early", "5Gi");
  lab.run(5s);
  EXPECT_EQ(phase(lab, kPersistentVolumeClaim, "early"), "Pending");
  volume(lab, "ten", "10Gi");
  volume(lab, "hundred", "100Gi");
  lab.run(5s);
  EXPECT_EQ(volume_of(lab, "early"), "ten");
  EXPECT_EQ(phase(lab, kPersistentVolumeClaim, "early"), "Bound");
  EXPECT_EQ(phase(lab, kPersistentVolume, "ten"), "Bound");
  EXPECT_EQ(phase(lab, kPersistentVolume, "hundred"), "Available");
  claim(lab, "late", "5Gi");
  claim(lab, "too-late", "5Gi");
  lab.run(5s);
  const bool late = volume_of(lab, "late") == "hundred";
  EXPECT_NE(late, volume_of(lab, "too-late") == "hundred") << "one of them";
  ASSERT_TRUE(lab.erase(kPersistentVolumeClaim, {"default", "early"}));
  lab.run(5s);
  EXPECT_THAT(lab.names(kPersistentVolumeClaim), ElementsAre("late", "too-late"));
  EXPECT_EQ(phase(lab, kPersistentVolume, "ten"), "Released");
  // An administrator gives it back.
  ASSERT_TRUE(lab.patch(kPersistentVolume, {"", "ten"}, R"({"spec":{"claimRef":null}})"));
  lab.run(5s);
  EXPECT_EQ(volume_of(lab, late ? "too-late" : "late"), "ten");
  EXPECT_TRUE(lab.home().idle());
}

TEST(PersistentVolumeStory, AReservedVolumeWaitsForItsClaim) {
  Lab lab({.controllers = storage()});
  volume(lab, "mine", "100Gi", R"(,"claimRef":{"namespace":"default","name":"me"})");
  volume(lab, "any", "10Gi");
  lab.run(5s);
  EXPECT_EQ(phase(lab, kPersistentVolume, "mine"), "Available");
  claim(lab, "other", "50Gi");
  claim(lab, "me", "1Gi");
  lab.run(5s);
  EXPECT_EQ(volume_of(lab, "me"), "mine");
  EXPECT_EQ(volume_of(lab, "other"), "");
}

TEST(PersistentVolumeStory, VolumesAreMadeWhenTheyAreNeededAndGoWithTheirClaim) {
  Lab lab({.controllers = storage()});
  lab.nodes_work = false;
  storage_class(lab, "WaitForFirstConsumer");
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":{"kubernetes.io/hostname":"n1"}}})"));
  claim(lab, "data", "5Gi", kFast);
  lab.run(5s);
  EXPECT_THAT(lab.names(kPersistentVolume), IsEmpty());
  EXPECT_THAT(lab.events(), Contains("WaitForFirstConsumer: waiting for first consumer to be "
                                     "created before binding"));
  // As the scheduler does.
  ASSERT_TRUE(
      lab.patch(kPersistentVolumeClaim, {"default", "data"},
                R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n1"}}})"));
  lab.run(5s);
  EXPECT_EQ(phase(lab, kPersistentVolumeClaim, "data"), "Bound");
  const std::string made = volume_of(lab, "data");
  EXPECT_EQ(made, "pvc-" + std::string(lab.get(kPersistentVolumeClaim, {"default", "data"}).uid()));
  EXPECT_EQ(phase(lab, kPersistentVolume, made), "Bound");
  EXPECT_TRUE(lab.get(kPersistentVolume, {"", made})
                  .member("spec")["nodeAffinity"]["required"]["nodeSelectorTerms"][0]
                                 ["matchExpressions"][0]["values"][0]
                  .equals("n1"));
  // A pod keeps its claim.
  ASSERT_TRUE(lab.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},"spec":{"nodeName":"n1","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}]}})"));
  ASSERT_TRUE(lab.erase(kPersistentVolumeClaim, {"default", "data"}));
  lab.run(5s);
  EXPECT_TRUE(lab.get(kPersistentVolumeClaim, {"default", "data"}).deleting());
  EXPECT_EQ(phase(lab, kPersistentVolume, made), "Bound");
  ASSERT_TRUE(lab.erase(kube::kPod, {"default", "p"}, kube::Propagation::kBackground, 0));
  lab.run(5s);
  EXPECT_THAT(lab.names(kPersistentVolumeClaim), IsEmpty());
  EXPECT_THAT(lab.names(kPersistentVolume), IsEmpty());
}

TEST(PersistentVolumeStory, AVolumeThatIsDeletedUnderItsClaimStaysUntilTheClaimGoes) {
  Lab lab({.controllers = storage()});
  storage_class(lab, "Immediate");
  claim(lab, "data", "5Gi", kFast);
  lab.run(5s);
  const std::string made = volume_of(lab, "data");
  ASSERT_TRUE(lab.erase(kPersistentVolume, {"", made}));
  lab.run(5s);
  EXPECT_TRUE(lab.get(kPersistentVolume, {"", made}).deleting());
  EXPECT_EQ(phase(lab, kPersistentVolumeClaim, "data"), "Bound");
  ASSERT_TRUE(lab.erase(kPersistentVolumeClaim, {"default", "data"}));
  lab.run(5s);
  EXPECT_THAT(lab.names(kPersistentVolume), IsEmpty());
}

TEST(PersistentVolumeStory, AClassThatComesLateIsUsedAtOnce) {
  Lab lab({.controllers = storage()});
  claim(lab, "named", "5Gi", kFast);
  claim(lab, "unnamed", "5Gi", "");
  lab.run(5s);
  EXPECT_THAT(lab.names(kPersistentVolume), IsEmpty());
  storage_class(lab, "Immediate", "Retain");
  lab.run(5s);
  EXPECT_EQ(phase(lab, kPersistentVolumeClaim, "named"), "Bound");
  EXPECT_NE(phase(lab, kPersistentVolumeClaim, "unnamed"), "Bound");
  ASSERT_TRUE(lab.patch(
      kube::kStorageClass, {"", "fast"},
      R"({"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}})"));
  lab.run(5s);
  EXPECT_EQ(phase(lab, kPersistentVolumeClaim, "unnamed"), "Bound");
  const std::string kept = volume_of(lab, "named");
  ASSERT_TRUE(lab.erase(kPersistentVolumeClaim, {"default", "named"}));
  lab.run(5s);
  EXPECT_EQ(phase(lab, kPersistentVolume, kept), "Released") << "kept, as its class says";
}

void a_life(Lab& lab) {
  storage_class(lab, "Immediate");
  volume(lab, "static", "10Gi");
  claim(lab, "one", "5Gi");
  claim(lab, "two", "5Gi", kFast);
  claim(lab, "three", "5Gi", kFast);
  lab.run(10min);
  lab.erase(kPersistentVolumeClaim, {"default", "one"});
  lab.erase(kPersistentVolumeClaim, {"default", "two"});
  lab.run(10min);
}
TEST(PersistentVolumeCrashSweep, EndsTheSameWhereverItIsKilled) {
  crash_sweep({storage(), a_life});
}
TEST(PersistentVolumeFaultSweep, EndsTheSameWhateverTheWireDoes) {
  fault_sweep({storage(), a_life});
}

}  // namespace
}  // namespace berth::controllers::stories
