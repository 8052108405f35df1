// SPDX-License-Identifier: Apache-2.0
// Requests on their way through authentication, authorisation and the pages, in virtual time: an
// API server that answers reviews from tables stands behind.
#include "scheduler/serving/endpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/world.h"
#include "client/local_transport.h"
#include "json/writer.h"
#include "net/tls.h"

namespace berth::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Reviews tokens ("alice-token" is alice's) and access (by user and path).
class Reviewer final : public kube::ApiHandler {
 public:
  void handle(kube::ApiRequest request, Done<kube::ApiReply> done) override {
    if (away) return done(fail(Reason::kForbidden, "go away"));
    if (request.verb == kube::Verb::kGet) {
      ++lookups;
      if (!config_map.valid()) return done(fail(Reason::kNotFound, "no such thing"));
      return done(kube::ApiReply{.body = config_map, .warnings = {}});
    }
    if (request.verb != kube::Verb::kCreate)
      return done(fail(Reason::kForbidden, "you may not watch"));
    const json::Slice spec = json::Slice(*request.body.bytes)["spec"];
    asked.emplace_back(spec.raw());
    std::string status;
    if (request.kind == kube::kTokenReview) {
      const std::string token = spec["token"].text();
      status =
          token == "alice-token"
              ? R"({"authenticated":true,"user":{"username":"alice","uid":"7","groups":["dev"],)"
                R"("extra":{"k":["v"]}}})"
          : token == "odd-token" ? R"({"authenticated":false,"error":"expired"})"
                                 : R"({"authenticated":false})";
    } else {
      const bool allowed =
          spec["user"].equals("alice") && spec["nonResourceAttributes"]["path"].equals("/metrics");
      status = allowed ? R"({"allowed":true,"reason":"rbac"})"
                       : fmt::format(R"({{"allowed":false,"reason":"{}"}})", reason);
    }
    done(kube::ApiReply{
        .code = 201,
        .body = kube::Object::parse(request.kind,
                                    fmt::format(R"({{"metadata":{{}},"status":{}}})", status))
                    .value(),
        .warnings = {}});
  }
  bool away = false;
  kube::Object config_map;
  std::string reason;
  std::vector<std::string> asked;
  int lookups = 0;
};

struct KeptReply final : net::HttpReply::Impl {
  explicit KeptReply(std::optional<net::HttpResponse>& to) : kept(to) {}
  void send(net::HttpResponse response, net::Gzip) override { kept = std::move(response); }
  void begin(int, net::Headers) override {}
  void write(std::string, Done<Ok>) override {}
  void end() override {}
  void upgrade(net::Headers, net::WebSocketLimits, Done<std::shared_ptr<net::WebSocket>>) override {
  }
  bool gone() const override { return false; }
  void when_gone(Done<Ok>) override {}
  std::optional<net::HttpResponse>& kept;
};

struct Lab {
  explicit Lab(AuthenticationOptions authn = {}, AuthorizationOptions authz = {},
               bool connected = true)
      : authenticator(scope, connected ? &transport : nullptr, Random(1), std::move(authn), log),
        authorizer(scope, connected ? &transport : nullptr, Random(2), std::move(authz), log),
        endpoints(scope, authenticator, authorizer, content(), log) {}
  ~Lab() {
    scope.close(0s, [] {});
    world.run_for(1s);
  }
  ServingContent content() {
    const auto check = [this](const char* name, bool& good) {
      return HealthCheck{name, [&good]() -> Result<Ok> {
                           if (good) return Ok{};
                           return fail(Reason::kUnknown, "the secret reason");
                         }};
    };
    return {.healthz = {check("watchdog", watchdog)},
            .readyz = {check("watchdog", watchdog), check("sched-handler-sync", synced)},
            .metrics = [] { return "up 1\n"; },
            .resources = [](Done<std::string> done) { done("kube 1\n"); },
            .configz = [] { return R"({"kind":"KubeSchedulerConfiguration"})"; }};
  }
  Result<Ok> start() {
    std::optional<Result<Ok>> started;
    authenticator.start(scope.done<Ok>(kNoLimit, [&](Result<Ok> r) { started = std::move(r); }));
    world.run_for(20s);
    return started.value();
  }
  net::HttpResponse get(std::string target, std::string token = "", std::string certificates = "",
                        std::string method = "GET", net::Headers headers = {}) {
    std::optional<net::HttpResponse> reply;
    if (!token.empty()) headers.add("Authorization", "Bearer " + token);
    endpoints.handle({.method = std::move(method), .target = std::move(target), .headers = headers},
                     {.address = "1.2.3.4:5", .certificates = std::move(certificates)},
                     net::HttpReply(std::make_shared<KeptReply>(reply)));
    world.run_for(30s);
    return reply.value_or(net::HttpResponse{.status = -1});
  }

  World world{1};
  Reviewer reviewer;
  StringSink sink;
  Logger log{sink, world.clock()};
  client::LocalTransport transport{world.loop("api"), reviewer, {}};
  Scope scope{world.loop("serving"), "serving"};
  bool watchdog = true, synced = true;
  Authenticator authenticator;
  Authorizer authorizer;
  Endpoints endpoints;
};

TEST(Endpoints, HealthIsOpenToAnybody) {
  Lab lab;
  for (const char* path : {"/healthz", "/livez", "/readyz"}) {
    const auto reply = lab.get(path);
    EXPECT_EQ(reply.status, 200) << path;
    EXPECT_EQ(reply.body, "ok") << path;
    EXPECT_EQ(reply.headers.get("Cache-Control"), "no-cache, private");
  }
  EXPECT_THAT(lab.reviewer.asked, ElementsAre());
}

TEST(Endpoints, HealthTellsWhichCheckFailsButNotWhy) {
  Lab lab;
  EXPECT_EQ(lab.get("/readyz?verbose").body,
            "[+]watchdog ok\n[+]sched-handler-sync ok\nreadyz check passed\n");
  lab.synced = false;
  const auto failed = lab.get("/readyz");
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.body,
            "[+]watchdog ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n");
  EXPECT_THAT(lab.sink.text(), HasSubstr("the secret reason"));
  EXPECT_EQ(lab.get("/livez").status, 200);
  EXPECT_EQ(
      lab.get("/readyz?exclude=sched-handler-sync&verbose&exclude=nothing").body,
      "[+]watchdog ok\n[+]sched-handler-sync excluded: ok\nwarn: some health checks cannot be "
      "excluded: no matches for \"nothing\"\nreadyz check passed\n");
}

