// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/namespace_cleaner/content.h"
#include "controllers/registry.h"
#include "kube/time.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

using testing::HasSubstr;

const WallTime kNow = *kube::parse_time("2026-01-01T00:01:00Z");

constexpr const char* kDiscovery =
    R"({"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":""},"versions":[{"version":"v1","resources":[)"
    R"({"resource":"pods","responseKind":{"kind":"Pod"},"scope":"Namespaced","verbs":["delete","deletecollection","list"]},)"
    R"({"resource":"secrets","responseKind":{"kind":"Secret"},"scope":"Namespaced","verbs":["delete","deletecollection","list"]},)"
    R"({"resource":"bindings","responseKind":{"kind":"Binding"},"scope":"Namespaced","verbs":["create"]},)"
    R"({"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster","verbs":["delete","deletecollection","list"]}]}]}]})";
constexpr const char* kNoGroups = R"({"kind":"APIGroupDiscoveryList","items":[]})";

class NamespaceCleanerTable : public testing::Test {
 protected:
  void lives(const char* deleted, const char* finalizers = R"(["kubernetes"])") {
    objects.add(
        kube::kNamespace,
        fmt::format(R"({{"metadata":{{"name":"a"{}}},"spec":{{"finalizers":{}}}}})",
                    deleted == nullptr ? "" : fmt::format(R"(,"deletionTimestamp":"{}")", deleted),
                    finalizers));
  }
  void answer(const std::string& question, const std::string& text) {
    objects.memory.answers[question] = runtime::Answer{.text = text};
  }
  void holds(const std::string& question, kube::KindId kind, std::vector<std::string> jsons) {
    runtime::Answer answer;
    for (const std::string& json : jsons)
      answer.objects.push_back(*kube::Object::parse(kind, json));
    objects.memory.answers[question] = std::move(answer);
  }
  void discovered() {
    answer("/api", kDiscovery);
    answer("/apis", kNoGroups);
  }
  std::string plan() { return objects.reconcile({"", "a"}, kNow).text(); }

  std::vector<std::unique_ptr<runtime::Controller>> controllers =
      *make_controllers({"namespace-controller"});
  runtime::Objects objects{*controllers[0]};
};

TEST_F(NamespaceCleanerTable, LeavesLivingAndFinalizedOnesAlone) {
  lives(nullptr);
  EXPECT_EQ(plan(), "");
  lives("2026-01-01T00:00:00Z", "[]");
  EXPECT_EQ(plan(), "");
}

TEST_F(NamespaceCleanerTable, GivesOthersFiveSecondsToHearOfIt) {
  lives("2026-01-01T00:00:58Z");
  EXPECT_EQ(plan(), "again at 2026-01-01T00:01:03Z\n");
}

TEST_F(NamespaceCleanerTable, GoesStepByStepFromKindsToPodsToTheRest) {
  lives("2026-01-01T00:00:00Z");
  EXPECT_EQ(plan(), "ask /api\nask /apis\n");
  discovered();
  EXPECT_EQ(plan(), "ask pods before\nerase all pods in a\nask pods left\nask /api\nask /apis\n");
  holds("pods before", kube::kPod, {});
  holds("pods left", kube::kPod, {});
  EXPECT_EQ(plan(),
            "erase all secrets in a\nask left secrets.\nask pods left\nask /api\nask /apis\n");
  holds("left secrets.", kube::kSecret, {});
  const std::string last = plan();
  EXPECT_THAT(last, HasSubstr("patch namespaces a/status"));
  EXPECT_THAT(last, HasSubstr(R"("reason":"ContentRemoved")"));
  EXPECT_THAT(last, testing::EndsWith("\nask empty\n"));
  objects.memory.answers.clear();
  holds(
      "empty", kube::kNamespace,
      {R"({"metadata":{"name":"a","uid":"uid-a","resourceVersion":"9"},"spec":{"finalizers":["z","kubernetes"]}})"});
  EXPECT_EQ(
      plan(),
      "update namespaces a/finalize: "
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","uid":"uid-a","resourceVersion":"9"},"spec":{"finalizers":["z"]}})"
      "\n");
}

TEST_F(NamespaceCleanerTable, LooksAgainFiveSecondsAfterItsOwnWord) {
  lives("2026-01-01T00:00:50Z");
  discovered();
  const char* pod =
      R"({"metadata":{"name":"p","namespace":"a"},"spec":{"terminationGracePeriodSeconds":30}})";
  holds("pods before", kube::kPod, {pod});
  holds("pods left", kube::kPod, {pod});
  const std::string text = plan();
  EXPECT_THAT(text, HasSubstr("again at 2026-01-01T00:01:05Z"));
  EXPECT_THAT(text, HasSubstr(R"("reason":"ContentRemoved")"))
      << "k8s 1.36 says so while pods stay";
}

TEST_F(NamespaceCleanerTable, SaysWhatIsLeftAndWhatKeepsIt) {
  lives("2026-01-01T00:00:00Z");
  discovered();
  holds("pods left", kube::kPod, {});
  holds("left secrets.", kube::kSecret,
        {R"({"metadata":{"name":"s","namespace":"a","finalizers":["example.com/x"]}})"});
  const std::string text = plan();
  EXPECT_THAT(text, HasSubstr("Some resources are remaining: secrets. has 1 resource instances"));
  EXPECT_THAT(text, HasSubstr("Some content in the namespace has finalizers remaining: "
                              "example.com/x in 1 resource instances"));
  EXPECT_THAT(text, HasSubstr("again at 2026-01-01T00:01:05Z"));
}

TEST_F(NamespaceCleanerTable, ReportsFailuresOfOneKindAndLooksAtTheOthers) {
  lives("2026-01-01T00:00:00Z");
  discovered();
  holds("pods left", kube::kPod, {});
  objects.memory.answers["erased secrets."] =
      runtime::Answer{.error = Error{.reason = Reason::kInternalError, .message = "no luck"}};
  holds("left secrets.", kube::kSecret, {R"({"metadata":{"name":"s","namespace":"a"}})"});
  EXPECT_THAT(plan(), HasSubstr("Failed to delete all resource types, 1 remaining: no luck"));
  objects.memory.answers.erase("erased secrets.");
  EXPECT_THAT(plan(), HasSubstr("unexpected items still remain in namespace: a for gvr: /v1, "
                                "Resource=secrets"));
}

TEST_F(NamespaceCleanerTable, LetsNothingGoWhileSomeKindsAreNotKnown) {
  lives("2026-01-01T00:00:00Z");
  answer("/api", kNoGroups);
  answer(
      "/apis",
      R"({"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"x.io"},"versions":[{"version":"v1","freshness":"Stale"}]}]})");
  const std::string text = plan();
  EXPECT_THAT(text, HasSubstr("Discovery failed for some groups, 1 failing: unable to retrieve the "
                              "complete list of server APIs: x.io/v1: stale GroupVersion "
                              "discovery: x.io/v1"));
  EXPECT_THAT(text, testing::Not(HasSubstr("ask empty")));
}

}  // namespace
}  // namespace berth::controllers
