// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "kube/time.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

using testing::HasSubstr;

const WallTime kNow = *kube::parse_time("2026-01-01T00:01:00Z");
constexpr const char* kDeleted = R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")";

std::string owner(const char* kind, const char* name, bool block = false) {
  return fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"{0}","name":"{1}","uid":"uid-{1}","blockOwnerDeletion":{2}}})",
      kind, name, block);
}
std::string owned_by(const std::string& owners) {
  return fmt::format(R"(,"ownerReferences":[{}])", owners);
}

class GarbageCollectorTable : public testing::Test {
 protected:
  void add(kube::KindId kind, const char* name, const std::string& metadata = "",
           const char* ns = "a") {
    objects.add(kind, fmt::format(R"({{"metadata":{{"name":"{}","namespace":"{}"{}}}}})", name, ns,
                                  metadata));
  }
  void answer(const char* uid, const char* json) {
    runtime::Answer answer;
    if (json == nullptr)
      answer.error = Error{.reason = Reason::kNotFound, .message = "not found"};
    else
      answer.objects.push_back(*kube::Object::parse(kube::kReplicaSet, json));
    objects.memory.answers[fmt::format("owner {}", uid)] = std::move(answer);
  }
  runtime::Plan plan(const char* key = "pods./a", const char* name = "p") {
    return objects.reconcile({key, name}, kNow);
  }
  kube::Propagation how(const runtime::Plan& of) {
    return std::get<runtime::EraseAction>(of.actions().at(0)).propagation;
  }

  std::vector<std::unique_ptr<runtime::Controller>> controllers =
      *make_controllers({"garbage-collector-controller"});
  runtime::Objects objects{*controllers[0]};
};

TEST_F(GarbageCollectorTable, KeepsWhatHasAnOwnerInTheCache) {
  add(kube::kReplicaSet, "r");
  add(kube::kPod, "p", owned_by(owner("ReplicaSet", "r")));
  EXPECT_EQ(plan().text(), "");
  add(kube::kPod, "p");
  EXPECT_EQ(plan().text(), "") << "nobody's";
}

TEST_F(GarbageCollectorTable, RemovesNothingBeforeTheServerWasAsked) {
  add(kube::kPod, "p", owned_by(owner("ReplicaSet", "r")));
  EXPECT_EQ(plan().text(), "ask owner uid-r\n");
  answer("uid-r", nullptr);
  EXPECT_EQ(plan().text(), "erase pods a/p\n");
  EXPECT_EQ(how(plan()), kube::Propagation::kBackground);
  answer("uid-r", R"({"metadata":{"name":"r","namespace":"a","uid":"another"}})");
  EXPECT_EQ(plan().text(), "erase pods a/p\n") << "one of the same name";
  answer("uid-r", R"({"metadata":{"name":"r","namespace":"a","uid":"uid-r"}})");
  EXPECT_EQ(plan().text(), "again at 2026-01-01T00:01:01Z\n") << "there, but not in the cache yet";
}

TEST_F(GarbageCollectorTable, BelievesACacheThatSawTheOwnerGo) {
  add(kube::kPod, "p", owned_by(owner("ReplicaSet", "r")));
  objects.gone_uids.insert("uid-r");
  EXPECT_EQ(plan().text(), "erase pods a/p\n");
}

TEST_F(GarbageCollectorTable, InsistsOnTheVersionWhoseOwnersItJudged) {
  add(kube::kPod, "p", owned_by(owner("ReplicaSet", "r")));
  objects.gone_uids.insert("uid-r");
  const auto erase = std::get<runtime::EraseAction>(plan().actions().at(0));
  EXPECT_EQ(erase.pin, runtime::Pin::kRevision);
  EXPECT_EQ(erase.target.uid, "uid-p");
}

TEST_F(GarbageCollectorTable, HonoursHowAnObjectWantsToGo) {
  objects.gone_uids.insert("uid-r");
  add(kube::kPod, "p", owned_by(owner("ReplicaSet", "r")) + R"(,"finalizers":["orphan"])");
  EXPECT_EQ(how(plan()), kube::Propagation::kOrphan);
  add(kube::kPod, "p",
      owned_by(owner("ReplicaSet", "r")) + R"(,"finalizers":["foregroundDeletion"])");
  EXPECT_EQ(how(plan()), kube::Propagation::kForeground);
}

TEST_F(GarbageCollectorTable, OneOwnerIsEnoughAndTheLostOnesAreForgotten) {
  add(kube::kReplicaSet, "r");
  add(kube::kPod, "p", owned_by(owner("ReplicaSet", "r") + "," + owner("ReplicaSet", "lost")));
  objects.gone_uids.insert("uid-lost");
  EXPECT_EQ(plan().text(),
            fmt::format("patch pods a/p: {{\"metadata\":{{\"ownerReferences\":[{}]}}}}\n",
                        owner("ReplicaSet", "r")));
}

