// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/admission_lab.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kWeb = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},)"
                                  R"("spec":{"containers":[{"name":"c","image":"i"}]}})";

TEST(NamespaceLifecycle, RefusesWhatHasNoNamespace) {
  AdmissionLab lab;
  const Step step = namespace_lifecycle(lab.store);
  const auto pod = lab.create(kWeb, "nowhere");
  const Result<Ok> result = step->mutate(*pod->call);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, Reason::kNotFound);
  EXPECT_EQ(result.error().message, R"(namespaces "nowhere" not found)");
  EXPECT_EQ(result.error().about->kind, "namespaces");
  EXPECT_EQ(result.error().about->name, "nowhere");
  lab.ns("nowhere");
  EXPECT_TRUE(step->mutate(*pod->call));
}

TEST(NamespaceLifecycle, RefusesNewThingsInATerminatingNamespaceButNotChangesAndRemovals) {
  AdmissionLab lab;
  const Step step = namespace_lifecycle(lab.store);
  lab.put(
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"old"},"status":{"phase":"Terminating"}})");
  const auto pod = lab.create(kWeb, "old");
  const Result<Ok> result = step->mutate(*pod->call);
  EXPECT_EQ(
      refused(result),
      R"(pods "web" is forbidden: unable to create new content in namespace old because it is being terminated)");
  ASSERT_EQ(result.error().causes.size(), 1U);
  EXPECT_EQ(
      result.error().causes[0],
      (Cause{"NamespaceTerminating", "namespace old is being terminated", "metadata.namespace"}));
  const kube::Object there = lab.put(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"old"}})");
  EXPECT_TRUE(step->mutate(*lab.update(there, there.json())->call));
  EXPECT_TRUE(step->mutate(*lab.remove(there)->call));
  EXPECT_FALSE(step->mutate(*lab.post(kube::kPod, {"old", "web"}, "eviction", "{}")->call));
}

TEST(NamespaceLifecycle, KeepsThreeNamespacesForEver) {
  AdmissionLab lab;
  const Step step = namespace_lifecycle(lab.store);
  for (const std::string name : {"default", "kube-system", "kube-public"}) {
    lab.ns(name);
    EXPECT_EQ(
        refused(step->mutate(*lab.remove(*lab.store.get(kube::kNamespace, {"", name}))->call)),
        "namespaces \"" + name + "\" is forbidden: this namespace may not be deleted");
  }
  lab.ns("mine");
  EXPECT_TRUE(step->mutate(*lab.remove(*lab.store.get(kube::kNamespace, {"", "mine"}))->call));
}

TEST(Priority, ResolvesTheClassAndTheGlobalDefault) {
  AdmissionLab lab;
  const Step step = priority(lab.store);
  const auto plain = lab.create(kWeb);
  ASSERT_TRUE(step->mutate(*plain->call));
  EXPECT_EQ(plain->at("/spec/priority"), "0");
  EXPECT_EQ(plain->at("/spec/preemptionPolicy"), R"("PreemptLowerPriority")");
  EXPECT_EQ(plain->at("/spec/priorityClassName"), "");

  lab.put(
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"usual"},"value":7,"globalDefault":true,"preemptionPolicy":"Never"})");
  const auto usual = lab.create(kWeb);
  ASSERT_TRUE(step->mutate(*usual->call));
  EXPECT_EQ(usual->at("/spec/priority"), "7");
  EXPECT_EQ(usual->at("/spec/preemptionPolicy"), R"("Never")");
  EXPECT_EQ(usual->at("/spec/priorityClassName"), R"("usual")");
}

struct PriorityRow {
  const char* name;
  const char* spec;
  const char* text;
};
class PriorityRefuses : public testing::TestWithParam<PriorityRow> {};

