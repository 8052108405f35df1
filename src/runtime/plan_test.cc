// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan.h"

#include <gtest/gtest.h>

#include "kube/time.h"
#include "runtime/performing.h"
#include "runtime/spec.h"

namespace berth::runtime {
namespace {

Object job(const std::string& rest = "") {
  return *Object::parse(
      kube::kJob, R"({"metadata":{"name":"j","namespace":"ns","uid":"u1","resourceVersion":"42"})" +
                      rest + "}");
}

TEST(Plan, IsPerformedInTheOrderItWasWritten) {
  Plan plan;
  plan.create(kube::kPod, {"ns", "j-0"}, "{}")
      .patch(job(), R"({"spec":{}})")
      .patch_status(job(), R"({"status":{}})")
      .erase(job())
      .event(job(), {.reason = "Made", .action = "Make", .note = "a pod"});
  EXPECT_EQ(plan.text(),
            "create pods ns/j-0\npatch jobs ns/j: {\"spec\":{}}\npatch jobs ns/j/status: "
            "{\"status\":{}}\nerase jobs ns/j\nevent Made: a pod\n");
}

TEST(Plan, TheEarliestOfSeveralTimesCounts) {
  const WallTime noon = *kube::parse_time("2026-01-01T12:00:00Z");
  EXPECT_EQ(Plan().again_at(noon + 1h).again_at(noon).again_at(noon + 2h).again(), noon);
}

TEST(Plan, AStatusIsWrittenAsTheSmallestPatchAndNotAtAllWhenItIsTrueAlready) {
  const Object now = job(R"(,"status":{"active":1,"ready":0})");
  EXPECT_TRUE(Plan().set_status(now, R"({"ready":0,"active":1})").empty());
  EXPECT_EQ(Plan().set_status(now, R"({"active":2})").text(),
            "patch jobs ns/j/status: {\"status\":{\"ready\":null,\"active\":2}}\n");
  EXPECT_EQ(Plan().set_status(job(), R"({"active":2})").text(),
            "patch jobs ns/j/status: {\"status\":{\"active\":2}}\n");
}

TEST(Plan, PreconditionsComeFromTheObjectAndTravelInThePatch) {
  Plan plan;
  plan.patch(job(), R"({"metadata":{"labels":{"a":"b"}},"spec":{"x":1}})");
  plan.patch(job(), R"({"spec":null})", Pin::kUid);
  plan.patch(job(), R"([{"op":"remove","path":"/spec"}])", Pin::kRevision, kube::PatchType::kJson);
  const auto sent = [&](std::size_t i) {
    return pinned_patch(std::get<PatchAction>(plan.actions()[i]));
  };
  EXPECT_EQ(
      sent(0),
      R"({"metadata":{"uid":"u1","resourceVersion":"42","labels":{"a":"b"}},"spec":{"x":1}})");
  EXPECT_EQ(sent(1), R"({"metadata":{"uid":"u1"},"spec":null})");
  EXPECT_EQ(
      sent(2),
      R"([{"op":"test","path":"/metadata/uid","value":"u1"},)"
      R"({"op":"test","path":"/metadata/resourceVersion","value":"42"},{"op":"remove","path":"/spec"}])");
}

TEST(Spec, RightsAreTheSumOfWhatIsDeclared) {
  const Spec one = Spec("one")
                       .reconciles(kube::kJob)
                       .watches(kube::kPod, owner_of(kube::kJob))
                       .creates(kube::kPod)
                       .patches_status(kube::kJob)
                       .tells();
  const Spec two = Spec("two").reconciles(kube::kPod).erases(kube::kPod).evicts();
  EXPECT_EQ(
      rules_json({one, two}),
      R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get","list","watch","create","delete"]},)"
      R"({"apiGroups":[""],"resources":["pods/eviction"],"verbs":["create"]},)"
      R"({"apiGroups":["batch"],"resources":["jobs"],"verbs":["get","list","watch"]},)"
      R"({"apiGroups":["batch"],"resources":["jobs/status"],"verbs":["patch"]},)"
      R"({"apiGroups":["events.k8s.io"],"resources":["events"],"verbs":["create","patch"]}])");
}

TEST(Spec, ScalesAreAskedByWhoDeclaresIt) {
  const AskAction scale{"scale", kube::ApiRequest{.kind = kube::kJob, .subresource = "scale"}};
  EXPECT_FALSE(Spec("s").reconciles(kube::kJob).allows(scale));
  const Spec spec = Spec("s").asks_any_scale();
  EXPECT_TRUE(spec.allows(scale));
  EXPECT_EQ(
      rules_json({spec}),
      R"([{"apiGroups":["*"],"resources":["*/scale"],"verbs":["get"]},)"
      R"({"apiGroups":["apiextensions.k8s.io"],"resources":["customresourcedefinitions"],"verbs":["get","list","watch"]}])");
}

TEST(Spec, AllowsWhatIsDeclaredAndNothingElse) {
  const Spec spec = Spec("s").reconciles(kube::kJob).creates(kube::kPod).patches_status(kube::kJob);
  Plan plan;
  plan.create(kube::kPod, {"ns", "p"}, "{}").patch_status(job(), "{}");
  for (const Action& action : plan.actions()) EXPECT_TRUE(spec.allows(action)) << text_of(action);
  Plan other;
  other.create(kube::kJob, {"ns", "p"}, "{}").patch(job(), "{}").erase(job()).evict(job());
  other.event(job(), {}).ask("nodes", kube::ApiRequest{.kind = kube::kNode});
  for (const Action& action : other.actions()) EXPECT_FALSE(spec.allows(action)) << text_of(action);
  EXPECT_TRUE(spec.allows(AskAction{"live", kube::ApiRequest{.kind = kube::kJob}}));
  EXPECT_TRUE(spec.allows(AskAction{"power", "now"}));
}

class NoObjects final : public Lookup {
 public:
  const Object* get(KindId, const Key&) const override { return nullptr; }
  std::vector<const Object*> list(KindId) const override { return {}; }
  std::vector<const Object*> list(KindId, std::string_view) const override { return {}; }
  std::vector<const Object*> by_index(KindId, std::string_view, std::string_view) const override {
    return {};
  }
  kube::Revision seen(KindId) const override { return 0; }
};

std::vector<std::string> woken(const Mapping& mapping, const Object* before, const Object* after) {
  const NoObjects none;
  std::vector<Key> keys;
  mapping(View(none), {before, after}, keys);
  std::vector<std::string> names;
  for (const Key& key : keys) names.push_back(key.text());
  return names;
}

Object pod_of(const std::string& owners) {
  return *Object::parse(
      kube::kPod,
      R"({"metadata":{"name":"p","namespace":"ns","ownerReferences":[)" + owners + "]}}");
}

TEST(Mapping, WakesTheOldAndTheNewOwner) {
  const Object a =
      pod_of(R"({"apiVersion":"batch/v1","kind":"Job","name":"a","uid":"1","controller":true})");
  const Object b =
      pod_of(R"({"apiVersion":"batch/v1","kind":"Job","name":"b","uid":"2","controller":true})");
  const Mapping owner = owner_of(kube::kJob);
  EXPECT_EQ(woken(owner, &a, &b), (std::vector<std::string>{"ns/a", "ns/b"}));
  EXPECT_EQ(woken(owner, nullptr, &b), (std::vector<std::string>{"ns/b"}));
  EXPECT_EQ(woken(owner, &a, nullptr), (std::vector<std::string>{"ns/a"}));
  EXPECT_EQ(woken(self(), &a, &b), (std::vector<std::string>{"ns/p"}));
}

TEST(Mapping, OwnersOfOtherKindsAndGroupsAreLeftAlone) {
  const Object pod = pod_of(
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"1","controller":true},)"
      R"({"apiVersion":"example.com/v1","kind":"Job","name":"x","uid":"2"},)"
      R"({"apiVersion":"batch/v1beta1","kind":"Job","name":"j","uid":"3"})");
  EXPECT_TRUE(woken(owner_of(kube::kJob), nullptr, &pod).empty()) << "j does not control it";
  EXPECT_EQ(woken(any_owner_of(kube::kJob), nullptr, &pod), (std::vector<std::string>{"ns/j"}));
  EXPECT_EQ(woken(owner_of(kube::kReplicaSet), nullptr, &pod), (std::vector<std::string>{"ns/r"}));
}

}  // namespace
}  // namespace berth::runtime