TEST_F(GarbageCollectorTable, AnOwnerThatWaitsForItIsNoOwner) {
  const std::string waiting = std::string(kDeleted) + R"(,"finalizers":["foregroundDeletion"])";
  add(kube::kReplicaSet, "r", waiting);
  add(kube::kPod, "p", owned_by(owner("ReplicaSet", "r", true)));
  EXPECT_EQ(plan().text(), "ask owner uid-r\n") << "it may have changed its mind";
  const std::string live =
      fmt::format(R"({{"metadata":{{"name":"r","namespace":"a","uid":"uid-r"{}}}}})", waiting);
  answer("uid-r", live.c_str());
  EXPECT_EQ(how(plan()), kube::Propagation::kBackground);
  add(kube::kSecret, "s", owned_by(owner("Pod", "p")));
  EXPECT_EQ(how(plan()), kube::Propagation::kForeground) << "it has dependents itself";
  add(kube::kSecret, "s", owned_by(owner("Pod", "p")) + waiting);
  EXPECT_THAT(plan().text(), HasSubstr(R"("blockOwnerDeletion":false)")) << "perhaps a circle";
}

TEST_F(GarbageCollectorTable, WaitsForBlockingDependentsOnly) {
  add(kube::kReplicaSet, "r",
      std::string(kDeleted) + R"(,"finalizers":["keep","foregroundDeletion"])");
  add(kube::kPod, "p", owned_by(owner("ReplicaSet", "r", true)));
  EXPECT_EQ(plan("replicasets.apps/a", "r").text(), "");
  add(kube::kPod, "p", owned_by(owner("ReplicaSet", "r", false)));
  EXPECT_EQ(plan("replicasets.apps/a", "r").text(),
            "patch replicasets a/r: {\"metadata\":{\"finalizers\":[\"keep\"]}}\n");
}

TEST_F(GarbageCollectorTable, SetsDependentsFreeBeforeTheOwner) {
  add(kube::kReplicaSet, "r", std::string(kDeleted) + R"(,"finalizers":["orphan"])");
  add(kube::kPod, "p", owned_by(owner("ReplicaSet", "r") + "," + owner("ReplicaSet", "q")));
  EXPECT_EQ(plan("replicasets.apps/a", "r").text(),
            fmt::format("patch pods a/p: {{\"metadata\":{{\"ownerReferences\":[{}]}}}}\n",
                        owner("ReplicaSet", "q")));
  add(kube::kPod, "p");
  EXPECT_EQ(plan("replicasets.apps/a", "r").text(),
            "patch replicasets a/r: {\"metadata\":{\"finalizers\":[]}}\n");
}

TEST_F(GarbageCollectorTable, AsksForDependentsThatALateCacheMayNotShow) {
  add(kube::kReplicaSet, "r", std::string(kDeleted) + R"(,"finalizers":["orphan"])");
  objects.followed_kinds = {kube::kPod, kube::kSecret};
  objects.behind = {"secrets."};
  EXPECT_EQ(plan("replicasets.apps/a", "r").text(), "ask all secrets./\n");
  runtime::Answer late;
  late.objects.push_back(*kube::Object::parse(
      kube::kSecret,
      fmt::format(
          R"({{"metadata":{{"name":"s","namespace":"a","uid":"uid-s","resourceVersion":"5"{}}}}})",
          owned_by(owner("ReplicaSet", "r")))));
  objects.memory.answers["all secrets./"] = late;
  EXPECT_EQ(plan("replicasets.apps/a", "r").text(),
            "patch secrets a/s: {\"metadata\":{\"ownerReferences\":[]}}\n");
  objects.memory.answers["all secrets./"] = runtime::Answer{};
  EXPECT_EQ(plan("replicasets.apps/a", "r").text(),
            "patch replicasets a/r: {\"metadata\":{\"finalizers\":[]}}\n");
}

TEST_F(GarbageCollectorTable, LeavesTheRestToItsDeletion) {
  add(kube::kPod, "p", owned_by(owner("ReplicaSet", "r")) + kDeleted);
  EXPECT_EQ(plan().text(), "");
}

TEST_F(GarbageCollectorTable, KindsThatAreNotServedAndOwnersWithANamespaceAreNoReason) {
  add(kube::kPod, "p", owned_by(owner("Nonsense", "r")));
  EXPECT_EQ(plan().text(), "again at 2026-01-01T00:01:30Z\n");
  add(kube::kPersistentVolume, "v", owned_by(owner("ReplicaSet", "r")), "");
  EXPECT_EQ(plan("persistentvolumes./", "v").text(), "");
}

TEST_F(GarbageCollectorTable, TellsWhoseOwnerLivesInAnotherNamespace) {
  add(kube::kReplicaSet, "r", "", "b");
  add(kube::kPod, "p", owned_by(owner("ReplicaSet", "r")));
  answer("uid-r", nullptr);
  EXPECT_EQ(plan().text(),
            "event OwnerRefInvalidNamespace: ownerRef [apps/v1/ReplicaSet, namespace: a, name: r, "
            "uid: uid-r] does not exist in namespace \"a\"\nerase pods a/p\n");
}

}  // namespace
}  // namespace berth::controllers
