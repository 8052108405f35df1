// SPDX-License-Identifier: Apache-2.0
#include "apiserver/webhooks_http/http_webhook_caller.h"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/auth/object_lab.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace berth::apiserver {
namespace {

using testing::HasSubstr;

class Handler final : public net::HttpHandler {
 public:
  void handle(net::HttpRequest request, const net::HttpPeer&, net::HttpReply reply) override {
    last = std::move(request);
    net::HttpResponse copy = answer;
    reply.send(std::move(copy));
  }
  net::HttpRequest last;
  net::HttpResponse answer;
};

// A webhook with a certificate of its own authority, on a free port.
class HttpWebhooks : public testing::Test {
 protected:
  HttpWebhooks() {
    authority = *net::make_authority("webhooks");
    const net::KeyPair pair =
        *net::issue_certificate(authority, {.common_name = "hook",
                                            .dns_names = {"localhost", "hooks.sys.svc"},
                                            .ip_addresses = {"127.0.0.1"}});
    server = *net::HttpServer::start(
        io,
        {.tls = net::TlsServerOptions{.certificate_pem = pair.certificate_pem,
                                      .key_pem = pair.key_pem}},
        handler);
    on_home([&] {
      scope = std::make_unique<Scope>(home, "test");
      caller = std::make_unique<HttpWebhookCaller>(*scope, io, lab.store);
    });
  }
  ~HttpWebhooks() override {
    std::promise<void> closed;
    home.post([&] { scope->close({}, [&] { closed.set_value(); }); });
    closed.get_future().wait();
    on_home([&] {
      caller.reset();
      scope.reset();
    });
  }
  void on_home(const std::function<void()>& f) {
    std::promise<void> ran;
    home.post([&] {
      f();
      ran.set_value();
    });
    ran.get_future().wait();
  }
  Result<std::string> call(const WebhookTarget& target, Duration timeout = 30s) {
    std::promise<Result<std::string>> answer;
    home.post([&] {
      caller->call(target, "{}", timeout, scope->done<std::string>(kNoLimit, [&](auto reply) {
        answer.set_value(std::move(reply));
      }));
    });
    return answer.get_future().get();
  }
  WebhookTarget target(std::string path = "/mutate") {
    return {.url = fmt::format("https://127.0.0.1:{}{}", server->port(), path),
            .ca_bundle = authority.certificate_pem};
  }

  net::RealRuntime runtime;
  Executor& io = runtime.loop("io");
  Executor& home = runtime.loop("home");
  ObjectLab lab;
  net::KeyPair authority;
  Handler handler;
  std::unique_ptr<net::HttpServer> server;
  std::unique_ptr<Scope> scope;
  std::unique_ptr<HttpWebhookCaller> caller;
};

TEST_F(HttpWebhooks, PostsTheReviewAndGivesTheReply) {
  handler.answer.body = R"({"ok":true})";
  const auto reply = call(target(), 10s);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(*reply, R"({"ok":true})");
  EXPECT_EQ(handler.last.method, "POST");
  EXPECT_EQ(handler.last.target, "/mutate?timeout=10s");
  EXPECT_EQ(handler.last.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(handler.last.body, "{}");
}

TEST_F(HttpWebhooks, TrustsNobodyWhomTheBundleDoesNotVouchFor) {
  WebhookTarget other = target();
  other.ca_bundle = net::make_authority("somebody else")->certificate_pem;
  const auto reply = call(other);
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("certificate"));
}

TEST_F(HttpWebhooks, TakesNoRedirectAndNoErrorForAnAnswer) {
  handler.answer.status = 302;
  handler.answer.headers.add("Location", "https://127.0.0.1/other");
  EXPECT_FALSE(call(target()));
  handler.answer = {.status = 500, .headers = {}, .body = "boom"};
  EXPECT_EQ(call(target()).error().message,
            R"(an error on the server ("boom") has prevented the request from succeeding)");
  handler.answer.status = 404;
  EXPECT_EQ(call(target()).error().message, "the server could not find the requested resource");
}

TEST_F(HttpWebhooks, TakesNoReplyWithoutEnd) {
  handler.answer.body = std::string(WebhookCaller::kMostReplyBytes + 1, 'x');
  EXPECT_FALSE(call(target()));
}

TEST_F(HttpWebhooks, SpeaksOnlyHttps) {
  EXPECT_THAT(call({.url = "http://127.0.0.1:1/", .ca_bundle = ""}).error().message,
              HasSubstr("only https"));
}

TEST_F(HttpWebhooks, FindsAServiceByItsEndpoints) {
  lab.put(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"hooks","namespace":"sys"},"spec":{"ports":[{"port":443}]}})");
  WebhookTarget service{.url = "https://hooks.sys.svc:443/m",
                        .ca_bundle = authority.certificate_pem,
                        .service_ns = "sys",
                        .service_name = "hooks"};
  EXPECT_EQ(
      call(service).error().message,
      R"(Post "https://hooks.sys.svc:443/m?timeout=30s": no endpoints available for service "hooks")");
  lab.put(fmt::format(
      R"({{"apiVersion":"v1","kind":"Endpoints","metadata":{{"name":"hooks","namespace":"sys"}},"subsets":[{{"addresses":[{{"ip":"127.0.0.1"}}],"ports":[{{"port":{}}}]}}]}})",
      server->port()));
  handler.answer.body = "{}";
  const auto reply = call(service);
  ASSERT_TRUE(reply) << reply.error().message;
  service.service_name = "none";
  EXPECT_THAT(call(service).error().message, HasSubstr(R"(service "none" not found)"));
}

}  // namespace
}  // namespace berth::apiserver
