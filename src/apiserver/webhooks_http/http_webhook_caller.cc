// SPDX-License-Identifier: Apache-2.0
#include "apiserver/webhooks_http/http_webhook_caller.h"

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::apiserver {

namespace {

tl::unexpected<Error> unreachable(std::string text) {
  return fail(Reason::kUnreachable, std::move(text));
}

// What Go's client says of a reply that is no success.
std::string refusal_text(const net::HttpResponse& response) {
  if (response.status == 404) return "the server could not find the requested resource";
  if (response.status == 401) return "Unauthorized";
  if (response.status == 403) return "unknown";
  return fmt::format("an error on the server ({}) has prevented the request from succeeding",
                     json::quoted(response.body.substr(0, 2048)));
}

std::optional<std::int64_t> port_named(json::Slice ports, std::string_view name) {
  std::optional<std::int64_t> first;
  for (const json::Slice each : ports.elements()) {
    if (each["name"].equals(name) || (name.empty() && !each["name"].present()))
      return each["port"].integer();
    if (!first) first = each["port"].integer();
  }
  return ports.size() == 1 ? first : std::nullopt;
}

}  // namespace

Result<ServiceAddress> resolve_service(const Store& store, std::string_view ns,
                                       std::string_view name, std::int64_t port) {
  const kube::Object* service = store.get(kube::kService, {ns, name});
  if (service == nullptr)
    return unreachable(fmt::format("service {} not found", json::quoted(name)));
  std::optional<std::string> port_name;
  for (const json::Slice each : service->member("spec")["ports"].elements())
    if (each["port"].integer() == port) port_name = each["name"].text();
  if (!port_name)
    return unreachable(
        fmt::format("no service port {} found for service {}", port, json::quoted(name)));

  if (const kube::Object* endpoints = store.get(kube::kEndpoints, {ns, name}))
    for (const json::Slice subset : endpoints->member("subsets").elements())
      if (const auto number = port_named(subset["ports"], *port_name);
          number && subset["addresses"].size() > 0)
        return ServiceAddress{subset["addresses"][std::size_t{0}]["ip"].text(),
                              static_cast<std::uint16_t>(*number)};
  if (auto slices = store.list({.kind = kube::kEndpointSlice, .range = {.ns = std::string(ns)}}))
    for (const kube::Object& slice : slices->items) {
      if (slice.label("kubernetes.io/service-name") != name) continue;
      const auto number = port_named(slice.member("ports"), *port_name);
      if (!number) continue;
      for (const json::Slice each : slice.member("endpoints").elements())
        if (each["conditions"]["ready"].boolean(true) && each["addresses"].size() > 0)
          return ServiceAddress{each["addresses"][std::size_t{0}].text(),
                                static_cast<std::uint16_t>(*number)};
    }
  return unreachable(fmt::format("no endpoints available for service {}", json::quoted(name)));
}

HttpWebhookCaller::HttpWebhookCaller(Scope& home, Executor& io, const Store& store)
    : scope_(home), io_(io), store_(store) {}

Result<std::shared_ptr<net::HttpClient>> HttpWebhookCaller::client(const net::Origin& origin,
                                                                   const std::string& server_name,
                                                                   const std::string& ca) {
  const std::string key =
      fmt::format("{}:{}/{}/{}", origin.host, origin.port, server_name, net::sha256_hex(ca));
  for (auto at = clients_.begin(); at != clients_.end(); ++at)
    if (at->key == key) {
      clients_.splice(clients_.begin(), clients_, at);
      return clients_.front().client;
    }
  net::HttpClientOptions options{.origin = origin};
  options.tls.ca_pem = ca;
  options.tls.server_name = server_name;
  options.limits.response_body_bytes = kMostReplyBytes;
  auto made = net::HttpClient::create(io_, std::move(options));
  if (!made) return tl::unexpected(made.error());
  clients_.push_front({key, std::move(*made)});
  if (clients_.size() > kMostClients) clients_.pop_back();
  return clients_.front().client;
}

void HttpWebhookCaller::call(const WebhookTarget& target, std::string review, Duration timeout,
                             Done<std::string> done) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(timeout).count();
  const std::string shown =
      fmt::format("Post {}: ", json::quoted(fmt::format("{}?timeout={}s", target.url, seconds)));
  auto url = net::parse_url(target.url);
  if (!url) return done(unreachable(shown + url.error().message));
  if (!url->origin.tls) return done(unreachable(shown + "only https is spoken to webhooks"));
  net::Origin origin = url->origin;
  const std::string server_name = origin.host;
  if (!target.service_name.empty()) {
    auto address = resolve_service(store_, target.service_ns, target.service_name, origin.port);
    if (!address) return done(unreachable(shown + address.error().message));
    origin.host = address->host;
    origin.port = address->port;
  }
  auto reached = client(origin, server_name, target.ca_bundle);
  if (!reached) return done(unreachable(shown + reached.error().message));

  // The path with what parse_url has cut off its end.
  const std::size_t authority = target.url.find("://") + 3;
  const std::size_t path = target.url.find('/', authority);
  net::HttpRequest request{
      .method = "POST",
      .target = fmt::format("{}?timeout={}s",
                            path == std::string::npos ? "/" : target.url.substr(path), seconds),
      .body = std::move(review)};
  request.headers.add("Content-Type", "application/json");
  request.headers.add("Accept", "application/json, */*");
  request.headers.add("User-Agent", "kube-apiserver-admission");
  net::HttpClient& to = **reached;
  to.call(
      std::move(request), io_.clock().now() + timeout,
      scope_.done<net::HttpResponse>(kNoLimit, [shown, client = *reached, done = std::move(done)](
                                                   Result<net::HttpResponse> response) mutable {
        if (!response) {
          Error error = response.error();
          error.message = shown + error.message;
          return done(tl::unexpected(std::move(error)));
        }
        if (response->status < 200 || response->status > 299)
          return done(unreachable(refusal_text(*response)));
        done(std::move(response->body));
      }));
}

}  // namespace berth::apiserver
