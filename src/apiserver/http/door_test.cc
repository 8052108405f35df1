// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/door.h"

#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/http/door_lab.h"
#include "json/slice.h"
#include "net/gzip.h"

namespace berth::apiserver {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Le;
using testing::SizeIs;

const char* const kMap = "/api/v1/namespaces/a/configmaps/m";
const char* const kMaps = "/api/v1/namespaces/a/configmaps";
const char* const kWatched = "/api/v1/configmaps?watch=true";

kube::ObjectList many(std::size_t count, std::size_t bytes) {
  kube::ObjectList list{.revision = 9, .continue_token = "", .remaining = {}, .items = {}};
  for (std::size_t i = 0; i < count; ++i)
    list.items.push_back(config_map(fmt::format("m{}", i), bytes));
  return list;
}

kube::WatchEvent added(kube::Object object) { return {.object = std::move(object), .error = {}}; }

TEST(Door, AnObjectComesWithItsHeaders) {
  DoorLab lab;
  lab.answer = [](const kube::ApiRequest&) {
    kube::ApiReply reply = reply_with(config_map("m"), 201);
    reply.warnings = {"take care"};
    return reply;
  };
  const auto client = lab.get(kMap);
  EXPECT_EQ(client->status(), 201);
  EXPECT_EQ(client->body(), config_map("m").json() + "\n");
  EXPECT_EQ(client->header("Content-Type"), "application/json");
  EXPECT_EQ(client->header("Cache-Control"), "no-cache, private");
  EXPECT_EQ(client->header("Warning"), "299 - \"take care\"");
  EXPECT_THAT(
      client->header("Audit-Id"),
      testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  ASSERT_TRUE(lab.request);
  EXPECT_EQ(lab.request->name, "m");
  EXPECT_EQ(lab.request->ns, "a");
}

TEST(Door, WhatDescribesTheApiIsNotSentTwice) {
  DoorLab lab;
  lab.answer = [](const kube::ApiRequest&) {
    kube::ApiReply reply;
    reply.body = "{}";
    return reply;
  };
  const auto ask = [&](const char* path, std::string tag) {
    net::HttpRequest http{.target = path};
    http.headers.add("If-None-Match", std::move(tag));
    return lab.send(std::move(http));
  };
  const auto first = ask("/openapi/v2", "");
  EXPECT_EQ(first->status(), 200);
  EXPECT_EQ(first->header("Vary"), "Accept");
  const auto second = ask("/openapi/v2", first->header("Etag"));
  EXPECT_EQ(second->status(), 304);
  EXPECT_EQ(second->body(), "");
  EXPECT_EQ(ask("/openapi/v2", "\"other\"")->status(), 200);
  EXPECT_EQ(ask("/version", "*")->status(), 200);
}

TEST(Door, CountsBodiesByTheirFormat) {
  Metrics metrics;
  DoorLab lab({.metrics = &metrics});
  const auto post = [&](std::string method, std::string type, std::string body) {
    net::HttpRequest request{.method = std::move(method),
                             .target = "/api/v1/namespaces/default/configmaps/m",
                             .body = std::move(body)};
    if (!type.empty()) request.headers.add("Content-Type", type);
    lab.send(std::move(request));
  };
  post("PUT", "application/json; charset=utf-8", "{}");
  post("PUT", "", "{}");
  post("PUT", "application/yaml", "a: b");
  post("PUT", "application/vnd.kubernetes.protobuf", "k8s");
  post("PATCH", "application/merge-patch+json", "{}");
  post("PATCH", "application/apply-patch+yaml", "{}");
  post("PUT", "text/plain", "hello");
  post("DELETE", "application/json", "");
  std::string told;
  for (const char* format : {"json", "yaml", "protobuf", "patch", "other"})
    told += fmt::format("{}={} ", format,
                        metrics.counters("berth_apiserver_request_bodies_total", "", {"format"})
                            .with({format})
                            .value());
  EXPECT_EQ(told, "json=2 yaml=1 protobuf=1 patch=2 other=1 ");
}

TEST(Door, AClientsAuditIdIsKept) {
  DoorLab lab;
  lab.answer = [](const kube::ApiRequest&) { return reply_with(config_map("m")); };
  net::HttpRequest http{.target = kMap};
  http.headers.add("Audit-ID", "mine");
  EXPECT_EQ(lab.send(std::move(http))->header("Audit-Id"), "mine");
}

TEST(Door, TheServerIsToldWhoAsks) {
  DoorLab lab;
  lab.answer = [](const kube::ApiRequest&) { return reply_with(config_map("m")); };
  net::HttpRequest http{.target = kMap};
  http.headers.add("Authorization", "Bearer secret");
  lab.send(std::move(http));
  EXPECT_EQ(lab.credentials.bearer_token, "secret");
}

TEST(Door, ErrorsAreStatuses) {
  DoorLab lab;
  lab.answer = [](const kube::ApiRequest&) {
    return tl::unexpected(Error{.reason = Reason::kTooManyRequests,
                                .message = "later",
                                .retry_after = std::chrono::milliseconds(1500)});
  };
  const auto client = lab.get(kMap);
  EXPECT_EQ(client->status(), 429);
  EXPECT_EQ(client->header("Retry-After"), "2");
  EXPECT_EQ(client->header("Content-Type"), "application/json");
  EXPECT_EQ(
      client->body(),
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"later","reason":"TooManyRequests","details":{"retryAfterSeconds":2},"code":429})"
      "\n");
}

