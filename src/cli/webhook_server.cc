// SPDX-License-Identifier: Apache-2.0
#include "cli/webhook_server.h"

#include <charconv>

#include <fmt/format.h>

#include "cli/listener.h"
#include "controllers/admission/make_certificate.h"

namespace berth::cli {
namespace {

admission::Accounts accounts_of(const WebhookFlags& flags) {
  admission::Accounts out;
  for (const char* name :
       {"berth-controllers", "berth-gateway", "berth-extender", "berth-scheduler"})
    out.ours.insert(admission::service_account(flags.ns, name));
  out.ours.insert(admission::service_account("kube-system", "berth-scheduler"));
  out.ours.insert(flags.trusted.begin(), flags.trusted.end());
  return out;
}

}  // namespace

void WebhookFlags::add_to(Command& command) {
  command
      .flag("--webhook-port", &port,
            "answer API servers here, over HTTPS, and have them ask; 0: a free port; default: "
            "they are not asked",
            "PORT")
      .flag("--webhook-address", &address, "and on this address", "IP")
      .flag("--webhook-host", &host,
            "API servers reach this process at that name or address; default: the Service "
            "berth-webhooks",
            "HOST")
      .flag("--webhook-namespace", &ns, "where the Service and the certificate's Secret are", "NS")
      .flag("--trusted-account", &trusted,
            "besides Berth's own accounts, one that may write what Berth says of objects", "USER");
}

Result<std::uint16_t> WebhookFlags::checked_port() const {
  std::int64_t number = -1;
  const char* const end = port.data() + port.size();
  const auto [stop, error] = std::from_chars(port.data(), end, number);
  if (error != std::errc() || stop != end)
    return tl::unexpected(
        usage_error(fmt::format("--webhook-port {}: a port is 0 to 65535 (0: a free one)", port)));
  return port_of("--webhook-port", number);
}

WebhookServer::WebhookServer(Scope& scope, client::Transport& transport, Metrics& metrics,
                             Logger log, const Random& random, const WebhookFlags& flags,
                             std::optional<kube::Key> lease, std::function<bool()> leads)
    : scope_(scope),
      transport_(transport),
      log_(std::move(log)),
      random_(random),
      flags_(flags),
      leads_(std::move(leads)),
      feeds_(scope, transport, random.fork("admission"),
             {.accounts = accounts_of(flags),
              .slot_resource = flags.slot_resource,
              .lease = std::move(lease)}),
      door_(
          scope.executor(), [this] { return feeds_.now(); }, metrics) {}

Result<Ok> WebhookServer::start() {
  const auto port = flags_.checked_port();
  if (!port) return tl::unexpected(port.error());
  controllers::WebhookKeeperOptions options;
  options.secret.ns = options.place.service_ns = flags_.ns;
  options.place.exempt = {"kube-system", flags_.ns};
  if (!flags_.host.empty()) options.place.url = fmt::format("https://{}", flags_.host);
  // Until the one that API servers trust is known; nobody asks before.
  const auto first = controllers::make_certificate(options.place, std::chrono::hours(24));
  if (!first) return tl::unexpected(first.error());
  net::HttpServerOptions http = controllers::AdmissionDoor::server_options();
  http.address = flags_.address;
  http.port = *port;
  http.tls = net::TlsServerOptions{.certificate_pem = first->certificate, .key_pem = first->key};
  auto listening = net::HttpServer::start(scope_.executor(), std::move(http), door_);
  if (!listening) return tl::unexpected(listening.error());
  server_ = *std::move(listening);
  if (!flags_.host.empty())
    options.place.url = fmt::format("https://{}:{}", flags_.host, server_->port());
  log_.info("webhooks are answered", {{"port", static_cast<std::int64_t>(server_->port())}});
  keeper_ = std::make_unique<controllers::WebhookKeeper>(
      scope_, transport_, random_.fork("keeper"), log_, std::move(options),
      controllers::WebhookKeeperMeans{
          .make = &controllers::make_certificate,
          .serve =
              [this](const admission::FreshCertificate& one) {
                return server_->use({.certificate_pem = one.certificate, .key_pem = one.key});
              },
          .leads = leads_,
          .asks_about_all_pods = [this] { return feeds_.asks_about_all_pods(); }});
  feeds_.start();
  keeper_->start();
  return Ok{};
}

}  // namespace berth::cli
