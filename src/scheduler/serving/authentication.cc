// SPDX-License-Identifier: Apache-2.0
#include "scheduler/serving/authentication.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/lower.h"
#include "json/writer.h"
#include "net/http.h"

namespace berth::scheduler {
namespace {

const kube::Key kConfigMapKey{"kube-system", "extension-apiserver-authentication"};
constexpr std::string_view kAuthenticated = "system:authenticated";
constexpr std::string_view kUnauthenticated = "system:unauthenticated";
constexpr std::string_view kAnonymous = "system:anonymous";
constexpr Duration kReviewLimit = 10s;

Error unauthorized(std::string message) {
  return {.reason = Reason::kUnauthorized, .message = std::move(message)};
}

std::vector<std::string> texts(json::Slice list) {
  std::vector<std::string> out;
  for (const json::Slice item : list.elements()) out.push_back(item.text());
  return out;
}

UserInfo anonymous() {
  return {.name = std::string(kAnonymous), .groups = {std::string(kUnauthenticated)}};
}

// Everybody who proved something belongs to this group.
UserInfo proven(UserInfo user) {
  if (user.name == kAnonymous) return user;
  for (const std::string& group : user.groups)
    if (group == kAuthenticated || group == kUnauthenticated) return user;
  user.groups.emplace_back(kAuthenticated);
  return user;
}

bool starts_with_token(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && net::same_token(text.substr(0, prefix.size()), prefix);
}

// What a front proxy says about the user behind it; nothing when it says nothing.
std::optional<UserInfo> forwarded(const net::Headers& headers, const TrustedClients& trusted) {
  const auto first = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (const std::string_view value = headers.get(name); !value.empty())
        return std::string(value);
    return std::string();
  };
  UserInfo user{.name = first(trusted.user_headers), .uid = first(trusted.uid_headers)};
  if (user.name.empty()) return {};
  for (const std::string& name : trusted.group_headers)
    for (const std::string_view value : headers.all(name))
      if (!value.empty()) user.groups.emplace_back(value);
  for (const std::string& prefix : trusted.extra_prefixes)
    for (const auto& [name, value] : headers.items()) {
      if (!starts_with_token(name, prefix)) continue;
      const std::string key = lower(std::string_view(name).substr(prefix.size()));
      user.extra[net::percent_decode(key).value_or(key)].push_back(value);
    }
  return user;
}

// "Bearer x" in any case; "" where there is none.
std::string bearer_token(const net::Headers& headers) {
  std::string_view text = headers.get("Authorization");
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  if (!starts_with_token(text, "bearer ")) return {};
  text.remove_prefix(7);
  return std::string(text.substr(0, text.find_first_of(" \t")));
}

Result<UserInfo> read_review(const kube::Object& review) {
  const json::Slice status = review.status();
  if (!status["authenticated"].boolean()) {
    const std::string why = status["error"].text();
    return tl::unexpected(unauthorized(why.empty() ? "invalid bearer token" : why));
  }
  const json::Slice told = status["user"];
  UserInfo user{
      .name = told["username"].text(), .uid = told["uid"].text(), .groups = texts(told["groups"])};
  for (const auto [key, values] : told["extra"].members())
    user.extra[std::string(key)] = texts(values);
  return proven(std::move(user));
}

}  // namespace

Result<TrustedClients> read_trusted_clients(const kube::Object& config_map) {
  const json::Slice data = config_map.member("data");
  std::string problem;
  const auto list = [&](std::string_view key) {
    const std::string text = data[key].text();
    if (text.empty()) return std::vector<std::string>{};
    const bool good = json::check(text).has_value() && json::Slice(text).is_array();
    if (!good && problem.empty())
      problem = fmt::format("ConfigMap {}: {} is not a JSON list", config_map.key().text(), key);
    return good ? texts(json::Slice(text)) : std::vector<std::string>{};
  };
  TrustedClients read{.client_ca_pem = data["client-ca-file"].text(),
                      .proxy_ca_pem = data["requestheader-client-ca-file"].text(),
                      .proxy_names = list("requestheader-allowed-names"),
                      .user_headers = list("requestheader-username-headers"),
                      .uid_headers = list("requestheader-uid-headers"),
                      .group_headers = list("requestheader-group-headers"),
                      .extra_prefixes = list("requestheader-extra-headers-prefix")};
  if (!problem.empty()) return invalid(std::move(problem));
  return read;
}

Authenticator::Authenticator(Scope& scope, client::Transport* transport, Random random,
                             AuthenticationOptions options, const Logger& log)
    : scope_(scope),
      transport_(transport),
      random_(random),
      options_(std::move(options)),
      log_(log),
      limiter_(scope, {.qps = 200, .burst = 400}) {
  trusted_.client_ca_pem = options_.client_ca_pem;
  if (transport_ != nullptr)
    api_ = std::make_unique<client::Api>(
        scope_, *transport_, random_.fork("reviews"), &limiter_,
        client::RetryPolicy{
            .attempts = 5, .first = 500ms, .call_limit = kReviewLimit, .overall = kReviewLimit});
}

