// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/pages.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/serve/test_server.h"
#include "json/slice.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

using kube::Verb;
using testing::ElementsAre;
using testing::HasSubstr;

std::string text_of(const Result<kube::ApiReply>& reply) {
  return reply ? std::get<std::string>(reply->body) : reply.error().message;
}

TEST(Pages, HeadIsForThoseThatNoRouterByMethodsAnswers) {
  TestServer server;
  for (const char* path : {"/", "/healthz", "/readyz/ping", "/metrics", "/apis", "/apis/apps"})
    EXPECT_EQ(why_not(server.page(path, "", "HEAD")), "") << path;
  for (const char* path : {"/version", "/api", "/api/v1", "/apis/apps/v1"}) {
    const auto reply = server.page(path, "", "HEAD");
    ASSERT_FALSE(reply) << path;
    EXPECT_EQ(reply.error().reason, Reason::kMethodNotAllowed) << path;
  }
  kube::ApiRequest request = TestServer::ask(Verb::kGet, kube::kPod, {"a", "p"});
  request.raw_method = "HEAD";
  EXPECT_EQ(server.call(request).error().reason, Reason::kMethodNotAllowed);
}

TEST(Pages, SayWhetherTheServerIsWell) {
  TestServer server;
  for (const std::string_view path : {"/healthz", "/livez", "/readyz", "/readyz/ping"})
    EXPECT_EQ(text_of(server.page(std::string(path))), "ok") << path;
  EXPECT_EQ(text_of(server.page("/readyz?verbose")),
            "[+]ping ok\n[+]log ok\n[+]etcd ok\nreadyz check passed\n");
  EXPECT_EQ(server.page("/readyz/nonesuch").error().code, 404);
  EXPECT_EQ(server.page("/version", "", "POST").error().code, 405);
  EXPECT_EQ(server.page("/nowhere").error().code, 404);
}

TEST(Pages, TellTheVersionThatClientsLookAt) {
  TestServer server;
  const std::string text = text_of(server.page("/version"));
  EXPECT_EQ(json::Slice(text)["gitVersion"].text(), "v1.36.4+berth");
  EXPECT_EQ(json::Slice(text)["minor"].text(), "36");
}

TEST(Pages, TheRootListsWhatCanBeAskedFor) {
  TestServer server;
  const std::string text = text_of(server.page("/"));
  for (const char* path : {"/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/readyz",
                           "/readyz/etcd", "/version"})
    EXPECT_THAT(text, HasSubstr(fmt::format("\n    \"{}\"", path)));
  EXPECT_EQ(text_of(server.page("/index.html")), text);
}

TEST(Pages, DiscoveryComesWholeToThoseWhoAskForIt) {
  TestServer server;
  EXPECT_THAT(text_of(server.page("/api")), HasSubstr(R"("versions":["v1"])"));
  EXPECT_THAT(text_of(server.page("/apis/apps")), HasSubstr(R"("kind":"APIGroup")"));
  EXPECT_THAT(text_of(server.page("/apis/apps/v1")), HasSubstr(R"("deployments/scale")"));
  EXPECT_EQ(server.page("/apis/nonesuch").error().code, 404);
  const std::string accept =
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
      "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
  const auto whole = server.page("/apis", accept);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->content_type,
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  EXPECT_THAT(text_of(whole), HasSubstr(R"("resource":"deployments")"));
  EXPECT_EQ(server.page("/apis", "application/json")->content_type, "application/json");
}

TEST(Pages, DiscoveryFollowsTheKinds) {
  TestServer server;
  EXPECT_EQ(server.page("/apis/x.io/v1").error().code, 404);
  KindRow row = Kind("x.io/v1", "Thing", "things");
  server.kinds.serve("test", {row});
  EXPECT_THAT(text_of(server.page("/apis/x.io/v1")), HasSubstr(R"("name":"things")"));
  server.kinds.serve("test", {});
  EXPECT_EQ(server.page("/apis/x.io/v1").error().code, 404);
}

TEST(Pages, MetricsBearTheNamesOfTheRealServer) {
  TestServer server;
  ASSERT_TRUE(server.create(kube::kPod, "a", pod_json("p")).has_value());
  EXPECT_FALSE(server.get(kube::kPod, {"a", "none"}).has_value());
  const std::string text = text_of(server.page("/metrics"));
  EXPECT_THAT(text, HasSubstr("apiserver_request_total{"));
  EXPECT_THAT(text, HasSubstr(R"(code="201")"));
  EXPECT_THAT(text, HasSubstr(R"(code="404")"));
  EXPECT_THAT(text, HasSubstr("apiserver_request_duration_seconds_bucket{"));
  EXPECT_THAT(text, HasSubstr(R"(apiserver_current_inflight_requests{request_kind="mutating"} 0)"));
}

