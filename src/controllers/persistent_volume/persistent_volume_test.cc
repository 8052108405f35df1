// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/persistent_volume/matching.h"
#include "controllers/persistent_volume/pods_of_claim.h"
#include "controllers/persistent_volume/provisioning.h"
#include "controllers/registry.h"
#include "kube/time.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

using kube::kNode;
using kube::kPersistentVolume;
using kube::kPersistentVolumeClaim;
using kube::kPod;
using kube::kStorageClass;
using kube::Object;
using runtime::Objects;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const WallTime kNow = *kube::parse_time("2026-01-01T01:00:00Z");

Object volume_object(const std::string& name, const std::string& spec,
                     const std::string& metadata = "", const std::string& phase = "Available") {
  return *Object::parse(
      kPersistentVolume,
      fmt::format(R"({{"metadata":{{"name":"{}"{}}},"spec":{{{}}},"status":{{"phase":"{}"}}}})",
                  name, metadata, spec, phase));
}
Object claim_object(const std::string& spec) {
  return *Object::parse(
      kPersistentVolumeClaim,
      fmt::format(R"({{"metadata":{{"name":"c","namespace":"ns","uid":"u"}},"spec":{{{}}}}})",
                  spec));
}

TEST(VolumeMatch, IsTheSmallestThatFits) {
  constexpr const char* kOne = R"("accessModes":["ReadWriteOnce"],"capacity":{"storage":)";
  const std::string rwo = kOne;
  const Object volumes[] = {
      volume_object("big", rwo + R"("100Gi"},"storageClassName":"fast")"),
      volume_object("right", rwo + R"("11Gi"},"storageClassName":"fast")"),
      volume_object("small", rwo + R"("9Gi"},"storageClassName":"fast")"),
      volume_object("other-class", rwo + R"("10Gi"},"storageClassName":"slow")"),
      volume_object("no-class", rwo + R"("10Gi"})"),
      volume_object(
          "taken",
          rwo +
              R"("10Gi"},"storageClassName":"fast","claimRef":{"name":"x","namespace":"ns","uid":"x"})"),
      volume_object("going", rwo + R"("10Gi"},"storageClassName":"fast")",
                    R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")"),
      volume_object("released", rwo + R"("10Gi"},"storageClassName":"fast")", "", "Released"),
      volume_object("raw", rwo + R"("10Gi"},"storageClassName":"fast","volumeMode":"Block")"),
      volume_object("labelled", rwo + R"("50Gi"},"storageClassName":"fast")",
                    R"(,"labels":{"zone":"a"})"),
      volume_object(
          "shared",
          R"("accessModes":["ReadWriteOnce","ReadWriteMany"],"capacity":{"storage":"10Gi"},"storageClassName":"fast")"),
      volume_object("mine", rwo + R"("500Gi"},"claimRef":{"name":"reserved","namespace":"ns"})"),
  };
  std::vector<const Object*> all;
  for (const Object& one : volumes) all.push_back(&one);
  const std::string ten = R"("resources":{"requests":{"storage":"10Gi"}})";
  struct Row {
    const char* why;
    std::string spec;
    bool delayed;
    const char* found;
  };
  for (
      const Row& row : {
          Row{"best fit", R"("accessModes":["ReadWriteOnce"],"storageClassName":"fast",)" + ten,
              false, "right"},
          {"more modes only when needed",
           R"("accessModes":["ReadWriteMany"],"storageClassName":"fast",)" + ten, false, "shared"},
          {"no class", R"("accessModes":["ReadWriteOnce"],"storageClassName":"",)" + ten, false,
           "no-class"},
          {"block",
           R"("accessModes":["ReadWriteOnce"],"volumeMode":"Block","storageClassName":"fast",)" +
               ten,
           false, "raw"},
          {"by label",
           R"("accessModes":["ReadWriteOnce"],"selector":{"matchLabels":{"zone":"a"}},"storageClassName":"fast",)" +
               ten,
           false, "labelled"},
          {"too much",
           R"("accessModes":["ReadWriteOnce"],"storageClassName":"fast","resources":{"requests":{"storage":"1Ti"}})",
           false, ""},
          {"not before its pod",
           R"("accessModes":["ReadWriteOnce"],"storageClassName":"fast",)" + ten, true, ""},
      }) {
    SCOPED_TRACE(row.why);
    const auto found = best_match(claim_object(row.spec), all, row.delayed);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(*found == nullptr ? "" : (*found)->name(), row.found);
  }
  const Object reserved = *Object::parse(
      kPersistentVolumeClaim,
      R"({"metadata":{"name":"reserved","namespace":"ns","uid":"r"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"fast","resources":{"requests":{"storage":"1Gi"}}}})");
  EXPECT_EQ((*best_match(reserved, all, true))->name(), "mine") << "whatever its class";
}