void Authenticator::start(Done<Ok> started) {
  if (transport_ == nullptr || options_.skip_lookup) {
    if (transport_ == nullptr)
      log_.warn(
          "no kubeconfig for authentication: tokens and client certificates other than those "
          "of --client-ca-file are not understood");
    return started(Ok{});
  }
  api_->get(kube::kConfigMap, kConfigMapKey,
            scope_.done<kube::Object>(
                kNoLimit, [this, d = std::move(started)](Result<kube::Object> found) mutable {
                  if (found) {
                    on_config_map(*found);
                  } else if (found.error().reason == Reason::kCancelled) {
                    return d(tl::unexpected(std::move(found.error())));
                  } else if (found.error().reason != Reason::kNotFound) {
                    std::string message = fmt::format(
                        "cannot read ConfigMap {}, which says whose client certificates "
                        "to trust: {}",
                        kConfigMapKey.text(), found.error().message);
                    if (!options_.tolerate_lookup_failure) {
                      found.error().message = std::move(message);
                      return d(tl::unexpected(std::move(found.error())));
                    }
                    log_.warn(message);
                  }
                  follow();
                  d(Ok{});
                }));
}

void Authenticator::follow() {
  config_maps_ = std::make_unique<client::Informer<>>(
      scope_, *transport_, random_.fork("config map"),
      client::InformerOptions{.feed = {.kind = kube::kConfigMap,
                                       .ns = kConfigMapKey.ns,
                                       .field_selector = "metadata.name=" + kConfigMapKey.name}});
  // k8s 1.36: what was read last stays when the ConfigMap goes.
  config_maps_->add_handler(
      {.added = [this](const kube::Object& map) { on_config_map(map); },
       .updated = [this](const kube::Object&, const kube::Object& map) { on_config_map(map); }});
  config_maps_->start();
}

void Authenticator::on_config_map(const kube::Object& map) {
  if (map.name() != kConfigMapKey.name) return;
  auto read = read_trusted_clients(map);
  if (!read) return log_.warn(read.error().message);
  if (!options_.client_ca_pem.empty()) read->client_ca_pem = options_.client_ca_pem;
  trusted_ = std::move(*read);
}

void Authenticator::authenticate(const net::HttpRequest& request, const net::HttpPeer& peer,
                                 Done<UserInfo> done) {
  // As upstream: what fails is noted, and the next way is tried.
  std::string problem;
  if (!peer.certificates.empty() && !trusted_.proxy_ca_pem.empty()) {
    const auto proxy = net::verify_client(peer.certificates, trusted_.proxy_ca_pem);
    const auto& names = trusted_.proxy_names;
    if (!proxy) {
      problem = proxy.error().message;
    } else if (!names.empty() &&
               std::find(names.begin(), names.end(), proxy->common_name) == names.end()) {
      problem = fmt::format("{} is not among the allowed front proxies", proxy->common_name);
    } else if (auto user = forwarded(request.headers, trusted_)) {
      return done(proven(std::move(*user)));
    }
  }
  if (!peer.certificates.empty() && !trusted_.client_ca_pem.empty()) {
    const auto client = net::verify_client(peer.certificates, trusted_.client_ca_pem);
    if (!client) {
      problem = client.error().message;
    } else if (!client->common_name.empty()) {
      return done(proven({.name = client->common_name,
                          .uid = client->uid,
                          .groups = client->organizations,
                          .extra = {{"authentication.kubernetes.io/credential-id",
                                     {"X509SHA256=" + client->sha256}}}}));
    }
  }
  const std::string token = bearer_token(request.headers);
  if (!token.empty() && transport_ != nullptr) return review(token, std::move(done));
  if (problem.empty()) return done(anonymous());
  log_.debug("a request is not authenticated", {{"peer", peer.address}, {"why", problem}});
  done(tl::unexpected(unauthorized(std::move(problem))));
}

void Authenticator::review(const std::string& token, Done<UserInfo> done) {
  const std::string key = net::sha256_hex(token);
  if (const auto* known = tokens_.find(key, scope_.executor().clock().now())) return done(*known);
  auto& waiting = asking_[key];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  json::Writer w;
  w.object().member("kind").string("TokenReview");
  w.member("apiVersion").string("authentication.k8s.io/v1");
  w.member("spec").object().member("token").string(token).end().end();
  api_->create(kube::kTokenReview, "", w.take(),
               scope_.done<kube::Object>(kReviewLimit, [this, key](Result<kube::Object> review) {
                 on_review(key, std::move(review));
               }));
}

void Authenticator::on_review(const std::string& key, Result<kube::Object> review) {
  Result<UserInfo> user = review ? read_review(*review) : tl::unexpected(review.error());
  // k8s 1.36: a plain "no" is kept as long as a "yes"; what came with an error is not.
  const bool plain = review && (user || review->status()["error"].text().empty());
  if (plain) tokens_.put(key, user, scope_.executor().clock().now(), options_.cache_ttl);
  if (!review) {
    log_.warn("a token could not be reviewed", {{"why", review.error().message}});
    user = tl::unexpected(unauthorized("the token could not be reviewed"));
  }
  auto waiting = std::move(asking_[key]);
  asking_.erase(key);
  for (Done<UserInfo>& done : waiting) done(user);
}

}  // namespace berth::scheduler