TEST(Endpoints, SingleChecksNeedRights) {
  Lab lab({}, {.always_allow_paths = {"/healthz", "readyz/*"}});
  EXPECT_EQ(lab.get("/healthz/watchdog").status, 403);
  EXPECT_EQ(lab.get("/readyz/watchdog").body, "ok");
  lab.watchdog = false;
  const auto failed = lab.get("/readyz/watchdog");
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.body, "internal server error: the secret reason\n");
}

TEST(Endpoints, TokensAreReviewedAndAccessIsAsked) {
  Lab lab;
  const auto reply = lab.get("/metrics", "alice-token");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "up 1\n");
  EXPECT_THAT(
      lab.reviewer.asked,
      ElementsAre(
          R"({"token":"alice-token"})",
          R"({"nonResourceAttributes":{"path":"/metrics","verb":"get"},"user":"alice","uid":"7",)"
          R"("groups":["dev","system:authenticated"],"extra":{"k":["v"]}})"));
}

TEST(Endpoints, RefusalsAreStatusObjects) {
  Lab lab;
  const auto forbidden = lab.get("/configz", "alice-token");
  EXPECT_EQ(forbidden.status, 403);
  EXPECT_THAT(forbidden.body,
              HasSubstr(R"(forbidden: User \"alice\" cannot get path \"/configz\")"));
  EXPECT_THAT(forbidden.body, HasSubstr(R"("reason":"Forbidden")"));
  lab.reviewer.reason = "no";
  EXPECT_THAT(lab.get("/metrics").body,
              HasSubstr(R"(User \"system:anonymous\" cannot get path \"/metrics\": no)"));
  for (const char* token : {"wrong", "odd-token"}) {
    const auto unknown = lab.get("/healthz", token);  // even there
    EXPECT_EQ(unknown.status, 401);
    EXPECT_THAT(unknown.body, HasSubstr(R"("message":"Unauthorized")"));
  }
}