TEST(VolumeMatch, SaysWhatIsWrongWithTheOneAskedFor) {
  const Object claim = claim_object(
      R"("accessModes":["ReadWriteOnce"],"storageClassName":"fast","resources":{"requests":{"storage":"10Gi"}})");
  const auto why = [&](const std::string& spec, const std::string& metadata = "") {
    return why_unfit(volume_object("v", spec, metadata), claim);
  };
  const std::string good =
      R"("accessModes":["ReadWriteOnce"],"capacity":{"storage":"10Gi"},"storageClassName":"fast")";
  EXPECT_EQ(why(good), "");
  EXPECT_EQ(why(good, R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")"),
            "the volume is marked for deletion \"v\"");
  EXPECT_EQ(
      why(R"("accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"storageClassName":"fast")"),
      "requested PV is too small");
  EXPECT_EQ(why(R"("accessModes":["ReadWriteOnce"],"capacity":{"storage":"10Gi"})"),
            "storageClassName does not match");
  EXPECT_EQ(why(good + R"(,"volumeMode":"Block")"), "incompatible volumeMode");
  EXPECT_EQ(
      why(R"("accessModes":["ReadOnlyMany"],"capacity":{"storage":"10Gi"},"storageClassName":"fast")"),
      "incompatible accessMode");
}

TEST(ProvisionedVolume, IsWhereItsPodWillBe) {
  const Object claim = *Object::parse(
      kPersistentVolumeClaim,
      R"({"metadata":{"name":"c","namespace":"ns","uid":"u","resourceVersion":"7"},"spec":{"accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem","storageClassName":"fast","resources":{"requests":{"storage":"10Gi"}}}})");
  const Object fast = *Object::parse(
      kStorageClass,
      R"({"metadata":{"name":"fast"},"provisioner":"berth.dev/simulated","reclaimPolicy":"Delete","allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["a","b"]}]}]})");
  const Object node = *Object::parse(
      kNode, R"({"metadata":{"name":"n1","labels":{"kubernetes.io/hostname":"host-1"}}})");
  EXPECT_EQ(
      provisioned_json(claim, fast, &node),
      R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pvc-u","annotations":{"pv.kubernetes.io/provisioned-by":"berth.dev/simulated"},"finalizers":["external-provisioner.volume.kubernetes.io/finalizer"]},)"
      R"("spec":{"capacity":{"storage":"10Gi"},"accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem","claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"ns","name":"c","uid":"u","resourceVersion":"7"},)"
      R"("persistentVolumeReclaimPolicy":"Delete","storageClassName":"fast","csi":{"driver":"berth.dev/simulated","volumeHandle":"pvc-u"},)"
      R"("nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["host-1"]}]}]}}}})");
  EXPECT_THAT(
      provisioned_json(claim, fast, nullptr),
      HasSubstr(
          R"("nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]}]}])"));
}

