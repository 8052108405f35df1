// SPDX-License-Identifier: Apache-2.0
// A gateway in a virtual world, with an API server behind it that knows what a test tells it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>

#include "base/world.h"
#include "gateway/server.h"
#include "net/fake_client_for_test.h"

namespace berth::gateway {

// Answers reviews from two tables, everything else by `answer`.
class FakeApi final : public client::Transport {
 public:
  void call(kube::ApiRequest request, Instant, Done<kube::ApiReply> done) override {
    ++calls[kube::kind_of(request.kind).kind];
    if (away) return done(fail(Reason::kUnreachable, "nobody is there"));
    const json::Slice spec =
        request.body.bytes ? json::Slice(*request.body.bytes)["spec"] : json::Slice();
    if (request.kind == kube::kTokenReview) return done(review(request.kind, spec));
    if (request.kind == kube::kSubjectAccessReview) return done(access(request.kind, spec));
    done(answer ? answer(request) : fail(Reason::kNotFound, "not found"));
  }

  std::map<std::string, std::string> users = {};  // by token
  std::set<std::string> rights = {};              // "alice list batchjobs default"
  std::map<std::string, int> calls = {};          // by kind
  std::string asked_about = {};                   // the last access review's spec
  bool away = false;
  std::function<Result<kube::ApiReply>(const kube::ApiRequest&)> answer = {};

 private:
  static Result<kube::ApiReply> object(kube::KindId kind, const std::string& status) {
    kube::ApiReply reply;
    reply.code = 201;
    reply.body = kube::Object::parse(kind, fmt::format(R"({{"status":{}}})", status)).value();
    return reply;
  }
  Result<kube::ApiReply> review(kube::KindId kind, json::Slice spec) {
    const auto user = users.find(spec["token"].text());
    if (user == users.end()) return object(kind, R"({"error":"invalid bearer token"})");
    return object(kind, fmt::format(R"({{"authenticated":true,"user":{{"username":"{}",)"
                                    R"("groups":["system:authenticated"]}}}})",
                                    user->second));
  }
  Result<kube::ApiReply> access(kube::KindId kind, json::Slice spec) {
    asked_about = spec.raw();
    const json::Slice wanted = spec["resourceAttributes"];
    std::string resource = wanted["resource"].text();
    if (wanted["subresource"]) resource += "/" + wanted["subresource"].text();
    const std::string line = fmt::format("{} {} {} {}", spec["user"].text(), wanted["verb"].text(),
                                         resource, wanted["namespace"].text());
    return object(kind, rights.count(line) > 0 ? R"({"allowed":true})" : R"({"allowed":false})");
  }
};

class GatewayLab {
 public:
  explicit GatewayLab(GatewayOptions options = {})
      : gateway(std::make_unique<Gateway>(scope, api, metrics, Logger(log, world.clock()),
                                          std::move(options))) {
    api.users["alices"] = "alice";
  }
  ~GatewayLab() {
    if (!scope.closing()) scope.close({}, [] {});
    settle();
  }

  World world{Seed{1}};
  Executor& loop = world.loop("gateway");
  Scope scope{loop, "gateway"};
  Metrics metrics;
  StringSink log;
  FakeApi api;
  std::unique_ptr<Gateway> gateway;
  bool compat = false;  // through the second door
  std::string address = "127.0.0.1:1000";
  std::optional<net::PeerIdentity> certificate = {};

  void settle() { world.run_until_idle(1s); }

  // Sends a request and lets everything happen that can.
  std::shared_ptr<net::FakeClient> send(net::HttpRequest request, bool reads = true) {
    if (!request.headers.has("Host")) request.headers.add("Host", "127.0.0.1:8080");
    auto client = std::make_shared<net::FakeClient>();
    client->reads = reads;
    net::HttpHandler& door = compat ? *gateway->compat_door() : gateway->door();
    loop.post([this, &door, request = std::move(request), client]() mutable {
      door.handle(std::move(request), {.address = address, .identity = certificate},
                  net::HttpReply(std::make_shared<net::FakeReply>(client)));
    });
    settle();
    return client;
  }
  std::shared_ptr<net::FakeClient> get(std::string target, const std::string& token = "alices") {
    net::HttpRequest request{.target = std::move(target)};
    if (!token.empty()) request.headers.add("Authorization", "Bearer " + token);
    return send(std::move(request));
  }
};

}  // namespace berth::gateway
