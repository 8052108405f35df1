// SPDX-License-Identifier: Apache-2.0
#include "gateway/origin.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/writer.h"
#include "net/address.h"

namespace berth::gateway {
namespace {

std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, std::min(host.find(']'), host.size() - 1) + 1);
  return host.substr(0, host.find(':'));
}

// "127.0.0.1.evil.example" begins like one but is a name.
bool is_loopback_literal(std::string_view name) {
  const bool literal = name.starts_with('[') || name.find_first_not_of("0123456789.") == name.npos;
  return literal && net::is_loopback(name);
}

bool ours(const OriginRules& rules, std::string_view host) {
  const std::string_view name = without_port(host);
  if (net::same_token(name, "localhost") || is_loopback_literal(name)) return true;
  return std::any_of(rules.hosts.begin(), rules.hosts.end(), [&](const std::string& known) {
    return known == "*" || net::same_token(known, name);
  });
}

bool listed(const OriginRules& rules, std::string_view origin) {
  return std::find(rules.origins.begin(), rules.origins.end(), origin) != rules.origins.end();
}

}  // namespace

Result<Ok> check_origin(const OriginRules& rules, const net::Headers& headers) {
  const std::string_view host = headers.get("Host");
  if (host.empty() || !ours(rules, host))
    return fail(Reason::kForbidden,
                fmt::format("forbidden: this server does not go by the name {}; --host adds one",
                            json::quoted(host)));
  const std::string_view origin = headers.get("Origin");
  if (origin.empty() || listed(rules, origin)) return Ok{};
  const std::string own = fmt::format("{}://{}", rules.tls ? "https" : "http", host);
  if (net::same_token(origin, own)) return Ok{};
  return fail(Reason::kForbidden, fmt::format("forbidden: pages of {} may not call this server; "
                                              "--origin lets them",
                                              json::quoted(origin)));
}

void allow_origin(const OriginRules& rules, const net::Headers& request, net::Headers& answer) {
  if (rules.origins.empty()) return;
  answer.add("Vary", "Origin");
  const std::string_view origin = request.get("Origin");
  if (!listed(rules, origin)) return;
  answer.add("Access-Control-Allow-Origin", std::string(origin));
  answer.add("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE");
  answer.add("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID");
  answer.add("Access-Control-Max-Age", "600");
}

}  // namespace berth::gateway