TEST(ClaimUse, IsThatOfPodsWithANode) {
  const Object claim = *Object::parse(
      kPersistentVolumeClaim,
      R"({"metadata":{"name":"p-v","namespace":"ns","uid":"u","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"p","controller":true}]}})");
  const auto pod = [](const std::string& metadata, const std::string& spec,
                      const std::string& status = "") {
    return *Object::parse(
        kPod,
        fmt::format(
            R"({{"metadata":{{"name":"p","namespace":"ns","uid":"p"{}}},"spec":{{{}}},"status":{{{}}}}})",
            metadata, spec, status));
  };
  const std::string named =
      R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"p-v"}}])";
  const std::string own = R"("volumes":[{"name":"v","ephemeral":{}}])";
  const std::string gone =
      R"(,"deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":0)";
  EXPECT_FALSE(pod_holds_claim(pod("", named), claim));
  EXPECT_TRUE(pod_holds_claim(pod("", named + R"(,"nodeName":"n")"), claim));
  EXPECT_TRUE(pod_holds_claim(pod("", own + R"(,"nodeName":"n")"), claim));
  EXPECT_FALSE(pod_holds_claim(pod(gone, own + R"(,"nodeName":"n")"), claim));
  EXPECT_TRUE(pod_holds_claim(pod(gone, named + R"(,"nodeName":"n")"), claim));
  EXPECT_THAT(claims_of_pod(pod("", named)), ElementsAre("ns/p-v"));
  EXPECT_THAT(claims_of_pod(pod("", own)), ElementsAre("ns/p-v"));
  EXPECT_TRUE(pod_is_over(pod("", named, R"("phase":"Failed")")));
  EXPECT_FALSE(pod_is_over(pod("", named, R"("phase":"Running")")));
  EXPECT_TRUE(pod_is_over(
      pod(gone, named, R"("phase":"Running","containerStatuses":[{"state":{"terminated":{}}}])")));
  EXPECT_FALSE(pod_is_over(
      pod(gone, named, R"("phase":"Running","containerStatuses":[{"state":{"running":{}}}])")));
}

class BinderTest : public testing::Test {
 protected:
  void claim(const std::string& spec, const std::string& metadata = "",
             const std::string& status = R"("phase":"Pending")") {
    objects.add(
        kPersistentVolumeClaim,
        fmt::format(
            R"({{"metadata":{{"name":"c","namespace":"ns","uid":"u","resourceVersion":"7"{}}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"10Gi"}}}}{}}},"status":{{{}}}}})",
            metadata, spec, status));
  }
  void volume(const std::string& spec, const std::string& metadata = "",
              const std::string& phase = "Available") {
    objects.add(
        kPersistentVolume,
        fmt::format(
            R"({{"metadata":{{"name":"v"{}}},"spec":{{"accessModes":["ReadWriteOnce"],"capacity":{{"storage":"10Gi"}}{}}},"status":{{"phase":"{}"}}}})",
            metadata, spec, phase));
  }
  void storage_class(const std::string& name, const std::string& members) {
    objects.add(kStorageClass, fmt::format(R"({{"metadata":{{"name":"{}"}},{}}})", name, members));
  }
  std::string of_claim() { return objects.reconcile({"ns", "c"}, kNow).text(); }
  std::string of_volume() { return objects.reconcile({"", "v"}, kNow).text(); }
  void answer(std::vector<Object> found) {
    runtime::Answer said;
    if (found.empty()) said.error = Error{.reason = Reason::kNotFound, .message = "gone"};
    said.objects = std::move(found);
    objects.memory.answers["live"] = said;
  }
  std::vector<std::unique_ptr<runtime::Controller>> controllers =
      *make_controllers({"persistentvolume-binder-controller"});
  Objects objects{*controllers[0]};
};

constexpr const char* kBoundClaim = R"(,"annotations":{"pv.kubernetes.io/bind-completed":"yes"})";
constexpr const char* kRef =
    R"(,"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"ns","name":"c","uid":"u"})";