TEST(Endpoints, AnswersAreUsedAgainForTenSeconds) {
  Lab lab;
  const auto quick = [&] {
    std::optional<net::HttpResponse> reply;
    net::Headers headers;
    headers.add("Authorization", "bearer alice-token");
    lab.endpoints.handle({.target = "/metrics", .headers = headers}, {},
                         net::HttpReply(std::make_shared<KeptReply>(reply)));
    lab.world.run_for(1s);
    EXPECT_EQ(reply.value().status, 200);
  };
  for (int i = 0; i < 5; ++i) quick();
  EXPECT_EQ(lab.reviewer.asked.size(), 2u);
  lab.world.run_for(10s);
  quick();
  EXPECT_EQ(lab.reviewer.asked.size(), 4u);
}

TEST(Endpoints, ManyWithTheSameQuestionAskOnce) {
  Lab lab;
  std::vector<std::optional<net::HttpResponse>> replies(20);
  net::Headers headers;
  headers.add("Authorization", "Bearer alice-token");
  for (auto& reply : replies)
    lab.endpoints.handle({.target = "/metrics", .headers = headers}, {},
                         net::HttpReply(std::make_shared<KeptReply>(reply)));
  lab.world.run_for(1s);
  for (const auto& reply : replies) EXPECT_EQ(reply.value().status, 200);
  EXPECT_EQ(lab.reviewer.asked.size(), 2u);
}

TEST(Endpoints, WithoutAnApiServerOnlyOpenPathsAreServed) {
  Lab lab({}, {}, false);
  EXPECT_EQ(lab.get("/healthz").status, 200);
  EXPECT_EQ(lab.get("/metrics", "alice-token").status, 403);
  Lab cut;
  cut.reviewer.away = true;
  EXPECT_EQ(cut.get("/metrics", "alice-token").status, 401);
  EXPECT_EQ(cut.get("/metrics").status, 500);
  EXPECT_EQ(cut.get("/healthz").status, 200);
}

TEST(Endpoints, PathsAndMethods) {
  Lab lab({}, {.always_allow_paths = {"*"}});
  EXPECT_EQ(lab.get("/").status, 404);
  EXPECT_EQ(lab.get("/metrics/").status, 404);
  EXPECT_EQ(lab.get("/%6detrics").status, 200);
  EXPECT_EQ(lab.get("/%zz").status, 400);
  EXPECT_EQ(lab.get("metrics").status, 400);
  EXPECT_EQ(lab.get("/metrics", "", "", "HEAD").status, 200);
  EXPECT_EQ(lab.get("/metrics", "", "", "POST").status, 405);
  EXPECT_EQ(lab.get("/metrics/resources").body, "kube 1\n");
  EXPECT_EQ(lab.get("/configz").body,
            R"({"componentconfig":{"kind":"KubeSchedulerConfiguration"}})");
  EXPECT_EQ(lab.get("/version").status, 404);
}

struct Certificates {
  net::KeyPair clients = net::make_authority("clients").value();
  net::KeyPair proxies = net::make_authority("proxies").value();
  std::string issue(const net::KeyPair& authority, std::string name,
                    std::vector<std::string> groups = {}) const {
    return net::issue_certificate(
               authority, {.common_name = std::move(name), .organizations = std::move(groups)})
        .value()
        .certificate_pem;
  }
  kube::Object config_map() const {
    json::Writer w;
    w.object().member("metadata").object();
    w.member("name").string("extension-apiserver-authentication");
    w.member("namespace").string("kube-system").end().member("data").object();
    w.member("client-ca-file").string(clients.certificate_pem);
    w.member("requestheader-client-ca-file").string(proxies.certificate_pem);
    w.member("requestheader-allowed-names").string(R"(["front-proxy"])");
    w.member("requestheader-username-headers").string(R"(["X-Remote-User"])");
    w.member("requestheader-group-headers").string(R"(["X-Remote-Group"])");
    w.member("requestheader-extra-headers-prefix").string(R"(["X-Remote-Extra-"])");
    w.end().end();
    return kube::Object::parse(kube::kConfigMap, w.text()).value();
  }
};

