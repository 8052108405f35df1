// SPDX-License-Identifier: Apache-2.0
// The whole cluster in virtual time: nothing of it knows that no real second passes.
#include "cluster/cluster.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <stdlib.h>  // mkdtemp

#include "apiserver/serve/server.h"
#include "cluster/applier.h"
#include "cluster/lab_for_test.h"
#include "kube/ours/ours.h"

namespace berth::cluster {
namespace {

std::string deployment_json(const std::string& name, int replicas) {
  return fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{0}","namespace":"default"}},"spec":{{"replicas":{1},"selector":{{"matchLabels":{{"app":"{0}"}}}},"template":{{"metadata":{{"labels":{{"app":"{0}"}}}},"spec":{{"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"100m"}}}}}}]}}}}}}}})",
      name, replicas);
}

bool complete(const kube::Object& job) {
  return job.status()["succeeded"].integer() == job.member("spec")["completions"].integer();
}

TEST(Cluster, RunsADeploymentAndAJob) {
  Lab lab(3);
  EXPECT_EQ(lab.list(kube::kNode).size(), 3u);
  lab.create(deployment_json("web", 5));
  lab.create(job_json("sum", 2, "30s"));
  lab.world.run_for(2min);
  EXPECT_EQ(lab.count(kube::kPod, running), 5u);
  EXPECT_EQ(lab.count(kube::kJob, complete), 1u);
}

TEST(Cluster, ReplacesThePodsOfANodeThatIsLost) {
  Lab lab(3);
  lab.create(deployment_json("web", 6));
  lab.world.run_for(1min);
  ASSERT_EQ(lab.count(kube::kPod, running), 6u);
  const auto on_node_0 = [](const kube::Object& pod) {
    return running(pod) && !pod.deleting() && pod.member("spec")["nodeName"].equals("node-0");
  };
  ASSERT_GT(lab.count(kube::kPod, on_node_0), 0u);
  ASSERT_TRUE(lab.cluster->lab()->fail_node("node-0"));
  lab.world.run_for(15min);
  EXPECT_EQ(lab.count(kube::kPod, on_node_0), 0u);
  EXPECT_EQ(lab.count(kube::kPod, [](const auto& pod) { return running(pod) && !pod.deleting(); }),
            6u);
}

TEST(Cluster, LetsOnlyItsMastersIntoTheLab) {
  Lab lab(3);
  const auto post = [&](std::string user, std::string path) {
    kube::ApiRequest request{.verb = kube::Verb::kRaw};
    request.raw_method = "POST";
    request.raw_path = std::move(path);
    request.user = {.name = std::move(user), .groups = {"system:authenticated"}};
    if (request.user.name == "admin") request.user.groups.emplace_back("system:masters");
    std::string said = "not answered";
    lab.cluster->server().handle(
        std::move(request), lab.scope->done<kube::ApiReply>(1h, [&](auto reply) {
          said = reply ? std::get<std::string>(reply->body) : reply.error().message;
        }));
    lab.world.run_for(5s);
    return said;
  };
  EXPECT_EQ(post("jane", "/lab/crash-node/node-0"),
            R"(forbidden: User "jane" cannot post path "/lab/crash-node/node-0")");
  EXPECT_TRUE(lab.cluster->lab()->troubles().empty());
  EXPECT_EQ(post("admin", "/lab/crash-node/node-0"), R"({"message":"node-0 has crashed"})");
  EXPECT_EQ(lab.cluster->lab()->troubles().size(), 1u);
  lab.create(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"breaker"},"rules":[{"nonResourceURLs":["/lab/*"],"verbs":["post"]}]})");
  lab.create(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"breaker"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"breaker"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]})");
  EXPECT_EQ(post("jane", "/lab/recover"), R"({"message":"all is well"})");
  EXPECT_TRUE(lab.cluster->lab()->troubles().empty());
  EXPECT_EQ(post("jane", "/lab/settle"), R"({"message":"idle"})");
}

