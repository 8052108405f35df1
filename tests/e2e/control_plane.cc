// SPDX-License-Identifier: Apache-2.0
#include "control_plane.h"

#include <cstdlib>

#include <fmt/format.h>
#include <signal.h>

#include "base/random.h"
#include "json/slice.h"

namespace berth::e2e {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kReady{60};  // a cold start takes 3 s on 2 idle cores

std::string kubeconfig_text(const std::string& url, const fs::path& ca, const std::string& token) {
  return fmt::format(R"(apiVersion: v1
kind: Config
current-context: test
clusters:
- name: test
  cluster:
    server: {}
    certificate-authority: {}
users:
- name: admin
  user:
    token: {}
contexts:
- name: test
  context:
    cluster: test
    user: admin
)",
                     url, ca.string(), token);
}

}  // namespace

Result<std::unique_ptr<ControlPlane>> ControlPlane::start() { return start(Options{}); }

Result<std::unique_ptr<ControlPlane>> ControlPlane::start(Options options) {
  for (const char* program : {"etcd", "kube-apiserver"})
    if (auto found = real_program(program); !found) return tl::unexpected(found.error());
  std::unique_ptr<ControlPlane> plane(new ControlPlane);
  plane->options_ = std::move(options);

  Result<net::KeyPair> authority = net::make_authority("berth-e2e");
  if (!authority) return tl::unexpected(authority.error());
  plane->authority_ = *authority;
  Result<net::KeyPair> server =
      net::issue_certificate(*authority, {.common_name = "kube-apiserver",
                                          .dns_names = {"localhost", "kubernetes.default.svc"},
                                          .ip_addresses = {"127.0.0.1"}});
  if (!server) return tl::unexpected(server.error());
  plane->token_ = fmt::format("{:016x}", Random::from_entropy().next());
  const TempFolder& folder = plane->folder_;
  const fs::path ca = folder.write("ca.crt", authority->certificate_pem);
  folder.write("server.crt", server->certificate_pem);
  folder.write("server.key", server->key_pem);
  folder.write("tokens.csv", plane->token_ + ",admin,1,system:masters\n");

  if (auto etcd = plane->start_etcd(); !etcd) return tl::unexpected(etcd.error());
  // Another process may take a port between our choice and the server's bind: then choose again.
  for (int attempt = 0;; ++attempt) {
    plane->port_ = free_port();
    Result<Ok> up = plane->start_api_server();
    if (up) break;
    if (attempt == 2) return tl::unexpected(up.error());
  }
  plane->kubeconfig_ = folder.write("kubeconfig", kubeconfig_text(plane->url(), ca, plane->token_));
  return plane;
}

ControlPlane::~ControlPlane() {
  if (api_server_) kill_api_server();  // a graceful end would drain watches for a minute
}

std::string ControlPlane::url() const { return fmt::format("https://127.0.0.1:{}", port_); }

fs::path ControlPlane::elsewhere_kubeconfig() const {
  return folder_.write("elsewhere", kubeconfig_text(fmt::format("https://127.0.0.1:{}", elsewhere_),
                                                    folder_.path() / "ca.crt", token_));
}

Result<Ok> ControlPlane::start_etcd() {
  for (int attempt = 0; attempt < 3; ++attempt) {
    etcd_port_ = free_port();
    const std::string client = fmt::format("http://127.0.0.1:{}", etcd_port_);
    const std::string peer = fmt::format("http://127.0.0.1:{}", free_port());
    std::vector<std::string> args{"--data-dir=" + (folder_.path() / "etcd").string(),
                                  "--listen-client-urls=" + client,
                                  "--advertise-client-urls=" + client,
                                  "--listen-peer-urls=" + peer,
                                  "--initial-advertise-peer-urls=" + peer,
                                  "--initial-cluster=default=" + peer,
                                  "--unsafe-no-fsync",  // nothing here outlives the machine
                                  "--quota-backend-bytes=4294967296",
                                  "--log-level=warn"};
    args.insert(args.end(), options_.etcd_flags.begin(), options_.etcd_flags.end());
    auto child = start_program("etcd", std::move(args));
    if (!child) return tl::unexpected(child.error());
    etcd_ = std::move(*child);
    const bool up = eventually(kReady, [&] {
      return !etcd_->running() || post_to_etcd("/v3/maintenance/status", "{}").has_value();
    });
    if (up && etcd_->running()) return Ok{};
  }
  return fail(Reason::kServiceUnavailable, "etcd does not start:\n" + etcd_->log_tail());
}

Result<Ok> ControlPlane::start_api_server() { return launch_api_server(port_); }