TEST_F(BinderTest, BindsTheVolumeFirstThenTheClaimThenTheirStatuses) {
  claim(R"(,"storageClassName":"")");
  volume("");
  EXPECT_EQ(
      of_claim(),
      R"(patch persistentvolumes v: {"metadata":{"annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}},"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"ns","name":"c","uid":"u","resourceVersion":"7"}}})"
      "\n"
      R"(patch persistentvolumeclaims ns/c: {"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes","pv.kubernetes.io/bound-by-controller":"yes"}},"spec":{"volumeName":"v"}})"
      "\n");
  // Killed in between: the volume is found again by its reference.
  volume(kRef, R"(,"annotations":{"pv.kubernetes.io/bound-by-controller":"yes"})");
  EXPECT_THAT(of_claim(), testing::StartsWith("patch persistentvolumeclaims ns/c: "));
  claim(R"(,"storageClassName":"","volumeName":"v")", kBoundClaim);
  EXPECT_EQ(
      of_claim(),
      R"(patch persistentvolumes v/status: {"status":{"phase":"Bound","message":null}})"
      "\n"
      R"(patch persistentvolumeclaims ns/c/status: {"status":{"phase":"Bound","accessModes":["ReadWriteOnce"],"capacity":{"storage":"10Gi"}}})"
      "\n");
  volume(kRef, "", "Bound");
  claim(R"(,"storageClassName":"","volumeName":"v")", kBoundClaim,
        R"("phase":"Bound","accessModes":["ReadWriteOnce"],"capacity":{"storage":"10Gi"})");
  EXPECT_EQ(of_claim(), "");
  EXPECT_EQ(of_volume(), "");
}

TEST_F(BinderTest, AVolumeThatWasAskedForIsTakenOrRefused) {
  claim(R"(,"storageClassName":"","volumeName":"v")");
  EXPECT_EQ(of_claim(), "") << "it may come";
  volume("");
  EXPECT_THAT(
      of_claim(),
      HasSubstr(R"({"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}}})"))
      << "bound by the user";
  volume(R"(,"storageClassName":"fast")");
  EXPECT_EQ(of_claim(),
            "event VolumeMismatch: Cannot bind to requested volume \"v\": storageClassName does "
            "not match\n");
  volume(R"(,"claimRef":{"namespace":"ns","name":"other","uid":"x"})");
  EXPECT_EQ(of_claim(), "event FailedBinding: volume \"v\" already bound to a different claim.\n");
}

TEST_F(BinderTest, SaysWhyAClaimWaits) {
  claim(R"(,"storageClassName":"")");
  EXPECT_EQ(of_claim(),
            "event FailedBinding: no persistent volumes available for this claim and no storage "
            "class is set\n");
  claim(R"(,"storageClassName":"fast")");
  EXPECT_EQ(of_claim(),
            "event ProvisioningFailed: storageclass.storage.k8s.io \"fast\" not found\n");
  storage_class("fast", R"("provisioner":"kubernetes.io/no-provisioner")");
  EXPECT_EQ(
      of_claim(),
      "event ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner\n");
  storage_class("fast", R"("provisioner":"x","volumeBindingMode":"WaitForFirstConsumer")");
  EXPECT_EQ(
      of_claim(),
      "event WaitForFirstConsumer: waiting for first consumer to be created before binding\n");
  objects.add(
      kPod,
      R"({"metadata":{"name":"p","namespace":"ns"},"spec":{"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]}})");
  EXPECT_EQ(of_claim(), "event WaitForPodScheduled: waiting for pod p to be scheduled\n");
}