TEST_P(PriorityRefuses, InTheRealServersWords) {
  AdmissionLab lab;
  lab.put(
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"high"},"value":100,"preemptionPolicy":"PreemptLowerPriority"})");
  const auto pod = lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"generateName":"web-"}},"spec":{{{},"containers":[{{"name":"c","image":"i"}}]}}}})",
      GetParam().spec));
  EXPECT_EQ(refused(priority(lab.store)->mutate(*pod->call)), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    , PriorityRefuses,
    testing::Values(
        PriorityRow{"AnUnknownClass", R"("priorityClassName":"none")",
                    R"(pods "web-" is forbidden: no PriorityClass with name none was found)"},
        PriorityRow{
            "AnotherNumber", R"("priorityClassName":"high","priority":5)",
            R"(pods "web-" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 100 from the given PriorityClass name)"},
        PriorityRow{
            "AnotherPolicy", R"("priorityClassName":"high","preemptionPolicy":"Never")",
            R"(pods "web-" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name)"},
        PriorityRow{"NothingElse", R"("priorityClassName":"high","priority":100)", ""}),
    [](const auto& each) { return each.param.name; });

TEST(Priority, AllowsOneGlobalDefaultOnly) {
  AdmissionLab lab;
  const Step step = priority(lab.store);
  constexpr std::string_view kFirst =
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"first"},"value":1,"globalDefault":true})";
  const kube::Object first = lab.put(kFirst);
  const auto second = lab.create(
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"second"},"value":2,"globalDefault":true})");
  EXPECT_EQ(
      refused(step->validate(*second->call)),
      R"(priorityclasses.scheduling.k8s.io "second" is forbidden: PriorityClass first is already marked as default. Only one default can exist)");
  EXPECT_TRUE(step->validate(*lab.update(first, kFirst)->call));
}

TEST(Priority, KeepsWhatWasResolvedWhenAnUpdateLeavesItOut) {
  AdmissionLab lab;
  const kube::Object old = lab.put(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"default"},"spec":{"containers":[{"name":"c","image":"i"}],"priority":9,"preemptionPolicy":"Never"}})");
  const auto update = lab.update(old, kWeb);
  ASSERT_TRUE(priority(lab.store)->mutate(*update->call));
  EXPECT_EQ(update->at("/spec/priority"), "9");
  EXPECT_EQ(update->at("/spec/preemptionPolicy"), R"("Never")");
}

TEST(DefaultTolerationSeconds, AddsWhatThePodDoesNotSay) {
  AdmissionLab lab;
  const auto pod = lab.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i"}],)"
      R"("tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists"}]}})");
  const Step step = default_toleration_seconds();
  ASSERT_TRUE(step->mutate(*pod->call));
  ASSERT_TRUE(step->mutate(*pod->call));  // a second time changes nothing
  EXPECT_EQ(
      pod->at("/spec/tolerations"),
      R"([{"key":"node.kubernetes.io/not-ready","operator":"Exists"},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}])");
}

TEST(DefaultTolerationSeconds, LeavesAPodThatToleratesEverything) {
  AdmissionLab lab;
  const auto pod = lab.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i"}],"tolerations":[{"operator":"Exists"}]}})");
  ASSERT_TRUE(default_toleration_seconds()->mutate(*pod->call));
  EXPECT_EQ(pod->at("/spec/tolerations"), R"([{"operator":"Exists"}])");
}

TEST(ServiceAccount, GivesTheDefaultAccountAndItsToken) {
  AdmissionLab lab;
  lab.put(
      R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default","namespace":"default"},"imagePullSecrets":[{"name":"registry"}]})");
  const auto pod = lab.create(kWeb);
  const Step step = service_account(lab.store, Random(1));
  ASSERT_TRUE(step->mutate(*pod->call));
  EXPECT_EQ(pod->at("/spec/serviceAccountName"), R"("default")");
  EXPECT_EQ(pod->at("/spec/serviceAccount"), R"("default")");
  EXPECT_EQ(pod->at("/spec/imagePullSecrets"), R"([{"name":"registry"}])");
  const std::string volume = pod->at("/spec/volumes/0/name");
  EXPECT_EQ(volume.size(), std::string_view("\"kube-api-access-xxxxx\"").size());
  EXPECT_EQ(
      pod->at("/spec/containers/0/volumeMounts"),
      fmt::format(
          R"([{{"name":{},"readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}])",
          volume));
  EXPECT_EQ(pod->at("/spec/volumes/0/projected/sources/0/serviceAccountToken/expirationSeconds"),
            "3607");
  const std::string once = pod->edit->text();
  ASSERT_TRUE(step->mutate(*pod->call));  // as after a webhook
  EXPECT_EQ(pod->edit->text(), once);
  EXPECT_TRUE(step->validate(*pod->call));
}

