// SPDX-License-Identifier: Apache-2.0
#include "scheduler/serving/endpoints.h"

#include <fmt/format.h>

#include "base/lower.h"
#include "json/writer.h"
#include "kube/forbidden.h"
#include "kube/status.h"

namespace berth::scheduler {
namespace {

constexpr Duration kLongestCheck = 30s;
constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

net::HttpResponse typed(std::string_view type, std::string body) {
  net::HttpResponse reply{.body = std::move(body)};
  reply.headers.add("Content-Type", std::string(type));
  return reply;
}

net::HttpResponse status_reply(const Error& error) {
  net::HttpResponse reply = typed("application/json", kube::status_json(error));
  reply.status = http_code_of(error.reason);
  reply.headers.add("X-Content-Type-Options", "nosniff");
  return reply;
}

}  // namespace

// One request on its way through the checks.
struct Endpoints::Visit {
  std::string method, path, query, target;
  mutable net::HttpReply reply;

  void send(net::HttpResponse response, net::Gzip gzip = net::Gzip::kNever) const {
    response.headers.set("Cache-Control", "no-cache, private");
    reply.send(std::move(response), gzip);
  }
};

Endpoints::Endpoints(Scope& scope, Authenticator& authenticator, Authorizer& authorizer,
                     ServingContent content, const Logger& log)
    : scope_(scope), authenticator_(authenticator), authorizer_(authorizer), log_(log) {
  add_health("/healthz", std::move(content.healthz));
  add_health("/livez", std::move(content.livez));
  add_health("/readyz", std::move(content.readyz));
  add_text("/metrics", std::string(kMetricsType), std::move(content.metrics));
  if (content.configz)
    add_text("/configz", "application/json", [json = std::move(content.configz)] {
      return fmt::format("{{\"componentconfig\":{}}}", json());
    });
  if (!content.version.empty())
    add_text("/version", "application/json", [json = content.version] { return json; });
  if (content.resources)
    pages_["/metrics/resources"] = [this, ask = std::move(content.resources)](const Visit& visit) {
      ask(scope_.done<std::string>(kLongestCheck, [visit](Result<std::string> text) {
        if (!text) return visit.send(text_reply(503, text.error().message + "\n"));
        visit.send(typed(kMetricsType, std::move(*text)), net::Gzip::kIfLarge);
      }));
    };
}

void Endpoints::add_health(const std::string& path, std::vector<HealthCheck> checks) {
  if (checks.empty()) checks.push_back({"ping", [] { return Result<Ok>(Ok{}); }});
  for (const HealthCheck& check : checks)
    pages_[path + "/" + check.name] = [check](const Visit& visit) {
      visit.send(show_check(check));
    };
  pages_[path] = [this, name = path.substr(1), all = std::move(checks)](const Visit& visit) {
    std::string why;
    visit.send(show_health(name, all, visit.query, &why));
    if (!why.empty()) log_.warn("a health check fails", {{"endpoint", name}, {"why", why}});
  };
}

void Endpoints::add_text(const std::string& path, std::string type,
                         std::function<std::string()> text) {
  if (!text) return;
  pages_[path] = [t = std::move(type), make = std::move(text)](const Visit& visit) {
    visit.send(typed(t, make()), net::Gzip::kIfLarge);
  };
}

void Endpoints::handle(net::HttpRequest request, const net::HttpPeer& peer, net::HttpReply reply) {
  const std::string_view target = request.target;
  const std::size_t end = std::min(target.find_first_of("?#"), target.size());
  const auto path = net::percent_decode(target.substr(0, end));
  const auto visit = std::make_shared<Visit>(
      Visit{.method = request.method,
            .path = path.value_or(""),
            .query = std::string(end < target.size() ? target.substr(end + 1) : ""),
            .target = request.target,
            .reply = std::move(reply)});
  if (!path || !path->starts_with('/')) return visit->send(text_reply(400, "bad path\n"));
  authenticator_.authenticate(
      request, peer, scope_.done<UserInfo>(kLongestCheck, [this, visit](Result<UserInfo> user) {
        if (user) return authorize(visit, *user);
        visit->send(status_reply({.reason = Reason::kUnauthorized, .message = "Unauthorized"}));
      }));
}

void Endpoints::authorize(const std::shared_ptr<Visit>& visit, const UserInfo& user) {
  const std::string verb = lower(visit->method);
  authorizer_.authorize(
      user, verb, visit->path,
      scope_.done<Verdict>(kLongestCheck, [this, visit, verb,
                                           name = user.name](Result<Verdict> verdict) {
        if (!verdict)
          return visit->send(text_reply(
              500,
              kube::sanitized(fmt::format("Internal Server Error: {}: {}\n",
                                          json::quoted(visit->target), verdict.error().message))));
        if (verdict->allowed) return serve(*visit);
        visit->send(status_reply(
            {.reason = Reason::kForbidden,
             .message = kube::forbidden(name, {.verb = verb, .path = visit->path}, verdict->reason)
                            .message}));
      }));
}

void Endpoints::serve(const Visit& visit) {
  const auto page = pages_.find(visit.path);
  if (page == pages_.end()) return visit.send(text_reply(404, "404 page not found\n"));
  if (visit.method != "GET" && visit.method != "HEAD") {
    net::HttpResponse refused = text_reply(405, "only GET and HEAD are served here\n");
    refused.headers.add("Allow", "GET, HEAD");
    return visit.send(std::move(refused));
  }
  page->second(visit);
}

}  // namespace berth::scheduler
