// SPDX-License-Identifier: Apache-2.0
#include "apiserver/auth/authenticator.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/names.h"

namespace berth::apiserver {

namespace {

constexpr std::string_view kAuthenticated = "system:authenticated";
constexpr std::string_view kUnauthenticated = "system:unauthenticated";
constexpr std::string_view kAccountPrefix = "system:serviceaccount:";
constexpr const char* kCredentialId = "authentication.kubernetes.io/credential-id";
constexpr Duration kLeeway = std::chrono::minutes(1);  // k8s 1.36: of the library it uses

bool has(const std::vector<std::string>& list, std::string_view one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

kube::User authenticated(kube::User user) {
  if (!has(user.groups, kAuthenticated) && !has(user.groups, kUnauthenticated))
    user.groups.emplace_back(kAuthenticated);
  return user;
}

std::string go_list(const std::vector<std::string>& list) {  // %q
  std::string out = "[";
  for (const std::string& each : list) {
    if (out.size() > 1) out += ' ';
    out += json::quoted(each);
  }
  return out + "]";
}

tl::unexpected<Error> unauthorized(std::string text) {
  return fail(Reason::kUnauthorized, std::move(text));
}

struct AccountName {
  std::string_view ns, name;
};
std::optional<AccountName> account_of(std::string_view user) {
  if (!user.starts_with(kAccountPrefix)) return std::nullopt;
  user.remove_prefix(kAccountPrefix.size());
  const std::size_t colon = user.find(':');
  if (colon == std::string_view::npos || user.find(':', colon + 1) != std::string_view::npos)
    return std::nullopt;
  const AccountName found{user.substr(0, colon), user.substr(colon + 1)};
  if (!kube::check_dns_label(found.ns).empty() || !kube::check_dns_subdomain(found.name).empty())
    return std::nullopt;
  return found;
}

}  // namespace

kube::User service_account_user(std::string_view ns, std::string_view name, std::string_view uid) {
  return {.name = fmt::format("{}{}:{}", kAccountPrefix, ns, name),
          .uid = std::string(uid),
          .groups = {"system:serviceaccounts", fmt::format("system:serviceaccounts:{}", ns)}};
}

TokenAuthenticator::TokenAuthenticator(const Store& store, const ServiceAccountTokens& tokens,
                                       Authorizer& authorizer, AuthenticatorOptions options)
    : store_(store),
      tokens_(tokens),
      authorizer_(authorizer),
      anonymous_(options.anonymous),
      audiences_(std::move(options.audiences)) {
  if (audiences_.empty()) audiences_.push_back(tokens.issuer());
  for (FixedToken& each : options.tokens)
    fixed_[sha256(each.token)] = authenticated(std::move(each.user));
}

Result<kube::User> TokenAuthenticator::authenticate(const Credentials& shown, WallTime now) {
  kube::User user;
  if (!shown.common_name.empty()) {
    user = authenticated(
        {.name = shown.common_name, .uid = shown.certificate_uid, .groups = shown.organizations});
    if (!shown.certificate_sha256.empty())
      user.extra[kCredentialId] = {"X509SHA256=" + shown.certificate_sha256};
  } else if (!shown.bearer_token.empty()) {
    auto known = review(shown.bearer_token, audiences_, now);
    if (!known) return unauthorized("Unauthorized");
    user = std::move(known->user);
  } else if (anonymous_) {
    user = {.name = "system:anonymous", .groups = {std::string(kUnauthenticated)}};
  } else {
    return unauthorized("Unauthorized");
  }
  const bool acts = !shown.as_user.empty() || !shown.as_groups.empty() || !shown.as_uid.empty() ||
                    !shown.as_extra.empty();
  return acts ? impersonate(user, shown) : user;
}

Result<TokenAuthenticator::Known> TokenAuthenticator::review(std::string_view token,
                                                             const std::vector<std::string>& asked,
                                                             WallTime now) const {
  const std::vector<std::string>& audiences = asked.empty() ? audiences_ : asked;
  if (const auto found = fixed_.find(sha256(token)); found != fixed_.end()) {
    Known known{found->second, {}};
    for (const std::string& audience : audiences)
      if (has(audiences_, audience)) known.audiences.push_back(audience);
    if (known.audiences.empty()) return unauthorized("invalid bearer token");
    return known;
  }
  if (!tokens_.issued_here(token)) return unauthorized("invalid bearer token");
  auto known = service_account(token, audiences, now);
  if (!known) return unauthorized(fmt::format("[invalid bearer token, {}]", known.error().message));
  return known;
}

Result<TokenAuthenticator::Known> TokenAuthenticator::service_account(
    std::string_view token, const std::vector<std::string>& asked, WallTime now) const {
  const Result<TokenClaims> claims = tokens_.read(token);
  if (!claims) return tl::unexpected(claims.error());
  std::vector<std::string> audiences;
  for (const std::string& audience : claims->audiences)
    if (has(asked, audience)) audiences.push_back(audience);
  if (audiences.empty())
    return unauthorized(fmt::format("token audiences {} is invalid for the target audiences {}",
                                    go_list(claims->audiences), go_list(asked)));
  if (auto there = still_there(*claims, now); !there) return tl::unexpected(there.error());

  kube::User user =
      authenticated(service_account_user(claims->ns, claims->account.name, claims->account.uid));
  if (!claims->id.empty()) user.extra[kCredentialId] = {"JTI=" + claims->id};
  if (claims->node) {
    user.extra["authentication.kubernetes.io/node-name"] = {claims->node->name};
    if (!claims->node->uid.empty())
      user.extra["authentication.kubernetes.io/node-uid"] = {claims->node->uid};
  }
  if (claims->pod) {
    user.extra["authentication.kubernetes.io/pod-name"] = {claims->pod->name};
    user.extra["authentication.kubernetes.io/pod-uid"] = {claims->pod->uid};
  }
  return Known{std::move(user), std::move(audiences)};
}

// Its time, its account, and what it was bound to. What is being deleted counts for another minute.
Result<Ok> TokenAuthenticator::still_there(const TokenClaims& claims, WallTime now) const {
  const auto at = [](std::int64_t seconds) { return WallTime{seconds * 1'000'000'000}; };
  if (claims.not_before != 0 && now + kLeeway < at(claims.not_before))
    return unauthorized("service account token is not valid yet");
  if (claims.expires != 0 && now - kLeeway > at(claims.expires))
    return unauthorized("service account token has expired");
  if (claims.issued != 0 && now + kLeeway < at(claims.issued))
    return unauthorized("service account token is issued in the future");
  const auto gone = [&](const kube::Object& object) {
    const auto deleted = object.deleted();
    return deleted && *deleted < now - kLeeway;
  };

  const kube::Object* account = store_.get(kube::kServiceAccount, {claims.ns, claims.account.name});
  if (account == nullptr)
    return unauthorized(
        fmt::format("serviceaccounts {} not found", json::quoted(claims.account.name)));
  if (account->uid() != claims.account.uid)
    return unauthorized(fmt::format("service account UID ({}) does not match claim ({})",
                                    account->uid(), claims.account.uid));
  if (gone(*account))
    return unauthorized(
        fmt::format("service account {}/{} has been deleted", claims.ns, claims.account.name));

  const auto holds = [&](const std::optional<TokenClaims::Reference>& reference, kube::KindId kind,
                         std::string_view ns, std::string_view what) -> Result<Ok> {
    if (!reference) return Ok{};
    const kube::Object* found = store_.get(kind, {ns, reference->name});
    if (found == nullptr || gone(*found))
      return unauthorized("service account token has been invalidated");
    if (found->uid() != reference->uid)
      return unauthorized(
          fmt::format("{} UID ({}) does not match service account {} ref claim ({})", what,
                      found->uid(), what, reference->uid));
    return Ok{};
  };
  if (auto ok = holds(claims.secret, kube::kSecret, claims.ns, "secret"); !ok) return ok;
  if (auto ok = holds(claims.pod, kube::kPod, claims.ns, "pod"); !ok) return ok;
  // Of a pod's token the node is only told.
  if (claims.pod) return Ok{};
  return holds(claims.node, kube::kNode, "", "node");
}

Result<kube::User> TokenAuthenticator::impersonate(const kube::User& who,
                                                   const Credentials& shown) const {
  if (shown.as_user.empty()) {
    std::string groups = "[]string(nil)";
    if (!shown.as_groups.empty()) {
      groups = "[]string{";
      for (const std::string& group : shown.as_groups)
        groups += (groups.back() == '{' ? "" : ", ") + json::quoted(group);
      groups += "}";
    }
    std::string extra = "(nil)";
    if (!shown.as_extra.empty()) {
      extra = "{";
      for (const auto& [key, values] : shown.as_extra) {
        extra += fmt::format("{}{}:[]string{{", extra.size() > 1 ? ", " : "", json::quoted(key));
        for (const std::string& value : values)
          extra += (extra.back() == '{' ? "" : ", ") + json::quoted(value);
        extra += "}";
      }
      extra += "}";
    }
    return fail(Reason::kBadRequest,
                fmt::format("requested &user.DefaultInfo{{Name:\"\", UID:{}, Groups:{}, "
                            "Extra:map[string][]string{}}} without impersonating a user name",
                            json::quoted(shown.as_uid), groups, extra));
  }
  const auto may = [&](Attributes wants) -> Result<Ok> {
    wants.verb = "impersonate";
    const Decision decision = authorizer_.authorize(who, wants);
    if (!decision.allowed) return tl::unexpected(forbidden(who, wants, decision.reason));
    return Ok{};
  };
  kube::User user{.name = shown.as_user,
                  .uid = shown.as_uid,
                  .groups = shown.as_groups,
                  .extra = shown.as_extra};
  Attributes first;
  if (const auto account = account_of(shown.as_user)) {
    first = {.verb = {}, .resource = "serviceaccounts", .ns = account->ns, .name = account->name};
    if (user.groups.empty())
      user.groups = service_account_user(account->ns, account->name, "").groups;
  } else {
    first = {.verb = {}, .resource = "users", .name = shown.as_user};
  }
  if (auto ok = may(first); !ok) return tl::unexpected(ok.error());
  for (const std::string& group : shown.as_groups)
    if (auto ok = may({.verb = {}, .resource = "groups", .name = group}); !ok)
      return tl::unexpected(ok.error());
  if (!shown.as_uid.empty())
    if (auto ok = may({.verb = {},
                       .group = "authentication.k8s.io",
                       .version = "v1",
                       .resource = "uids",
                       .name = shown.as_uid});
        !ok)
      return tl::unexpected(ok.error());
  for (const auto& [key, values] : shown.as_extra)
    for (const std::string& value : values)
      if (auto ok = may({.verb = {},
                         .group = "authentication.k8s.io",
                         .version = "v1",
                         .resource = "userextras",
                         .subresource = key,
                         .name = value});
          !ok)
        return tl::unexpected(ok.error());
  if (user.name != "system:anonymous") return authenticated(std::move(user));
  if (!has(user.groups, kUnauthenticated)) user.groups.emplace_back(kUnauthenticated);
  return user;
}

}  // namespace berth::apiserver