TEST(Pages, TheLongestPathOfOthersCounts) {
  TestServer server;
  const auto say = [](std::string text) {
    return [text](const kube::ApiRequest&) -> Result<kube::ApiReply> {
      kube::ApiReply reply;
      reply.body = text;
      return reply;
    };
  };
  server.server().page("/openapi/", say("any"));
  server.server().page("/openapi/v3/", say("third"));
  EXPECT_EQ(text_of(server.page("/openapi/v2")), "any");
  EXPECT_EQ(text_of(server.page("/openapi/v3/api/v1?hash=1")), "third");
}

TEST(Pages, WhatDoesSomethingTakesPostsAndAnswersWhenItIsDone) {
  TestServer server;
  Done<kube::ApiReply> later;
  server.server().deed("/lab/", [&](const kube::ApiRequest& asked, Done<kube::ApiReply> done) {
    EXPECT_EQ(asked.raw_path, "/lab/settle");
    later = std::move(done);
  });
  EXPECT_EQ(server.page("/lab/settle").error().code, 405);
  EXPECT_EQ(server.page("/labour", "", "POST").error().code, 404);
  kube::ApiRequest request{.verb = Verb::kRaw};
  request.raw_method = "POST";
  request.raw_path = "/lab/settle";
  const TestServer::Answered answer = server.start(std::move(request));
  server.world.run_for(10min);
  EXPECT_FALSE(answer->has_value());
  EXPECT_EQ(server.server().open_requests(), 1u);
  kube::ApiReply reply;
  reply.body = "settled";
  later(std::move(reply));
  server.world.run_until_idle(0s);
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ(text_of(**answer), "settled");
  EXPECT_EQ(server.server().open_requests(), 0u);
}

TEST(Answers, AreMadeByOthersFromWhatWasPosted) {
  TestServer server;
  server.server().answer(kube::kSubjectAccessReview, "", [](Server::Question& question) {
    kube::ApiReply reply;
    reply.code = 201;
    reply.body = fmt::format("{} {}", question.request.user.name,
                             Peek(question.posted)["spec"]["user"].text());
    return Result<kube::ApiReply>(std::move(reply));
  });
  server.server().answer(kube::kPod, "log", [](Server::Question& question) {
    kube::ApiReply reply;
    reply.body = fmt::format("log of {}", question.object->name());
    reply.content_type = "text/plain";
    return Result<kube::ApiReply>(std::move(reply));
  });
  EXPECT_EQ(
      *server.text(TestServer::ask(
          Verb::kCreate, kube::kSubjectAccessReview, {},
          R"({"spec":{"user":"jane","resourceAttributes":{"verb":"get","resource":"pods"}}})")),
      "tester jane");
  kube::ApiRequest log = TestServer::ask(Verb::kGet, kube::kPod, {"a", "p"});
  log.subresource = "log";
  EXPECT_EQ(why_not(server.text(log)), "pods \"p\" not found");
  ASSERT_TRUE(server.create(kube::kPod, "a", pod_json("p")).has_value());
  EXPECT_EQ(*server.text(log), "log of p");
  log.subresource = "exec";
  EXPECT_EQ(server.text(log).error().code, 405);
}

class Usage final : public Computed {
 public:
  explicit Usage(kube::KindId kind) : kind_(kind) {}
  std::vector<kube::Object> list(std::string_view ns) override {
    std::vector<kube::Object> out;
    for (const std::string_view name : {"p", "q"}) out.push_back(*get(ns.empty() ? "a" : ns, name));
    return out;
  }
  std::optional<kube::Object> get(std::string_view ns, std::string_view name) override {
    if (name != "p" && name != "q") return std::nullopt;
    return *kube::Object::parse(
        kind_, fmt::format(R"({{"metadata":{{"name":"{}","namespace":"{}"}}}})", name, ns));
  }

 private:
  kube::KindId kind_;
};

TEST(ComputedKinds, AreMadeWhenSomebodyAsks) {
  TestServer server;
  KindRow row = Kind("metrics.k8s.io/v1beta1", "PodMetrics", "pods").only({"get", "list"});
  row.computed = std::make_shared<Usage>(row.id);
  const kube::KindId kind = row.id;
  server.kinds.serve("metrics.k8s.io", {row});
  EXPECT_EQ(server.get(kind, {"a", "p"})->name(), "p");
  EXPECT_EQ(why_not(server.get(kind, {"a", "x"})), "pods.metrics.k8s.io \"x\" not found");
  EXPECT_EQ(server.list(kind, "a")->items.size(), 2U);
  EXPECT_EQ(server.list(kind, "a", {.field_selector = "metadata.name=q"})->items.size(), 1U);
  EXPECT_EQ(server.call(TestServer::ask(Verb::kWatch, kind, {"a", ""})).error().code, 405);
}