struct MountRow {
  const char* name;
  const char* account;
  const char* pod;
  bool mounted;
};
class TokenMount : public testing::TestWithParam<MountRow> {};

TEST_P(TokenMount, IsThePodsChoiceThenTheAccounts) {
  AdmissionLab lab;
  lab.put(fmt::format(
      R"({{"apiVersion":"v1","kind":"ServiceAccount","metadata":{{"name":"sa","namespace":"default"}}{}}})",
      GetParam().account));
  const auto pod = lab.create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web"}},"spec":{{"serviceAccountName":"sa"{},"containers":[{{"name":"c","image":"i"}}]}}}})",
      GetParam().pod));
  ASSERT_TRUE(service_account(lab.store, Random(1))->mutate(*pod->call));
  EXPECT_EQ(!pod->at("/spec/volumes/0").empty(), GetParam().mounted);
}

INSTANTIATE_TEST_SUITE_P(
    , TokenMount,
    testing::Values(
        MountRow{"NobodySays", "", "", true},
        MountRow{"TheAccountDoesNot", R"(,"automountServiceAccountToken":false)", "", false},
        MountRow{"ThePodDoes", R"(,"automountServiceAccountToken":false)",
                 R"(,"automountServiceAccountToken":true)", true},
        MountRow{"ThePodDoesNot", "", R"(,"automountServiceAccountToken":false)", false}),
    [](const auto& each) { return each.param.name; });

TEST(ServiceAccount, RefusesAPodWhoseAccountIsMissing) {
  AdmissionLab lab;
  const Step step = service_account(lab.store, Random(1));
  const auto pod = lab.create(kWeb);
  EXPECT_EQ(
      refused(step->mutate(*pod->call)),
      R"(pods "web" is forbidden: error looking up service account default/default: serviceaccount "default" not found)");
  EXPECT_TRUE(pod->call->worth_waiting);
}

TEST(ServiceAccount, LimitsSecretsWhereTheAccountAsksForIt) {
  AdmissionLab lab;
  lab.put(
      R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default","namespace":"default","annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}},"secrets":[{"name":"mine"}]})");
  const Step step = service_account(lab.store, Random(1));
  const auto volume = lab.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","secret":{"secretName":"other"}}]}})");
  EXPECT_EQ(
      refused(step->mutate(*volume->call)),
      R"(pods "web" is forbidden: volume with secret.secretName="other" is not allowed because service account default does not reference that secret)");
  const auto env = lab.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"mine","key":"k"}}},{"name":"B","valueFrom":{"secretKeyRef":{"name":"other","key":"k"}}}]}]}})");
  EXPECT_EQ(
      refused(step->mutate(*env->call)),
      R"(pods "web" is forbidden: container c with envVar B referencing secret.secretName="other" is not allowed because service account default does not reference that secret)");
}

TEST(ServiceAccount, KeepsMirrorPodsAwayFromAccountsAndSecrets) {
  AdmissionLab lab;
  const Step step = service_account(lab.store, Random(1));
  const auto pod = [&](std::string_view spec) {
    return lab.create(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web","annotations":{{"kubernetes.io/config.mirror":"x"}}}},"spec":{{{}"containers":[{{"name":"c","image":"i"}}]}}}})",
        spec));
  };
  EXPECT_TRUE(step->mutate(*pod("")->call));
  EXPECT_EQ(refused(step->mutate(*pod(R"("serviceAccountName":"a",)")->call)),
            R"(pods "web" is forbidden: a mirror pod may not reference service accounts)");
  EXPECT_EQ(
      refused(step->mutate(*pod(R"("volumes":[{"name":"v","secret":{"secretName":"s"}}],)")->call)),
      R"(pods "web" is forbidden: a mirror pod may not reference secrets)");
}

}  // namespace
}  // namespace berth::apiserver