TEST(Door, SmallRequestsGetInBetweenLargeOnesAndNotTooManyOfTheseWait) {
  DoorLab lab({.limits = {.large_body = 1'000, .large_bodies = 2}});
  std::vector<std::string> order;
  lab.answer = [&](const kube::ApiRequest& asked) {
    order.push_back(asked.name);
    return reply_with(config_map(asked.name));
  };
  std::vector<std::shared_ptr<FakeClient>> clients;
  const auto put = [&](const std::string& name, std::size_t bytes) {
    net::HttpRequest http{.method = "PUT",
                          .target = std::string(kMaps) + "/" + name,
                          .body = config_map(name, bytes).json()};
    http.headers.add("Content-Type", "application/json");
    const auto& client = clients.emplace_back(std::make_shared<FakeClient>());
    lab.door->handle(std::move(http), {.address = "127.0.0.1:1000"},
                     net::HttpReply(std::make_shared<net::FakeReply>(client)));
  };
  lab.io.post([&] {
    for (const char* const large : {"large-1", "large-2", "large-3"}) put(large, 2'000);
    put("small", 10);
  });
  lab.settle();
  EXPECT_THAT(order, ElementsAre("large-1", "small", "large-2"));
  EXPECT_EQ(clients[1]->status(), 200);
  EXPECT_EQ(clients[2]->status(), 429);
  EXPECT_EQ(clients[2]->header("Retry-After"), "1");
  lab.io.post([&] { put("large-4", 2'000); });
  lab.settle();
  EXPECT_EQ(order.back(), "large-4") << "those before have gone";
}

TEST(Door, LargeRequestsThatWaitAreStillServedWhileTheDoorCloses) {
  DoorLab lab({.limits = {.large_body = 1'000}});
  lab.answer = [&](const kube::ApiRequest& asked) { return reply_with(config_map(asked.name)); };
  std::vector<std::shared_ptr<FakeClient>> clients;
  lab.io.post([&] {
    for (const char* const name : {"a", "b", "c"}) {
      net::HttpRequest http{.method = "PUT",
                            .target = std::string(kMaps) + "/" + name,
                            .body = config_map(name, 2'000).json()};
      http.headers.add("Content-Type", "application/json");
      const auto& client = clients.emplace_back(std::make_shared<FakeClient>());
      lab.door->handle(std::move(http), {.address = "127.0.0.1:1000"},
                       net::HttpReply(std::make_shared<net::FakeReply>(client)));
    }
    lab.scope.close(std::chrono::seconds(0), [] {});
  });
  lab.settle();
  for (const auto& client : clients) EXPECT_EQ(client->status(), 200);
}

TEST(Door, WhatCannotBeReadNeverReachesTheServer) {
  DoorLab lab;
  EXPECT_EQ(lab.get("/api/v1/pods?limit=x")->status(), 400);
  EXPECT_EQ(lab.get("/api/v1/pods", "application/vnd.kubernetes.protobuf")->status(), 406);
  EXPECT_EQ(lab.send({.method = "OPTIONS", .target = "/api/v1/pods"})->status(), 405);
  EXPECT_FALSE(lab.request);
}

TEST(Door, WhatIsNowhereIsToldAsTheRealServerTellsIt) {
  DoorLab lab;
  lab.answer = [](const kube::ApiRequest&) { return fail(Reason::kNotFound, "no such page"); };
  const auto page = lab.get("/nowhere");
  EXPECT_EQ(page->status(), 404);
  EXPECT_EQ(page->body(), "404 page not found\n");
  EXPECT_EQ(page->header("Content-Type"), "text/plain; charset=utf-8");
  const auto resource = lab.get("/api/v1/ponds");
  EXPECT_EQ(resource->status(), 404);
  EXPECT_THAT(resource->body(),
              HasSubstr(R"("message":"the server could not find the requested resource")"));
}

TEST(Door, PagesAreSentAsTheyAre) {
  DoorLab lab;
  lab.answer = [](const kube::ApiRequest& request) {
    EXPECT_EQ(request.raw_path, "/readyz?verbose");
    EXPECT_EQ(request.accept, "text/plain");
    kube::ApiReply reply;
    reply.body = std::string("ok");
    reply.content_type = "text/plain; charset=utf-8";
    return reply;
  };
  const auto client = lab.get("/readyz?verbose", "text/plain");
  EXPECT_EQ(client->body(), "ok");
  EXPECT_EQ(client->header("Content-Type"), "text/plain; charset=utf-8");
}

TEST(Door, PagesOfJsonAreIndentedForPeople) {
  DoorLab lab;
  lab.answer = [](const kube::ApiRequest&) {
    kube::ApiReply reply;
    reply.body = std::string(R"({"a":1})");
    return reply;
  };
  net::HttpRequest http{.target = "/version"};
  EXPECT_EQ(lab.send(http)->body(), R"({"a":1})");
  http.headers.add("User-Agent", "curl/7.88");
  EXPECT_EQ(lab.send(http)->body(), "{\n  \"a\": 1\n}");
}

TEST(Door, FormsOfAnAnswerAreTheClientsChoice) {
  DoorLab lab;
  lab.answer = [](const kube::ApiRequest&) { return reply_with(config_map("m")); };
  const auto table = lab.get(kMap, "application/json;as=Table;v=v1;g=meta.k8s.io");
  EXPECT_THAT(table->body(), HasSubstr(R"("kind":"Table")"));
  const auto yaml = lab.get(kMap, "application/yaml");
  EXPECT_EQ(yaml->header("Content-Type"), "application/yaml");
  EXPECT_THAT(yaml->body(), HasSubstr("kind: ConfigMap\n"));
  EXPECT_THAT(lab.get(std::string(kMap) + "?pretty=true")->body(),
              HasSubstr("{\n  \"kind\": \"ConfigMap\",\n"));
  EXPECT_EQ(
      lab.get(kMap, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")->status(),
      406);
}

TEST(Door, AShortListIsSentAtOnce) {
  DoorLab lab;
  lab.answer = [](const kube::ApiRequest&) { return reply_with(many(3, 10)); };
  const auto client = lab.get(kMaps);
  ASSERT_TRUE(client->sent);
  EXPECT_EQ(json::Slice(client->body())["items"].size(), 3u);
}

TEST(Door, ALongListLeavesAsFastAsTheClientReads) {
  DoorLab lab;
  lab.answer = [](const kube::ApiRequest&) { return reply_with(many(1000, 2000)); };
  const auto client = lab.send({.target = kMaps}, "127.0.0.1:1000", false);
  EXPECT_THAT(client->pieces, SizeIs(1));
  for (int i = 0; i < 100 && !client->ended; ++i) {
    client->read_one();
    lab.settle();
    EXPECT_EQ(client->pieces.size(), client->ended ? client->pieces.size() : std::size_t(i) + 2);
  }
  EXPECT_TRUE(client->ended);
  for (const std::string& piece : client->pieces) EXPECT_THAT(piece.size(), Le(140u << 10));
  const std::string body = client->body();
  EXPECT_TRUE(json::check(body));
  EXPECT_EQ(json::Slice(body)["items"].size(), 1000u);
  EXPECT_EQ(json::Slice(body)["items"][999]["metadata"]["name"].text(), "m999");
}

TEST(Door, ALongListCanBeIndentedToo) {
  DoorLab lab;
  lab.answer = [](const kube::ApiRequest&) { return reply_with(many(300, 2000)); };
  const auto client = lab.get(std::string(kMaps) + "?pretty=true");
  EXPECT_TRUE(client->ended);
  EXPECT_TRUE(json::check(client->body()));
  EXPECT_THAT(client->body(), HasSubstr("{\n  \"kind\": \"ConfigMapList\",\n"));
}

TEST(Door, AListThatIsTooLongForYamlIsRefused) {
  DoorLab lab({.limits = {.yaml_bytes = 10'000}});
  lab.answer = [](const kube::ApiRequest&) { return reply_with(many(20, 1000)); };
  EXPECT_EQ(lab.get(kMaps, "application/yaml")->status(), 406);
  lab.answer = [](const kube::ApiRequest&) { return reply_with(many(2, 1000)); };
  EXPECT_EQ(lab.get(kMaps, "application/yaml")->status(), 200);
}

TEST(Door, ListsThatGoFarAndLargeObjectsAreCompressed) {
  const auto ask = [](DoorLab& lab, const char* target, const char* from) {
    net::HttpRequest http{.target = target};
    http.headers.add("Accept-Encoding", "gzip");
    return lab.send(std::move(http), from);
  };
  DoorLab lab;
  lab.answer = [](const kube::ApiRequest&) { return reply_with(many(400, 1000)); };
  EXPECT_EQ(ask(lab, kMaps, "127.0.0.1:1")->header("Content-Encoding"), "");
  const auto far = ask(lab, kMaps, "10.0.0.1:1");
  EXPECT_EQ(far->header("Content-Encoding"), "gzip");
  EXPECT_EQ(far->header("Vary"), "Accept-Encoding");
  const auto unpacked = net::gunzip(far->body(), 10 << 20);
  ASSERT_TRUE(unpacked);
  EXPECT_EQ(json::Slice(*unpacked)["items"].size(), 400u);
  lab.answer = [](const kube::ApiRequest&) { return reply_with(config_map("m", 200'000)); };
  EXPECT_TRUE(ask(lab, kMap, "10.0.0.1:1")->compressible);
  EXPECT_TRUE(ask(lab, kMap, "127.0.0.1:1")->compressible);
  lab.answer = [](const kube::ApiRequest&) { return reply_with(config_map("m", 100)); };
  EXPECT_FALSE(ask(lab, kMap, "10.0.0.1:1")->compressible);
}

class DoorWatch : public testing::Test {
 protected:
  DoorWatch() {
    lab_.answer = [this](const kube::ApiRequest&) { return lab_.watched(watch_); };
  }
  DoorLab lab_;
  std::shared_ptr<FakeWatch> watch_ = std::make_shared<FakeWatch>();
};

TEST_F(DoorWatch, EventsAreLinesAndABatchIsOnePiece) {
  const auto client = lab_.get(kWatched);
  EXPECT_EQ(client->begun, 200);
  EXPECT_EQ(client->header("Content-Type"), "application/json");
  EXPECT_EQ(lab_.door->watches(), 1u);
  watch_->give({added(config_map("a")), added(config_map("b"))});
  lab_.settle();
  EXPECT_THAT(client->pieces,
              ElementsAre(AllOf(HasSubstr(R"({"type":"ADDED","object":{"kind":"ConfigMap")"),
                                HasSubstr(R"("name":"b")"))));
  EXPECT_EQ(std::count(client->pieces[0].begin(), client->pieces[0].end(), '\n'), 2);
  watch_->give({added(config_map("c"))}, true);
  lab_.settle();
  EXPECT_THAT(client->pieces, SizeIs(2));
  EXPECT_TRUE(client->ended);
  EXPECT_TRUE(watch_->ended);
  EXPECT_EQ(lab_.door->watches(), 0u);
}

TEST(Door, AStreamOfAVirtualWorldIsTouchedOnItsLoopAlone) {
  DoorLab lab({.streams_through_api = true});
  const auto watch = std::make_shared<FakeWatch>();
  watch->home = &lab.api;
  lab.answer = [&](const kube::ApiRequest&) { return lab.watched(watch); };
  const auto client = lab.get(kWatched);
  watch->give({added(config_map("a"))});
  lab.settle();
  EXPECT_THAT(client->pieces, SizeIs(1));
  EXPECT_EQ(watch->reads, 2u);
  client->leave();
  lab.settle();
  EXPECT_TRUE(watch->ended);
}

TEST_F(DoorWatch, AnEndWithoutEventsIsACleanEnd) {
  const auto client = lab_.get(kWatched);
  watch_->give({}, true);
  lab_.settle();
  EXPECT_TRUE(client->ended);
  EXPECT_FALSE(client->abandoned);
}

TEST_F(DoorWatch, AStreamThatBreaksIsNotEndedCleanly) {
  const auto client = lab_.get(kWatched);
  std::exchange(watch_->waiting, {})(fail(Reason::kUnreachable, "broken"));
  lab_.settle();
  EXPECT_FALSE(client->ended);
  EXPECT_TRUE(client->abandoned);
  EXPECT_EQ(lab_.door->watches(), 0u);
}

TEST_F(DoorWatch, AClientThatDoesNotReadIsNotWrittenTo) {
  const auto client = lab_.send({.target = kWatched}, "127.0.0.1:1", false);
  std::vector<kube::WatchEvent> events;
  for (int i = 0; i < 500; ++i) events.push_back(added(config_map("m", 2000)));
  watch_->give(std::move(events));
  lab_.settle();
  EXPECT_THAT(client->pieces, SizeIs(1));
  EXPECT_THAT(client->pieces[0].size(), Le(140u << 10));
  EXPECT_EQ(watch_->reads, 1u) << "no more is taken from the store";
  for (int i = 0; i < 20; ++i) {
    client->read_one();
    lab_.settle();
  }
  EXPECT_EQ(watch_->reads, 2u);
  const std::string body = client->body();
  EXPECT_EQ(std::count(body.begin(), body.end(), '\n'), 500);
}

TEST_F(DoorWatch, OfALargeObjectAClientThatDoesNotReadHoldsOnePiece) {
  const auto client = lab_.send({.target = kWatched}, "127.0.0.1:1", false);
  watch_->give(
      {added(config_map("a")), added(config_map("large", 3 << 20)), added(config_map("b"))});
  lab_.settle();
  EXPECT_THAT(client->pieces, SizeIs(1));
  EXPECT_THAT(client->pieces[0].size(), Le(140u << 10));
  for (int i = 0; i < 40; ++i) {
    client->read_one();
    lab_.settle();
  }
  EXPECT_EQ(watch_->reads, 2u);
  std::istringstream lines(client->body());
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    ASSERT_TRUE(json::check(line));
    names.push_back(json::Slice(line)["object"]["metadata"]["name"].text());
  }
  EXPECT_THAT(names, ElementsAre("a", "large", "b"));
}

TEST_F(DoorWatch, AClientThatLeavesEndsItsWatchAtOnce) {
  const auto idle = lab_.get(kWatched);
  EXPECT_FALSE(watch_->ended);
  idle->leave();
  lab_.settle();
  EXPECT_TRUE(watch_->ended);
  EXPECT_EQ(lab_.door->watches(), 0u);

  watch_ = std::make_shared<FakeWatch>();
  const auto busy = lab_.send({.target = kWatched}, "127.0.0.1:1", false);
  watch_->give({added(config_map("a"))});
  lab_.settle();
  busy->leave();
  lab_.settle();
  EXPECT_TRUE(watch_->ended);
}

TEST_F(DoorWatch, AClientThatLeftBeforeTheAnswerEndsItsWatch) {
  lab_.answer = nullptr;
  const auto client = lab_.get(kWatched);
  client->leave();
  lab_.unanswered(lab_.watched(watch_));
  lab_.settle();
  EXPECT_TRUE(watch_->ended);
  EXPECT_EQ(lab_.door->watches(), 0u);
}

TEST_F(DoorWatch, WatchesOfOneClientAreBounded) {
  DoorLab lab({.limits = {.watches_per_client = 2}});
  lab.answer = [&](const kube::ApiRequest&) { return lab.watched(std::make_shared<FakeWatch>()); };
  const auto first = lab.get(kWatched);
  lab.get(kWatched);
  const auto third = lab.get(kWatched);
  EXPECT_EQ(third->status(), 429);
  EXPECT_EQ(third->header("Retry-After"), "1");
  EXPECT_EQ(lab.send({.target = kWatched}, "10.0.0.1:5")->begun, 200);
  first->leave();
  lab.settle();
  EXPECT_EQ(lab.get(kWatched)->begun, 200);
}

TEST_F(DoorWatch, ARefusedWatchIsNotCounted) {
  lab_.answer = [](const kube::ApiRequest&) { return fail(Reason::kForbidden, "no"); };
  EXPECT_EQ(lab_.get(kWatched)->status(), 403);
  EXPECT_EQ(lab_.door->watches(), 0u);
}

TEST_F(DoorWatch, ClosingEndsEverything) {
  const auto client = lab_.get(kWatched);
  lab_.answer = nullptr;
  const auto waiting = lab_.get(kMap);
  lab_.scope.close({}, [] {});
  lab_.settle();
  EXPECT_TRUE(watch_->ended);
  EXPECT_TRUE(client->abandoned);
  EXPECT_EQ(waiting->status(), 503);
  EXPECT_EQ(lab_.get(kMap)->status(), 503);
}

TEST(Door, ManyIdleWatchesCostLittle) {
  DoorLab lab;
  std::vector<std::shared_ptr<FakeClient>> clients;
  lab.answer = [&](const kube::ApiRequest&) { return lab.watched(std::make_shared<FakeWatch>()); };
  for (int i = 0; i < 2000; ++i) clients.push_back(lab.get(kWatched));
  EXPECT_EQ(lab.door->watches(), 2000u);
  for (const auto& client : clients) client->leave();
  lab.settle();
  EXPECT_EQ(lab.door->watches(), 0u);
}

TEST(Door, WhatItsServerRefusesIsAStatusToo) {
  DoorLab lab;
  const auto refused = lab.door->server_options().refusal;
  const net::HttpResponse large = refused(413, "the body is larger than 4194304 bytes");
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(large.headers.get("Content-Type"), "application/json");
  EXPECT_THAT(large.body, AllOf(HasSubstr("Request entity too large: limit is 3145728"),
                                HasSubstr(R"("reason":"RequestEntityTooLarge")")));
  const net::HttpResponse slow = refused(408, "the header took too long");
  EXPECT_THAT(slow.body, AllOf(HasSubstr("the header took too long"), HasSubstr(R"("code":408)")));
}

TEST(Door, ItsServerHasItsLimits) {
  DoorLab lab(
      {.limits = {.body_bytes = 100, .header_bytes = 1000, .connections = 7, .idle_time = 5s}});
  const net::HttpLimits limits = lab.door->server_options().limits;
  EXPECT_GT(limits.request_body_bytes, 100u);
  EXPECT_EQ(limits.header_bytes, 1000u);
  EXPECT_EQ(limits.connections, 7u);
  EXPECT_EQ(limits.idle_timeout, Duration(5s));
}

}  // namespace
}  // namespace berth::apiserver