// Allows what is asked for by name and notes the rest.
class Noting final : public Authorizer {
 public:
  Decision authorize(const kube::User& user, const Attributes& wants) override {
    asked.push_back(fmt::format("{} {} {}/{}/{} in '{}' named '{}' {}", user.name, wants.verb,
                                wants.group, wants.resource, wants.subresource, wants.ns,
                                wants.name, wants.path));
    return {.allowed = user.name != "nobody"};
  }
  std::vector<std::string> asked;
};

TEST(Rights, AreAskedForAsRbacNamesThem) {
  World world{1};
  Scope scope{world.loop("api"), "test"};
  Store store(scope, {});
  KindRegistry kinds;
  Admission admission;
  NameIsToken authenticator;
  Noting noting;
  Metrics metrics;
  StringSink log;
  Server server(scope, ServerParts{store, kinds, admission, authenticator, noting, metrics,
                                   Logger(log, world.clock()), Random(1)});
  std::vector<std::string> answers;
  const auto ask = [&](std::string token, kube::ApiRequest request) {
    server.handle(Credentials{.bearer_token = std::move(token)}, std::move(request),
                  scope.done<kube::ApiReply>(kNoLimit, [&](Result<kube::ApiReply> reply) {
                    answers.push_back(
                        reply ? std::to_string(reply->code)
                              : fmt::format("{} {}", reply.error().code, reply.error().message));
                  }));
    world.run_until_idle({});
  };
  kube::ApiRequest status = TestServer::ask(Verb::kPatch, kube::kPod, {"a", "p"}, "{}");
  status.subresource = "status";
  ask("jane", status);
  ask("jane", TestServer::ask(Verb::kGet, kube::kNamespace, {"", "n"}));
  ask("jane", TestServer::ask(Verb::kList, kube::kDeployment, {"a", ""}, "",
                              {.field_selector = "metadata.name=d"}));
  ask("jane", TestServer::ask(Verb::kDeleteCollection, kube::kPod, {"a", ""}));
  kube::ApiRequest page{.verb = Verb::kRaw};
  page.raw_method = "GET";
  page.raw_path = "/healthz?verbose";
  ask("jane", page);
  EXPECT_THAT(noting.asked, ElementsAre("jane patch /pods/status in 'a' named 'p' ",
                                        "jane get /namespaces/ in 'n' named 'n' ",
                                        "jane list apps/deployments/ in 'a' named 'd' ",
                                        "jane deletecollection /pods/ in 'a' named '' ",
                                        "jane get // in '' named '' /healthz"));
  answers.clear();
  ask("nobody", TestServer::ask(Verb::kGet, kube::kPod, {"a", "p"}));
  ask("", TestServer::ask(Verb::kGet, kube::kPod, {"a", "p"}));
  EXPECT_THAT(answers,
              ElementsAre(HasSubstr("403 pods \"p\" is forbidden: User \"nobody\" cannot get "
                                    "resource \"pods\" in API group \"\" in the namespace \"a\""),
                          "401 Unauthorized"));
  scope.close({}, [] {});
  world.run_until_idle(1h);
}

TEST(Traffic, BeyondTheLimitIsTurnedAway) {
  World world{1};
  Metrics metrics;
  Traffic traffic(metrics, world.clock(), {.reads = 2, .writes = 1});
  EXPECT_TRUE(traffic.room_for(Verb::kCreate).has_value());
  traffic.began(Verb::kCreate, true);
  const Result<Ok> full = traffic.room_for(Verb::kDelete);
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().reason, Reason::kTooManyRequests);
  EXPECT_EQ(full.error().retry_after, Duration(1s));
  EXPECT_TRUE(traffic.room_for(Verb::kList).has_value());
  traffic.began(Verb::kList, false);  // of the server's own process
  traffic.began(Verb::kList, false);
  EXPECT_TRUE(traffic.room_for(Verb::kGet).has_value());
  EXPECT_EQ(traffic.open(), 3U);
  traffic.ended(Verb::kCreate, true, nullptr, {}, 201, {});
  EXPECT_TRUE(traffic.room_for(Verb::kDelete).has_value());
}

}  // namespace
}  // namespace berth::apiserver
