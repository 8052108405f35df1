// SPDX-License-Identifier: Apache-2.0
// The secure port beside that of the real kube-scheduler: the same callers get the same answers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control_plane.h"
#include "json/writer.h"
#include "net/http_client.h"
#include "scheduler/serving/endpoints.h"
#include "scheduler/serving/secure_server.h"
#include "session.h"

namespace berth::e2e {
namespace {

using namespace berth::scheduler;

std::string kubeconfig(const ControlPlane& plane, const TempFolder& folder,
                       const net::KeyPair& user) {
  return folder
      .write(
          "scheduler.kubeconfig",
          fmt::format("apiVersion: v1\nkind: Config\ncurrent-context: x\n"
                      "clusters: [{{name: c, cluster: {{server: '{}', certificate-authority: "
                      "'{}'}}}}]\n"
                      "users: [{{name: u, user: {{client-certificate: '{}', client-key: '{}'}}}}]\n"
                      "contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n",
                      plane.url(), (plane.folder().path() / "ca.crt").string(),
                      folder.write("user.crt", user.certificate_pem).string(),
                      folder.write("user.key", user.key_pem).string()))
      .string();
}

// Our secure port, on a loop of its own.
class OurServer {
 public:
  explicit OurServer(const std::string& kubeconfig) {
    client::ConnectOptions options;
    options.kubeconfig = kubeconfig;
    cluster_ = client::connect(loop_.runtime(), options, log_).value();
    loop_.run([&] {
      Scope& scope = loop_.scope();
      authenticator_ = std::make_unique<Authenticator>(
          scope, cluster_->transport.get(), Random(1),
          AuthenticationOptions{.tolerate_lookup_failure = false}, log_);
      authorizer_ = std::make_unique<Authorizer>(scope, cluster_->transport.get(), Random(2),
                                                 AuthorizationOptions{}, log_);
      const HealthCheck fine{"sched-handler-sync", [] { return Result<Ok>(Ok{}); }};
      const HealthCheck running{"shutdown", [] { return Result<Ok>(Ok{}); }};
      endpoints_ = std::make_unique<Endpoints>(
          scope, *authenticator_, *authorizer_,
          ServingContent{.readyz = {running, fine},
                         .metrics = [] { return "up 1\n"; },
                         .resources = [](Done<std::string> done) { done(""); },
                         .configz = [] { return "{}"; }},
          log_);
    });
    const auto started =
        loop_.ask<Ok>(60s, [&](Done<Ok> done) { authenticator_->start(std::move(done)); });
    EXPECT_TRUE(started) << started.error().message;
    auto serving = secure_server_options({.bind_address = "127.0.0.1"}).value();
    serving.port = 0;
    server_ = net::HttpServer::start(loop_.executor(), serving, *endpoints_).value();
  }
  ~OurServer() {
    server_.reset();
    loop_.close();
  }
  std::uint16_t port() const { return server_->port(); }

 private:
  TestLoop loop_{"serving"};
  Logger log_{stderr_sink(), loop_.executor().clock(), LogLevel::kError};
  std::unique_ptr<client::Cluster> cluster_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<Authorizer> authorizer_;
  std::unique_ptr<Endpoints> endpoints_;
  std::unique_ptr<net::HttpServer> server_;
};

struct Caller {
  std::string name;
  std::string token = {};
  net::KeyPair pair = {};
  net::Headers headers = {};
};

class Serving : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string ca = extra_.write("proxy-ca.crt", proxies_.certificate_pem).string();
    auto plane = ControlPlane::start(
        {.etcd_flags = {},
         .api_server_flags = {"--requestheader-client-ca-file=" + ca,
                              "--requestheader-allowed-names=front-proxy",
                              "--requestheader-username-headers=X-Remote-User",
                              "--requestheader-group-headers=X-Remote-Group",
                              "--requestheader-extra-headers-prefix=X-Remote-Extra-"}});
    if (!plane && plane.error().reason == Reason::kNotFound) GTEST_SKIP() << plane.error().message;
    ASSERT_TRUE(plane) << plane.error().message;
    plane_ = std::move(*plane);
    auto session = Session::open(plane_->kubeconfig());
    ASSERT_TRUE(session) << session.error().message;
    admin_ = std::move(*session);
  }
  void TearDown() override {
    if (HasFailure() && plane_) fmt::print("{}\n", plane_->log_tails(10));
  }