TEST_F(BinderTest, AClassThatCanMakesAVolume) {
  storage_class(
      "fast", R"("provisioner":"berth.dev/simulated","volumeBindingMode":"WaitForFirstConsumer")");
  const char* kChosen = R"(,"annotations":{"volume.kubernetes.io/selected-node":"n1"})";
  claim(R"(,"storageClassName":"fast")", kChosen);
  EXPECT_THAT(of_claim(),
              HasSubstr(R"("volume.kubernetes.io/storage-provisioner":"berth.dev/simulated")"));
  EXPECT_THAT(of_claim(), HasSubstr("event ExternalProvisioning: Waiting for a volume"));
  const char* kReady =
      R"(,"annotations":{"volume.kubernetes.io/selected-node":"n1","volume.kubernetes.io/storage-provisioner":"berth.dev/simulated"})";
  claim(R"(,"storageClassName":"fast")", kReady);
  EXPECT_THAT(of_claim(), HasSubstr(R"({"volume.kubernetes.io/selected-node":null})"))
      << "a node that is gone";
  objects.add(kNode, R"({"metadata":{"name":"n1"}})");
  EXPECT_EQ(of_claim(),
            "event Provisioning: External provisioner is provisioning volume for claim \"ns/c\"\n"
            "create persistentvolumes pvc-u\n"
            "event ProvisioningSucceeded: Successfully provisioned volume pvc-u\n");
}

TEST_F(BinderTest, AClaimWithoutAClassGetsTheDefaultOne) {
  claim("");
  objects.add(
      kStorageClass,
      R"({"metadata":{"name":"old","creationTimestamp":"2026-01-01T00:00:00Z","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"x"})");
  objects.add(
      kStorageClass,
      R"({"metadata":{"name":"new","creationTimestamp":"2026-01-01T00:00:01Z","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"x"})");
  EXPECT_EQ(of_claim(),
            "patch persistentvolumeclaims ns/c: {\"spec\":{\"storageClassName\":\"new\"}}\n");
}

TEST_F(BinderTest, ABoundClaimThatLosesItsVolumeIsLost) {
  claim(R"(,"storageClassName":"","volumeName":"v")", kBoundClaim, R"("phase":"Bound")");
  EXPECT_EQ(of_claim(), "ask live\n");
  answer({});
  EXPECT_EQ(of_claim(),
            R"(patch persistentvolumeclaims ns/c/status: {"status":{"phase":"Lost"}})"
            "\nevent ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is "
            "lost!\n");
  objects.memory.answers.clear();
  volume(R"(,"claimRef":{"namespace":"ns","name":"c","uid":"another"})");
  EXPECT_THAT(of_claim(), HasSubstr("event ClaimMisbound"));
}

TEST_F(BinderTest, AVolumeFollowsItsClaim) {
  struct Row {
    const char* why;
    std::string spec, metadata, phase, plan;
  };
  const std::string kToBound =
      "patch persistentvolumes v/status: {\"status\":{\"phase\":\"Bound\",\"message\":null}}\n";
  const std::string kToReleased =
      "patch persistentvolumes v/status: {\"status\":{\"phase\":\"Released\",\"message\":null}}\n";
  claim(R"(,"volumeName":"v")");
  volume(kRef);
  EXPECT_EQ(of_volume(), kToBound);
  claim(R"(,"volumeName":"")");
  EXPECT_EQ(of_volume(), "");
  claim(R"(,"volumeName":"other")");
  EXPECT_EQ(of_volume(), "patch persistentvolumes v: {\"spec\":{\"claimRef\":{\"uid\":null}}}\n");
  volume(kRef, R"(,"annotations":{"pv.kubernetes.io/bound-by-controller":"yes"})");
  EXPECT_THAT(of_volume(), HasSubstr(R"("spec":{"claimRef":null})"));
  objects.remove(kPersistentVolumeClaim, {"ns", "c"});
  EXPECT_EQ(of_volume(), "ask live\n") << "a late cache must not cost data";
  answer({});
  EXPECT_EQ(of_volume(), kToReleased);
  objects.memory.answers.clear();
  for (
      const Row& row : {
          Row{"kept", R"(,"persistentVolumeReclaimPolicy":"Retain")", "", "Released", ""},
          {"ours goes", R"(,"persistentVolumeReclaimPolicy":"Delete")",
           R"(,"annotations":{"pv.kubernetes.io/provisioned-by":"berth.dev/simulated"})",
           "Released", "erase persistentvolumes v\n"},
          {"another's goes when that wants", R"(,"persistentVolumeReclaimPolicy":"Delete")",
           R"(,"annotations":{"pv.kubernetes.io/provisioned-by":"example.com/x"})", "Released", ""},
          {"nobody can", R"(,"persistentVolumeReclaimPolicy":"Delete","local":{"path":"/x"})", "",
           "Released",
           R"(patch persistentvolumes v/status: {"status":{"phase":"Failed","message":"error getting deleter volume plugin for volume \"v\": no volume plugin matched"}})"
           "\nevent VolumeFailedDelete: error getting deleter volume plugin for volume \"v\": no "
           "volume plugin matched\n"},
          {"is over", R"(,"persistentVolumeReclaimPolicy":"Delete","local":{"path":"/x"})", "",
           "Failed", ""},
          {"gone at last", R"(,"persistentVolumeReclaimPolicy":"Delete")",
           R"(,"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["external-provisioner.volume.kubernetes.io/finalizer"],"annotations":{"pv.kubernetes.io/provisioned-by":"berth.dev/simulated"})",
           "Released",
           R"(patch persistentvolumes v: {"metadata":{"$deleteFromPrimitiveList/finalizers":["external-provisioner.volume.kubernetes.io/finalizer"]}})"
           "\n"},
      }) {
    SCOPED_TRACE(row.why);
    volume(kRef + row.spec, row.metadata, row.phase);
    EXPECT_EQ(of_volume(), row.plan);
  }
  volume("", "", "");
  EXPECT_THAT(of_volume(), HasSubstr("Available"));
}

