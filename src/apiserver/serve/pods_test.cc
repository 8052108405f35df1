// SPDX-License-Identifier: Apache-2.0
// What many want of one pod at once, and of what is deleted many at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/serve/test_server.h"

namespace berth::apiserver {
namespace {

using kube::kConfigMap;
using kube::kPod;
using kube::kPodDisruptionBudget;
using testing::HasSubstr;

kube::ApiRequest posted(kube::Key pod, std::string subresource, std::string_view body) {
  kube::ApiRequest request = TestServer::ask(kube::Verb::kCreate, kPod, std::move(pod), body);
  request.subresource = std::move(subresource);
  return request;
}

std::size_t successes(const std::vector<TestServer::Answered>& answers, int otherwise) {
  std::size_t good = 0;
  for (const TestServer::Answered& answer : answers) {
    EXPECT_TRUE(answer->has_value());
    if (!answer->has_value()) continue;
    if ((*answer)->has_value())
      ++good;
    else
      EXPECT_EQ((*answer)->error().code, otherwise) << (*answer)->error().message;
  }
  return good;
}

TEST(Binding, OneOfManyWins) {
  TestServer server;
  ASSERT_TRUE(server.create(kPod, "a", pod_json("p")).has_value());
  std::vector<TestServer::Answered> answers;
  for (int i = 0; i < 8; ++i)
    answers.push_back(server.start(
        posted({"a", "p"}, "binding",
               fmt::format(R"({{"metadata":{{"name":"p"}},"target":{{"name":"n{}"}}}})", i))));
  server.world.run_until_idle({});
  EXPECT_EQ(successes(answers, 409), 1U);
  const auto bound = server.get(kPod, {"a", "p"});
  EXPECT_EQ(bound->member("spec")["nodeName"].text(), "n0");
  EXPECT_THAT(bound->json(), HasSubstr(R"("type":"PodScheduled","status":"True")"));
}

class Evicting : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 10; ++i) {
      const std::string name = fmt::format("p{}", i);
      ASSERT_TRUE(
          server
              .create(kPod, "a", pod_json(name, R"(,"labels":{"app":"x"})", R"(,"nodeName":"n1")"))
              .has_value());
      ASSERT_TRUE(
          server
              .patch(
                  kPod, {"a", name},
                  R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})",
                  kube::PatchType::kMerge, "status")
              .has_value());
    }
  }
  void budget(std::string_view name, int allowed, std::string_view more = "") {
    ASSERT_TRUE(server
                    .create(kPodDisruptionBudget, "a",
                            fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"minAvailable":1,)"
                                        R"("selector":{{"matchLabels":{{"app":"x"}}}}{}}}}})",
                                        name, more))
                    .has_value());
    ASSERT_TRUE(
        server
            .patch(kPodDisruptionBudget, {"a", std::string(name)},
                   fmt::format(R"({{"status":{{"observedGeneration":1,"disruptionsAllowed":{},)"
                               R"("currentHealthy":10,"desiredHealthy":9,"expectedPods":10}}}})",
                               allowed),
                   kube::PatchType::kMerge, "status")
            .has_value());
  }
  Result<std::string> evict(const std::string& name) {
    return server.post(kPod, {"a", name}, "eviction",
                       fmt::format(R"({{"apiVersion":"policy/v1","kind":"Eviction",)"
                                   R"("metadata":{{"name":"{}"}}}})",
                                   name));
  }
  TestServer server;
};

TEST_F(Evicting, ABudgetIsChargedOnceForEachThatGoes) {
  budget("b", 3);
  std::vector<TestServer::Answered> answers;
  for (int i = 0; i < 10; ++i) {
    const std::string name = fmt::format("p{}", i);
    answers.push_back(server.start(
        posted({"a", name}, "eviction", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name))));
  }
  server.world.run_until_idle({});
  EXPECT_EQ(successes(answers, 429), 3U);
  const auto charged = server.get(kPodDisruptionBudget, {"a", "b"});
  EXPECT_EQ(charged->status()["disruptionsAllowed"].integer(), 0);
  EXPECT_EQ(charged->status()["disruptedPods"].size(), 3U);
  EXPECT_TRUE(server.get(kPod, {"a", "p0"})->deleting());
  EXPECT_FALSE(server.get(kPod, {"a", "p9"})->deleting());
}

TEST_F(Evicting, APodThatIsNotReadyGoesWhereTheOthersSuffice) {
  budget("b", 0);
  ASSERT_TRUE(server
                  .patch(kPod, {"a", "p1"},
                         R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})",
                         kube::PatchType::kMerge, "status")
                  .has_value());
  EXPECT_TRUE(evict("p1").has_value());
  EXPECT_EQ(evict("p2").error().code, 429);
  EXPECT_EQ(server.get(kPodDisruptionBudget, {"a", "b"})->status()["disruptedPods"].size(), 0U);
}