TEST(Cluster, AppliesManifestsInWhateverOrderTheyComeIn) {
  Lab lab(1);
  Applier applier(*lab.scope, *lab.transport, Random(1), "test");
  std::vector<kube::Object> objects;
  for (
      const char* text : {
          R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{"priorityClassName":"urgent","serviceAccountName":"seller","containers":[{"name":"c","image":"i"}]}})",
          R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"plain","namespace":"shop"},"spec":{"containers":[{"name":"c","image":"i"}]}})",
          R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"lost","namespace":"shop"},"spec":{"priorityClassName":"none-such","containers":[{"name":"c","image":"i"}]}})",
          R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"empty","namespace":"shop"},"spec":{"containers":[]}})",
          R"({"apiVersion":"example.com/v1","kind":"Ware","metadata":{"name":"a","namespace":"shop"}})",
          R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"seller","namespace":"shop"}})",
          R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"urgent"},"value":9})",
          R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"wares.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"wares","kind":"Ware"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})",
          R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}})",
      })
    objects.push_back(*kube::Object::parse(text));
  std::optional<std::vector<ApplyError>> refused;
  applier.apply(std::move(objects), [&](auto all) { refused = std::move(all); });
  lab.world.run_for(1min);
  ASSERT_TRUE(refused.has_value());
  std::vector<std::string> said;
  for (const ApplyError& each : *refused) said.push_back(each.text());
  EXPECT_THAT(said, testing::ElementsAre(testing::AllOf(testing::StartsWith("Pod shop/lost: "),
                                                        testing::HasSubstr("none-such")),
                                         testing::StartsWith("Pod shop/empty: ")));
  EXPECT_EQ(lab.count(kube::kPod, running), 2u);
  EXPECT_EQ(lab.list(*kube::find_kind("example.com/v1", "Ware")).size(), 1u);
}

TEST(Cluster, F7_WhoMakesRoomForOthersMayAskScavengersToGo) {
  Lab lab(1);
  lab.create(
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{"name":"a","namespace":"default"},"spec":{"image":"i","resources":{"requests":{"cpu":"1"}}}})");
  lab.world.run_for(10s);
  const auto ask = [&](kube::User user) {
    kube::ApiRequest request{.verb = kube::Verb::kPatch, .kind = kube::scavenger_kinds().job};
    request.ns = "default";
    request.name = "a";
    request.options.patch_type = kube::PatchType::kMerge;
    request.body.bytes = std::make_shared<const std::string>(fmt::format(
        R"({{"metadata":{{"annotations":{{"{}":"{{}}"}}}}}})", kube::kReclaimAnnotation));
    request.user = std::move(user);
    std::string said = "not answered";
    lab.cluster->server().handle(std::move(request),
                                 lab.scope->done<kube::ApiReply>(1h, [&](auto reply) {
                                   said = reply ? "done" : reply.error().message;
                                 }));
    lab.world.run_for(5s);
    return said;
  };
  EXPECT_THAT(ask({.name = "jane", .groups = {"system:masters", "system:authenticated"}}),
              testing::HasSubstr("only Berth writes this"));
  EXPECT_EQ(ask({.name = "system:serviceaccount:kube-system:berth-reclaim",
                 .groups = {"system:authenticated"}}),
            "done");
}

TEST(Cluster, TakesWhatADeletedNamespaceHeldWithIt) {
  Lab lab(2);
  lab.create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}})");
  lab.world.run_for(5s);
  lab.create(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"shop"}})");
  lab.api->erase(kube::kNamespace, {"", "shop"},
                 lab.scope->done<Ok>(60s, [](const auto& done) { EXPECT_TRUE(done); }));
  lab.world.run_for(2min);
  EXPECT_EQ(lab.count(kube::kNamespace, [](const auto& ns) { return ns.name() == "shop"; }), 0u);
  EXPECT_EQ(lab.count(kube::kConfigMap, [](const auto& map) { return map.ns() == "shop"; }), 0u);
}

// What `berth up` starts, on data that is kept.
struct Kept {
  Kept() {
    std::string folder = testing::TempDir() + "berth-cluster-XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    path = folder;
  }
  ~Kept() { std::filesystem::remove_all(path); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  ClusterOptions options() const {
    return {.data_dir = path, .token_key = "key", .default_storage = true};
  }
  std::filesystem::path path;
};

constexpr const char* kClaimWithoutClass =
    R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})";
bool bound(const kube::Object& claim) { return claim.status()["phase"].equals("Bound"); }

TEST(Cluster, HasAVolumeForAClaimThatNamesNoClass) {
  Lab lab(2, 1, true, {.token_key = "key", .default_storage = true});
  lab.create(kClaimWithoutClass);
  lab.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"reader","namespace":"default"},"spec":{"containers":[{"name":"c","image":"i","volumeMounts":[{"name":"d","mountPath":"/d"}]}],"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}]}})");
  lab.world.run_for(1min);
  ASSERT_EQ(lab.count(kube::kPersistentVolumeClaim, bound), 1u);
  EXPECT_EQ(lab.list(kube::kPersistentVolumeClaim)[0].member("spec")["storageClassName"].text(),
            "standard");
  EXPECT_EQ(lab.count(kube::kPod, running), 1u);
  const std::vector<kube::Object> volumes = lab.list(kube::kPersistentVolume);
  ASSERT_EQ(volumes.size(), 1u);
  EXPECT_FALSE(volumes[0].member("spec")["nodeAffinity"].present()) << "later pods go anywhere";
}