TEST(VolumeProtection, FinalizersStayWhileSomebodyIsThere) {
  const auto both = *make_controllers(
      {"persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"});
  Objects claims(*both[0]), volumes(*both[1]);
  const auto text = [](Objects& objects, const runtime::Key& key) {
    return objects.reconcile(key, kNow).text();
  };
  claims.add(kPersistentVolumeClaim, R"({"metadata":{"name":"c","namespace":"ns"}})");
  EXPECT_THAT(text(claims, {"ns", "c"}),
              HasSubstr(R"({"finalizers":["kubernetes.io/pvc-protection"]})"));
  claims.add(
      kPersistentVolumeClaim,
      R"({"metadata":{"name":"c","namespace":"ns","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["kubernetes.io/pvc-protection"]}})");
  EXPECT_EQ(text(claims, {"ns", "c"}), "ask live pods\n");
  runtime::Answer pods;
  claims.memory.answers["live pods"] = pods;
  EXPECT_THAT(text(claims, {"ns", "c"}), HasSubstr("$deleteFromPrimitiveList/finalizers"));
  const char* kUser =
      R"({"metadata":{"name":"p","namespace":"ns"},"spec":{"nodeName":"n","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]}})";
  pods.objects = {*Object::parse(kPod, kUser)};
  claims.memory.answers["live pods"] = pods;
  EXPECT_EQ(text(claims, {"ns", "c"}), "");
  claims.memory.answers.clear();
  claims.add(kPod, kUser);
  EXPECT_EQ(text(claims, {"ns", "c"}), "");

  volumes.add(kPersistentVolume, R"({"metadata":{"name":"v"}})");
  EXPECT_THAT(text(volumes, {"", "v"}),
              HasSubstr(R"({"finalizers":["kubernetes.io/pv-protection"]})"));
  const char* kGoing =
      R"({{"metadata":{{"name":"v","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["kubernetes.io/pv-protection"]}},"status":{{"phase":"{}"}}}})";
  volumes.add(kPersistentVolume, fmt::format(fmt::runtime(kGoing), "Bound"));
  EXPECT_EQ(text(volumes, {"", "v"}), "");
  volumes.add(kPersistentVolume, fmt::format(fmt::runtime(kGoing), "Released"));
  EXPECT_THAT(text(volumes, {"", "v"}), HasSubstr("$deleteFromPrimitiveList/finalizers"));
}

}  // namespace
}  // namespace berth::controllers