TEST(Authentication, ClientCertificatesOfTheConfigMapsAuthorityCount) {
  Lab lab;
  const Certificates all;
  const std::string root = all.issue(all.clients, "root", {"system:masters"});
  EXPECT_EQ(lab.get("/metrics", "", root).status, 403);  // nobody is trusted yet
  lab.reviewer.config_map = all.config_map();
  ASSERT_TRUE(lab.start());
  EXPECT_EQ(lab.get("/metrics", "", root).status, 200);
  EXPECT_EQ(lab.get("/metrics", "", all.issue(all.clients, "alice")).status, 200);
  EXPECT_THAT(lab.reviewer.asked.back(), HasSubstr("X509SHA256="));
  EXPECT_EQ(lab.get("/metrics", "", all.issue(all.clients, "bob")).status, 403);
  const net::KeyPair stranger = net::make_authority("stranger").value();
  const std::string forged = all.issue(stranger, "root", {"system:masters"});
  EXPECT_EQ(lab.get("/metrics", "", forged).status, 401);
  EXPECT_EQ(lab.get("/metrics", "alice-token", forged).status, 200);  // the token convinces
}

TEST(Authentication, AFrontProxySpeaksForOthers) {
  Lab lab;
  const Certificates all;
  lab.reviewer.config_map = all.config_map();
  ASSERT_TRUE(lab.start());
  net::Headers headers;
  headers.add("x-remote-user", "alice");
  headers.add("X-Remote-Group", "a");
  headers.add("X-Remote-Group", "b");
  headers.add("X-Remote-Extra-Scopes%2fx", "s");
  const std::string proxy = all.issue(all.proxies, "front-proxy");
  EXPECT_EQ(lab.get("/metrics", "", proxy, "GET", headers).status, 200);
  EXPECT_THAT(lab.reviewer.asked.back(),
              HasSubstr(R"("groups":["a","b","system:authenticated"],"extra":{"scopes/x":["s"]})"));
  EXPECT_EQ(lab.get("/metrics", "", all.issue(all.proxies, "other"), "GET", headers).status, 401);
  // Without the proxy's certificate the headers mean nothing.
  EXPECT_EQ(lab.get("/metrics", "", "", "GET", headers).status, 403);
  EXPECT_EQ(lab.get("/metrics", "", all.issue(all.clients, "bob"), "GET", headers).status, 403);
}

TEST(Authentication, AFailedLookupIsFatalOnlyWhereAsked) {
  Lab strict({.tolerate_lookup_failure = false});
  strict.reviewer.away = true;
  const auto failed = strict.start();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message,
              HasSubstr("ConfigMap kube-system/extension-apiserver-authentication"));
  Lab tolerant;
  tolerant.reviewer.away = true;
  EXPECT_TRUE(tolerant.start());
  Lab absent({.tolerate_lookup_failure = false});
  EXPECT_TRUE(absent.start());
  Lab skipping({.skip_lookup = true, .tolerate_lookup_failure = false});
  skipping.reviewer.away = true;
  EXPECT_TRUE(skipping.start());
  EXPECT_EQ(skipping.reviewer.lookups, 0);
}

TEST(Authentication, ABrokenConfigMapIsNamed) {
  const auto map = kube::Object::parse(
      kube::kConfigMap,
      R"({"metadata":{"name":"x","namespace":"y"},"data":{"requestheader-allowed-names":"front"}})");
  EXPECT_EQ(read_trusted_clients(*map).error().message,
            "ConfigMap y/x: requestheader-allowed-names is not a JSON list");
}

TEST(Authorization, OnlyATrailingStarIsUnderstood) {
  EXPECT_TRUE(check(AuthorizationOptions{.always_allow_paths = {"/a*", "*", "/"}}));
  EXPECT_FALSE(check(AuthorizationOptions{.always_allow_paths = {"/a*b"}}));
}

}  // namespace
}  // namespace berth::scheduler