TEST(Cluster, HasNoDefaultClassWhereNobodyMakesVolumes) {
  Lab lab(1, 1, false,
          {.token_key = "key",
           .controllers = {"*", "-persistentvolume-binder-controller"},
           .default_storage = true});
  EXPECT_TRUE(lab.list(kube::kStorageClass).empty()) << "a class would keep claims from volumes";
}

TEST(Cluster, KeepsTheDefaultClassAsItsUsersLeaveIt) {
  const Kept kept;
  {
    Lab first(1, 1, false, kept.options());
    ASSERT_EQ(first.list(kube::kStorageClass).size(), 1u);
    first.api->patch(
        kube::kStorageClass, {"", "standard"},
        R"({"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"false"}}})",
        kube::PatchType::kMerge, first.scope->done<kube::Object>(1min, [](const auto& patched) {
          EXPECT_TRUE(patched) << patched.error().message;
        }));
    first.world.run_for(1s);
  }
  {
    Lab second(1, 2, false, kept.options());
    second.create(kClaimWithoutClass);
    second.world.run_for(1min);
    EXPECT_EQ(second.count(kube::kPersistentVolumeClaim, bound), 0u) << "it is no default any more";
    second.api->erase(kube::kStorageClass, {"", "standard"},
                      second.scope->done<Ok>(1min, [](const auto& erased) {
                        EXPECT_TRUE(erased) << erased.error().message;
                      }));
    second.world.run_for(1s);
  }
  Lab third(1, 3, false, kept.options());
  EXPECT_TRUE(third.list(kube::kStorageClass).empty()) << "it was deleted";
}

// A week in virtual time is short because nobody writes what nobody reads.
TEST(Cluster, RenewsLeasesForThoseWhoLookAndNotForItsOwnParts) {
  Lab lab(2);
  lab.world.run_for(1min);  // until everything that watches does
  const std::uint64_t before = lab.cluster->lab()->counts().renewals;
  lab.world.run_for(1h);
  EXPECT_EQ(lab.cluster->lab()->counts().renewals, before);
  EXPECT_EQ(lab.count(kube::kNode,
                      [](const kube::Object& node) {
                        for (const json::Slice condition : node.status()["conditions"].elements())
                          if (condition["type"].equals("Ready"))
                            return condition["status"].equals("True");
                        return false;
                      }),
            2u);
  EXPECT_EQ(lab.list(kube::kLease).size(), 2u);
  EXPECT_EQ(lab.cluster->lab()->counts().renewals, before + 2) << "a user looked";
}

// A day's worth of small jobs, arriving by chance.
std::string history_of(Seed seed, std::size_t nodes, int jobs, Duration over) {
  Lab lab(nodes, seed);
  Random random = Random(seed).fork("arrivals");
  const auto gap = over / jobs;
  for (int i = 0; i < jobs; ++i) {
    lab.create(job_json(fmt::format("job-{:05}", i), 1 + static_cast<int>(random.below(3)),
                        fmt::format("{}s", 10 + random.below(600))));
    lab.world.run_for(
        Duration(static_cast<Duration::rep>(random.unit() * 2 * static_cast<double>(gap.count()))));
  }
  lab.world.run_for(1h);
  EXPECT_EQ(lab.count(kube::kJob, complete), static_cast<std::size_t>(jobs));
  return std::move(lab.log);
}

// "line 7: one | other", or "" where there is none.
std::string first_difference(std::string_view one, std::string_view other) {
  for (int line = 1; !one.empty() || !other.empty(); ++line) {
    const std::string_view a = one.substr(0, one.find('\n'));
    const std::string_view b = other.substr(0, other.find('\n'));
    if (a != b) return fmt::format("line {}: {} | {}", line, a, b);
    one.remove_prefix(std::min(one.size(), a.size() + 1));
    other.remove_prefix(std::min(other.size(), b.size() + 1));
  }
  return "";
}

TEST(Cluster, HasTheSameHistoryTenTimesForTheSameSeed) {
  const std::string first = history_of(7, 10, 10, 1h);
  EXPECT_GT(first.size(), 100'000u);
  for (int time = 2; time <= 10; ++time)
    ASSERT_EQ(first_difference(first, history_of(7, 10, 10, 1h)), "") << "time " << time;
  EXPECT_NE(first_difference(first, history_of(8, 10, 10, 1h)), "");
}

}  // namespace
}  // namespace berth::cluster