  net::KeyPair issue(const net::KeyPair& authority, std::string user,
                     std::vector<std::string> groups = {}) {
    return net::issue_certificate(
               authority, {.common_name = std::move(user), .organizations = std::move(groups)})
        .value();
  }
  void create(kube::KindId kind, const std::string& ns, std::string json) {
    const auto made = admin_->create(kind, ns, std::move(json));
    ASSERT_TRUE(made) << made.error().message;
  }
  // A token of a new service account.
  std::string account(const std::string& name) {
    create(kube::kServiceAccount, "default",
           fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
    const auto reply = admin_->ask<std::string>([&](client::Api& api, Done<std::string> done) {
      api.raw("POST", fmt::format("/api/v1/namespaces/default/serviceaccounts/{}/token", name),
              R"({"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","spec":{}})",
              std::move(done));
    });
    EXPECT_TRUE(reply) << reply.error().message;
    return reply ? json::Slice(*reply)["status"]["token"].text() : "";
  }
  net::HttpResponse get(std::uint16_t port, const Caller& caller, const std::string& target,
                        const std::string& method = "GET") {
    auto client = net::HttpClient::create(loop_.executor(),
                                          {.origin = {.host = "127.0.0.1", .port = port},
                                           .tls = {.certificate_pem = caller.pair.certificate_pem,
                                                   .key_pem = caller.pair.key_pem,
                                                   .insecure_skip_verify = true}});
    EXPECT_TRUE(client) << client.error().message;
    net::HttpRequest request{.method = method, .target = target, .headers = caller.headers};
    if (!caller.token.empty()) request.headers.add("Authorization", "Bearer " + caller.token);
    auto reply = loop_.ask<net::HttpResponse>(60s, [&](Done<net::HttpResponse> done) {
      (*client)->call(request, loop_.executor().clock().now() + 30s, std::move(done));
    });
    return reply ? std::move(*reply)
                 : net::HttpResponse{.status = 0, .body = reply.error().message};
  }
  void pause(Duration d) {
    static_cast<void>(loop_.ask<Ok>(d, [&](Done<Ok> done) {
      auto kept = std::make_shared<Done<Ok>>(std::move(done));
      loop_.scope().after(d * 2, [kept] {});
    }));
  }

  TempFolder extra_;
  net::KeyPair proxies_ = net::make_authority("proxies").value();
  std::unique_ptr<ControlPlane> plane_;
  std::unique_ptr<Session> admin_;
  TestLoop loop_{"caller"};
};

TEST_F(Serving, AnswersAsTheRealKubeSchedulerDoes) {
  const std::string config =
      kubeconfig(*plane_, extra_, issue(plane_->authority(), "system:kube-scheduler"));
  const std::string reader = account("reader"), other = account("other");
  create(kube::kClusterRole, "",
         R"({"metadata":{"name":"metrics-reader"},"rules":[{"nonResourceURLs":["/metrics"],)"
         R"("verbs":["get"]}]})");
  create(kube::kClusterRoleBinding, "",
         R"({"metadata":{"name":"metrics-reader"},"roleRef":{"apiGroup":)"
         R"("rbac.authorization.k8s.io","kind":"ClusterRole","name":"metrics-reader"},"subjects":)"
         R"([{"kind":"ServiceAccount","name":"reader","namespace":"default"},)"
         R"({"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"carol"}]})");

  const OurServer ours(config);
  const std::uint16_t port = free_port();
  auto real = plane_->start_program(
      "kube-scheduler", {"--kubeconfig=" + config, "--authentication-kubeconfig=" + config,
                         "--authorization-kubeconfig=" + config, "--bind-address=127.0.0.1",
                         fmt::format("--secure-port={}", port), "--leader-elect=false"});
  ASSERT_TRUE(real) << real.error().message;
  for (int i = 0; i < 200 && get(port, {"nobody"}, "/readyz").status != 200; ++i) pause(200ms);

  const net::KeyPair stranger = net::make_authority("stranger").value();
  net::Headers as_carol, as_master;
  as_carol.add("X-Remote-User", "carol");
  as_master.add("X-Remote-User", "mallory");
  as_master.add("X-Remote-Group", "system:masters");
  const Caller callers[] = {
      {.name = "anonymous"},
      {.name = "admin", .token = plane_->token()},
      {.name = "reader", .token = reader},
      {.name = "other", .token = other},
      {.name = "wrong token", .token = "wrong"},
      {.name = "carol by certificate", .pair = issue(plane_->authority(), "carol")},
      {.name = "bob by certificate", .pair = issue(plane_->authority(), "bob")},
      {.name = "a master by certificate",
       .pair = issue(plane_->authority(), "root", {"system:masters"})},
      {.name = "a certificate of a stranger", .pair = issue(stranger, "root", {"system:masters"})},
      {.name = "a stranger with a token", .token = reader, .pair = issue(stranger, "x")},
      {.name = "carol by front proxy", .pair = issue(proxies_, "front-proxy"), .headers = as_carol},
      {.name = "carol by another proxy", .pair = issue(proxies_, "other"), .headers = as_carol},
      {.name = "headers alone", .headers = as_master},
      {.name = "headers and bob's certificate",
       .pair = issue(plane_->authority(), "bob"),
       .headers = as_master},
  };
  struct Page {
    const char* target;
    bool same_body;
  };
  const Page pages[] = {{"/healthz", true},
                        {"/livez", true},
                        {"/readyz", true},
                        {"/readyz?verbose", true},
                        {"/livez?verbose", true},
                        {"/readyz/shutdown", true},
                        {"/readyz?exclude=shutdown&verbose&exclude=x", true},
                        {"/metrics", false},
                        {"/metrics/resources", false},
                        {"/configz", false},
                        {"/nothing", true},
                        {"/metrics/", true},
                        {"/%6detrics", false}};
  for (const Caller& caller : callers)
    for (const Page& page : pages) {
      const net::HttpResponse theirs = get(port, caller, page.target);
      const net::HttpResponse own = get(ours.port(), caller, page.target);
      const std::string what = caller.name + " gets " + page.target;
      EXPECT_EQ(own.status, theirs.status) << what << "\n" << own.body << theirs.body;
      if (theirs.status / 100 == 4 && theirs.body.starts_with('{')) {
        EXPECT_EQ(json::Slice(own.body)["message"].text(),
                  json::Slice(theirs.body)["message"].text())
            << what;
        EXPECT_EQ(json::Slice(own.body)["reason"].text(), json::Slice(theirs.body)["reason"].text())
            << what;
      } else if (page.same_body) {
        EXPECT_EQ(own.body, theirs.body) << what;
      }
    }
  // And once by name, should both be wrong.
  EXPECT_EQ(get(ours.port(), callers[2], "/metrics").status, 200);
  EXPECT_EQ(get(ours.port(), callers[3], "/metrics").status, 403);
  EXPECT_EQ(get(ours.port(), callers[0], "/metrics").status, 403);
  EXPECT_EQ(get(ours.port(), callers[4], "/metrics").status, 401);
  EXPECT_EQ(get(ours.port(), callers[10], "/metrics").status, 200);
}

}  // namespace
}  // namespace berth::e2e