Result<Ok> ControlPlane::start_api_server_elsewhere() {
  elsewhere_ = free_port();
  return launch_api_server(elsewhere_);
}

Result<Ok> ControlPlane::launch_api_server(std::uint16_t port) {
  const auto file = [&](const char* name) { return (folder_.path() / name).string(); };
  std::vector<std::string> args{fmt::format("--etcd-servers=http://127.0.0.1:{}", etcd_port_),
                                "--bind-address=127.0.0.1",
                                fmt::format("--secure-port={}", port),
                                "--tls-cert-file=" + file("server.crt"),
                                "--tls-private-key-file=" + file("server.key"),
                                "--client-ca-file=" + file("ca.crt"),
                                "--token-auth-file=" + file("tokens.csv"),
                                "--authorization-mode=RBAC",
                                "--service-account-issuer=https://kubernetes.default.svc",
                                "--service-account-key-file=" + file("server.crt"),
                                "--service-account-signing-key-file=" + file("server.key"),
                                "--service-cluster-ip-range=10.0.0.0/24",
                                "--shutdown-delay-duration=0s"};
  // Without kube-controller-manager nobody makes the service accounts that it asks for.
  if (!options_.service_accounts) args.push_back("--disable-admission-plugins=ServiceAccount");
  args.insert(args.end(), options_.api_server_flags.begin(), options_.api_server_flags.end());
  auto child = start_program("kube-apiserver", std::move(args));
  if (!child) return tl::unexpected(child.error());
  api_server_ = std::move(*child);
  const bool up =
      eventually(kReady, [&] { return !api_server_->running() || get(port, "/readyz") == "ok"; });
  if (up && api_server_->running()) return Ok{};
  return fail(Reason::kServiceUnavailable,
              "kube-apiserver is not ready:\n" + api_server_->log_tail());
}

void ControlPlane::kill_api_server() {
  api_server_->signal(SIGKILL);
  api_server_->wait(std::chrono::seconds(10));
}

Result<std::uint64_t> ControlPlane::compact() {
  const auto status = post_to_etcd("/v3/maintenance/status", "{}");
  if (!status) return tl::unexpected(status.error());
  const std::string revision = json::Slice(*status)["header"]["revision"].text();
  const auto done = post_to_etcd("/v3/kv/compaction",
                                 fmt::format(R"({{"revision":"{}","physical":true}})", revision));
  if (!done) return tl::unexpected(done.error());
  return std::strtoull(revision.c_str(), nullptr, 10);
}

Result<std::unique_ptr<Child>> ControlPlane::start_program(const std::string& name,
                                                           std::vector<std::string> args) {
  return start_real(name, std::move(args), folder_);
}

std::string ControlPlane::log_tails(std::size_t lines) const {
  std::string all;
  for (const Child* child : {etcd_.get(), api_server_.get()})
    if (child != nullptr) all += "--- " + child->name() + "\n" + child->log_tail(lines);
  return all;
}

// A client of its own for each question: no connection survives to a server that was killed.
Result<std::string> exchange(TestLoop& loop, net::HttpClientOptions options,
                             net::HttpRequest request) {
  std::unique_ptr<net::HttpClient> client;
  Result<std::string> out = std::string();
  loop.run([&] {
    auto made = net::HttpClient::create(loop.executor(), std::move(options));
    if (made)
      client = std::move(*made);
    else
      out = tl::unexpected(made.error());
  });
  if (!out) return out;
  auto reply = loop.ask<net::HttpResponse>(10s, [&](Done<net::HttpResponse> done) {
    client->call(std::move(request), loop.executor().clock().now() + 5s, std::move(done));
  });
  loop.run([&] { client.reset(); });
  if (!reply) return tl::unexpected(reply.error());
  if (reply->status != 200) return fail(reason_of_http_code(reply->status), reply->body);
  return reply->body;
}

Result<std::string> ControlPlane::get(std::uint16_t port, const std::string& path) {
  net::HttpRequest request{.target = path};
  request.headers.add("Authorization", "Bearer " + token_);
  return exchange(loop_,
                  {.origin = {.tls = true, .host = "127.0.0.1", .port = port},
                   .tls = {.ca_pem = authority_.certificate_pem}},
                  std::move(request));
}

Result<std::string> ControlPlane::post_to_etcd(const std::string& path, std::string body) {
  net::HttpRequest request{.method = "POST", .target = path, .body = std::move(body)};
  request.headers.add("Content-Type", "application/json");
  return exchange(loop_, {.origin = {.tls = false, .host = "127.0.0.1", .port = etcd_port_}},
                  std::move(request));
}

}  // namespace berth::e2e
