// SPDX-License-Identifier: Apache-2.0
#include "gateway/server.h"

#include <gmock/gmock.h>

#include "gateway/lab_for_test.h"
#include "gateway/replies.h"

namespace berth::gateway {
namespace {

using testing::HasSubstr;

void mount(Routes& routes, std::vector<std::shared_ptr<Stream>>& streams) {
  routes.add({.path = "/healthz",
              .entry = Entry::kOpen,
              .handle = [](Request, const kube::User&, Done<Reply> done) {
                done(Reply{.body = "ok", .content_type = "text/plain"});
              }});
  routes.add(
      {.path = "/ns/{ns}/jobs/{name}",
       .rights = {{.verb = "get", .group = "g", .resource = "jobs", .ns = "{ns}"}},
       .handle = [](Request request, const kube::User& user, Done<Reply> done) {
         EXPECT_FALSE(request.headers.has("Authorization"));
         if (request.value("name") == "none")
           return done(fail(Reason::kNotFound, "jobs.g \"none\" not found"));
         done(json_reply(fmt::format(R"({{"user":"{}","name":"{}","x":"{}"}})", user.name,
                                     request.value("name"), request.asked("x").value_or(""))));
       }});
  routes.add({.path = "/ns/{ns}/events",
              .rights = {{.verb = "watch", .group = "g", .resource = "jobs", .ns = "{ns}"}},
              .stream = [&streams](Request, const kube::User&, std::shared_ptr<Stream> stream) {
                stream->begin("text/event-stream");
                streams.push_back(std::move(stream));
              }});
  routes.add({.path = "/socket",
              .entry = Entry::kOffered,
              .socket =
                  [](Request, Visitor visitor, std::shared_ptr<net::WebSocket> socket) {
                    socket->write({.bytes = visitor.identity ? visitor.identity->user.name : "?"},
                                  {});
                    socket->close(1000, "");
                  },
              .protocols = {"v12.stomp", "v11.stomp"}});
  routes.add({.path = "/me",
              .entry = Entry::kKnown,
              .handle = [](Request, const kube::User& user, Done<Reply> done) {
                done(json_reply('"' + user.name + '"'));
              }});
}

class GatewayTest : public testing::Test {
 protected:
  explicit GatewayTest(GatewayOptions options = {}) : lab(std::move(options)) {
    mount(lab.gateway->routes(), streams);
    lab.api.rights = {"alice get jobs default", "alice watch jobs default"};
  }
  std::vector<std::shared_ptr<Stream>> streams;
  GatewayLab lab;
};

TEST_F(GatewayTest, ESI_127_NoTokenIs401NoRightIs403AndARightIs200) {
  const auto none = lab.get("/ns/default/jobs/a", "");
  EXPECT_EQ(none->status(), 401);
  EXPECT_THAT(none->body(), HasSubstr(R"("reason":"Unauthorized")"));
  EXPECT_THAT(none->body(), HasSubstr(R"("kind":"Status")"));
  EXPECT_EQ(none->header("WWW-Authenticate"), R"(Bearer realm="berth")");
  EXPECT_EQ(lab.get("/ns/default/jobs/a", "wrong")->status(), 401);
  const auto other = lab.get("/ns/other/jobs/a");
  EXPECT_EQ(other->status(), 403);
  EXPECT_THAT(other->body(), HasSubstr(R"(in the namespace \"other\")"));
  const auto good = lab.get("/ns/default/jobs/a?x=1%202");
  EXPECT_EQ(good->status(), 200);
  EXPECT_EQ(good->body(), R"({"user":"alice","name":"a","x":"1 2"})");
  EXPECT_EQ(good->header("Cache-Control"), "no-store");
  EXPECT_EQ(good->header("X-Content-Type-Options"), "nosniff");
}

TEST_F(GatewayTest, OpenPagesCostNoReviewAndKnownOnesOnlyOne) {
  EXPECT_EQ(lab.get("/healthz", "")->body(), "ok");
  EXPECT_EQ(lab.get("/me", "")->status(), 401);
  EXPECT_EQ(lab.get("/me")->body(), R"("alice")");
  EXPECT_EQ(lab.api.calls["TokenReview"], 1);
  EXPECT_EQ(lab.api.calls["SubjectAccessReview"], 0);
}

TEST_F(GatewayTest, WhatIsNotThereIsAStatusToo) {
  EXPECT_EQ(lab.get("/nowhere")->status(), 404);
  const auto wrong = lab.send({.method = "POST", .target = "/me"});
  EXPECT_EQ(wrong->status(), 405);
  EXPECT_EQ(wrong->header("Allow"), "GET");
  const auto none = lab.get("/ns/default/jobs/none");
  EXPECT_EQ(none->status(), 404);
  EXPECT_THAT(none->body(), HasSubstr("not found"));
}

TEST_F(GatewayTest, ESI_127_TooManyRequestsAre429BeforeAnythingIsAsked) {
  for (int i = 0; i < 40; ++i) EXPECT_EQ(lab.get("/healthz", "")->status(), 200);
  const auto refused = lab.get("/me");
  EXPECT_EQ(refused->status(), 429);
  EXPECT_EQ(refused->header("Retry-After"), "1");
  EXPECT_EQ(lab.api.calls["TokenReview"], 0);
  lab.address = "127.0.0.2:1000";
  EXPECT_EQ(lab.get("/me")->status(), 200);
}

TEST_F(GatewayTest, ESI_127_AForeignNameOrPageIsRefusedBeforeItsTokenIsLookedAt) {
  net::HttpRequest rebound{.target = "/me"};
  rebound.headers.add("Host", "evil.example");
  EXPECT_EQ(lab.send(rebound)->status(), 403);
  net::HttpRequest foreign{.target = "/me"};
  foreign.headers.add("Origin", "http://evil.example");
  EXPECT_EQ(lab.send(foreign)->status(), 403);
  EXPECT_EQ(lab.api.calls["TokenReview"], 0);
}

TEST_F(GatewayTest, ESI_127_TheAuditLogNamesTheUserAndNeverTheToken) {
  lab.get("/ns/default/jobs/a");
  lab.get("/ns/other/jobs/a");
  EXPECT_THAT(lab.log.text(), HasSubstr("user=alice method=GET path=/ns/default/jobs/a code=200"));
  EXPECT_THAT(lab.log.text(), HasSubstr("user=alice method=GET path=/ns/other/jobs/a code=403"));
  EXPECT_THAT(lab.log.text(), testing::Not(HasSubstr("alices")));
}

TEST_F(GatewayTest, AStreamRunsUntilItsListenerLeaves) {
  const auto client = lab.get("/ns/default/events");
  EXPECT_EQ(client->begun, 200);
  EXPECT_EQ(client->header("Content-Type"), "text/event-stream");
  EXPECT_EQ(lab.gateway->seats().taken(), 1U);
  streams[0]->write("data: 1\n\n", {});
  EXPECT_EQ(client->body(), "data: 1\n\n");
  client->leave();
  lab.settle();
  EXPECT_TRUE(streams[0]->over());
  EXPECT_EQ(lab.gateway->seats().taken(), 0U);
}

TEST_F(GatewayTest, ESI_127_AStreamEndsWhenItsTokenDoes) {
  const auto client = lab.get("/ns/default/events");
  lab.api.users.clear();
  lab.world.run_for(60s);
  EXPECT_TRUE(client->ended);
  EXPECT_TRUE(streams[0]->over());
  EXPECT_EQ(lab.gateway->seats().taken(), 0U);
}

TEST_F(GatewayTest, ESI_127_AUserHasSixteenStreamsAtMost) {
  for (int i = 0; i < 16; ++i) EXPECT_EQ(lab.get("/ns/default/events")->status(), 200);
  EXPECT_EQ(lab.get("/ns/default/events")->status(), 429);
  streams[3]->end();
  lab.settle();
  EXPECT_EQ(lab.get("/ns/default/events")->status(), 200);
}

net::HttpRequest upgrade(std::string protocols) {
  net::HttpRequest request{.target = "/socket"};
  request.headers.add("Connection", "keep-alive, Upgrade");
  request.headers.add("Upgrade", "websocket");
  request.headers.add("Sec-WebSocket-Version", "13");
  request.headers.add("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
  if (!protocols.empty()) request.headers.add("Sec-WebSocket-Protocol", std::move(protocols));
  return request;
}

TEST_F(GatewayTest, ESI_127_AWebSocketsTokenMayStandAmongItsProtocols) {
  const auto plain = lab.send(upgrade("v10.stomp, v11.stomp, v12.stomp"));
  EXPECT_EQ(plain->begun, 101);
  EXPECT_EQ(plain->header("Sec-WebSocket-Protocol"), "v12.stomp");
  EXPECT_EQ(plain->header("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(plain->socket->text(), "?");
  EXPECT_EQ(plain->socket->limits.message_bytes, 64U << 10);
  // "alices"
  const std::string token = "base64url.bearer.authorization.k8s.io.YWxpY2Vz";
  const auto known = lab.send(upgrade("v11.stomp, " + token));
  EXPECT_EQ(known->header("Sec-WebSocket-Protocol"), "v11.stomp");
  EXPECT_EQ(known->socket->text(), "alice");
  EXPECT_EQ(lab.send(upgrade("v11.stomp, " + token + "x"))->status(), 401);
}

TEST_F(GatewayTest, WhatIsNoWebSocketIsTold) {
  EXPECT_EQ(lab.get("/socket", "")->status(), 400);
  net::HttpRequest old = upgrade("");
  old.headers.set("Sec-WebSocket-Version", "8");
  const auto refused = lab.send(old);
  EXPECT_EQ(refused->status(), 426);
  EXPECT_EQ(refused->header("Sec-WebSocket-Version"), "13");
}

TEST_F(GatewayTest, ThereIsNoSecondDoorUnlessItIsAskedFor) {
  EXPECT_EQ(lab.gateway->compat_door(), nullptr);
}

class CompatTest : public GatewayTest {
 protected:
  CompatTest() : GatewayTest({.compat_user = "thesis"}) { lab.compat = true; }
};

TEST_F(CompatTest, ESI_101_CallersWithoutATokenAreTheCompatUserOnThisMachineOnly) {
  EXPECT_EQ(lab.get("/me", "")->body(), R"("thesis")");
  EXPECT_EQ(lab.get("/me")->body(), R"("alice")");
  EXPECT_EQ(lab.get("/ns/default/jobs/a", "")->status(),
            403);  // and it still has to have the right
  lab.api.rights.insert("thesis get jobs default");
  lab.world.run_for(10s);
  EXPECT_EQ(lab.get("/ns/default/jobs/a", "")->status(), 200);
  lab.address = "10.0.0.7:1000";
  EXPECT_EQ(lab.get("/me", "")->status(), 403);
  lab.compat = false;
  lab.address = "127.0.0.1:1000";
  EXPECT_EQ(lab.get("/me", "")->status(), 401);
}

class ListedOriginTest : public GatewayTest {
 protected:
  ListedOriginTest() : GatewayTest({.origin = {.origins = {"http://localhost:4200"}}}) {}
};

TEST_F(ListedOriginTest, APageOfAListedOriginMayAskFirst) {
  net::HttpRequest ask{.method = "OPTIONS", .target = "/me"};
  ask.headers.add("Origin", "http://localhost:4200");
  ask.headers.add("Access-Control-Request-Method", "GET");
  const auto answer = lab.send(ask);
  EXPECT_EQ(answer->status(), 204);
  EXPECT_EQ(answer->header("Access-Control-Allow-Origin"), "http://localhost:4200");
}

}  // namespace
}  // namespace berth::gateway