TEST_F(Evicting, WhatDoesNotRunNeedsNoBudget) {
  budget("b", 0);
  for (const auto& [name, phase] : {std::pair("p3", "Pending"), std::pair("p4", "Failed")}) {
    ASSERT_TRUE(server
                    .patch(kPod, {"a", name},
                           fmt::format(R"({{"status":{{"phase":"{}"}}}})", phase),
                           kube::PatchType::kMerge, "status")
                    .has_value());
    EXPECT_TRUE(evict(name).has_value()) << phase;
  }
  EXPECT_TRUE(server.get(kPod, {"a", "p3"})->deleting());
  // What has ended need not be given time to end.
  EXPECT_FALSE(server.get(kPod, {"a", "p4"}).has_value());
}

TEST_F(Evicting, TwoBudgetsForOnePodAreTooMany) {
  budget("b", 5);
  budget("c", 5);
  const auto refused = evict("p1");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, 500);
  EXPECT_THAT(refused.error().message, HasSubstr("more than one PodDisruptionBudget"));
}

TEST_F(Evicting, ADryRunChargesNothing) {
  budget("b", 1);
  ASSERT_TRUE(
      server.post(kPod, {"a", "p1"}, "eviction", R"({"metadata":{"name":"p1"}})", {.dry_run = true})
          .has_value());
  EXPECT_EQ(server.get(kPodDisruptionBudget, {"a", "b"})->status()["disruptionsAllowed"].integer(),
            1);
  EXPECT_FALSE(server.get(kPod, {"a", "p1"})->deleting());
}

TEST(DeleteCollection, TakesAllThatTheSelectorFindsAndNoMore) {
  TestServer server;
  for (int i = 0; i < 300; ++i)
    ASSERT_TRUE(server
                    .create(kConfigMap, "a",
                            fmt::format(R"({{"metadata":{{"name":"c{}","labels":{{"k":"{}"}}}}}})",
                                        i, i % 2))
                    .has_value());
  const auto reply = server.call(TestServer::ask(kube::Verb::kDeleteCollection, kConfigMap,
                                                 {"a", ""}, "", {.label_selector = "k=1"}));
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(std::get<kube::ObjectList>(reply->body).items.size(), 150U);
  EXPECT_EQ(server.list(kConfigMap, "a")->items.size(), 150U);
}

TEST(Lists, ComeInPagesOfOneRevision) {
  TestServer server;
  for (int i = 0; i < 25; ++i)
    ASSERT_TRUE(
        server.create(kConfigMap, "a", fmt::format(R"({{"metadata":{{"name":"c{:02}"}}}})", i))
            .has_value());
  kube::Options options{.limit = 10};
  std::vector<std::string> names;
  kube::Revision revision = 0;
  for (int page = 0; page < 3; ++page) {
    const auto list = server.list(kConfigMap, "a", options);
    ASSERT_TRUE(list.has_value()) << list.error().message;
    if (page == 0) {
      revision = list->revision;
      EXPECT_EQ(list->remaining, 15);
      ASSERT_TRUE(server.erase(kConfigMap, {"a", "c24"}).has_value());
    }
    EXPECT_EQ(list->revision, revision);
    for (const kube::Object& item : list->items) names.emplace_back(item.name());
    options.continue_token = list->continue_token;
  }
  EXPECT_EQ(names.size(), 25U);
  EXPECT_EQ(options.continue_token, "");
}

TEST(Lists, WaitForARevisionThatIsOnItsWayAndSayWhenItDoesNotCome) {
  TestServer server;
  const kube::Revision next = server.store().published() + 1;
  auto early = server.start(TestServer::ask(kube::Verb::kList, kConfigMap, {"a", ""}, "",
                                            {.resource_version = std::to_string(next)}));
  server.world.run_until_idle({});
  EXPECT_FALSE(early->has_value());
  ASSERT_TRUE(server.create(kConfigMap, "a", R"({"metadata":{"name":"c"}})").has_value());
  ASSERT_TRUE(early->has_value() && (*early)->has_value());
  const auto never = server.call(
      TestServer::ask(kube::Verb::kGet, kConfigMap, {"a", "c"}, "", {.resource_version = "99999"}),
      10s);
  ASSERT_FALSE(never.has_value());
  EXPECT_EQ(never.error().code, 504);
  EXPECT_EQ(never.error().retry_after, Duration(1s));
}

TEST(EventExpiry, TakesEventsAnHourAfterTheirLastChange) {
  TestServer server;
  const auto event = [&](std::string_view name) {
    ASSERT_TRUE(server
                    .create(kube::kCoreEvent, "default",
                            fmt::format(R"({{"metadata":{{"name":"{}"}},)"
                                        R"("involvedObject":{{"namespace":"default"}}}})",
                                        name))
                    .has_value());
  };
  event("old");
  event("renewed");
  server.world.run_for(30min);
  ASSERT_TRUE(server.patch(kube::kCoreEvent, {"default", "renewed"}, R"({"count":2})").has_value());
  server.world.run_for(31min);
  EXPECT_EQ(server.list(kube::kCoreEvent)->items.size(), 1U);
  EXPECT_TRUE(server.get(kube::kCoreEvent, {"default", "renewed"}).has_value());
  server.world.run_for(30min);
  EXPECT_EQ(server.list(kube::kCoreEvent)->items.size(), 0U);
}

}  // namespace
}  // namespace berth::apiserver
