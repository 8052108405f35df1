// SPDX-License-Identifier: Apache-2.0
#include "apiserver/auth/service_account_tokens.h"

#include <fmt/format.h>

#include "apiserver/auth/sha256.h"
#include "base/base64.h"
#include "json/cursor.h"
#include "json/slice.h"
#include "json/value.h"
#include "json/writer.h"

namespace berth::apiserver {

namespace {

constexpr std::string_view kHeader = R"({"alg":"HS256","kid":"berth"})";
constexpr std::size_t kMostBytes = 16 << 10;

struct Parts {
  std::string_view header, payload, signature, signed_part;
};
std::optional<Parts> split(std::string_view token) {
  const std::size_t first = token.find('.');
  if (first == std::string_view::npos || token.size() > kMostBytes) return std::nullopt;
  const std::size_t second = token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos)
    return std::nullopt;
  return Parts{token.substr(0, first), token.substr(first + 1, second - first - 1),
               token.substr(second + 1), token.substr(0, second)};
}

// Decoded, and good JSON; "" otherwise.
std::string json_of(std::string_view part) {
  std::optional<std::string> text = from_base64url(part);
  json::Arena arena;
  if (!text || !json::parse(*text, arena)) return "";
  return std::move(*text);
}

void write_reference(json::Writer& w, std::string_view key,
                     const std::optional<TokenClaims::Reference>& reference) {
  if (!reference) return;
  w.member(key).object().member("name").string(reference->name);
  if (!reference->uid.empty()) w.member("uid").string(reference->uid);
  w.end();
}

std::optional<TokenClaims::Reference> read_reference(json::Slice slice) {
  if (!slice.is_object()) return std::nullopt;
  return TokenClaims::Reference{slice["name"].text(), slice["uid"].text()};
}

}  // namespace

ServiceAccountTokens::ServiceAccountTokens(std::string key, std::string issuer)
    : key_(std::move(key)), issuer_(std::move(issuer)) {}

std::string ServiceAccountTokens::mint(const TokenClaims& claims) const {
  json::Writer w;
  w.object().member("aud").array();
  for (const std::string& audience : claims.audiences) w.string(audience);
  w.end();
  w.member("exp").integer(claims.expires).member("iat").integer(claims.issued);
  w.member("iss").string(issuer_).member("jti").string(claims.id);
  w.member("kubernetes.io").object().member("namespace").string(claims.ns);
  write_reference(w, "node", claims.node);
  write_reference(w, "pod", claims.pod);
  write_reference(w, "secret", claims.secret);
  write_reference(w, "serviceaccount", claims.account);
  if (claims.warn_after != 0) w.member("warnafter").integer(claims.warn_after);
  w.end();
  w.member("nbf").integer(claims.not_before);
  w.member("sub").string(
      fmt::format("system:serviceaccount:{}:{}", claims.ns, claims.account.name));
  w.end();
  const std::string body = base64url(kHeader) + "." + base64url(w.text());
  return body + "." + base64url(bytes_of(hmac_sha256(key_, body)));
}

bool ServiceAccountTokens::issued_here(std::string_view token) const {
  const std::optional<Parts> parts = split(token);
  if (!parts) return false;
  const std::string payload = json_of(parts->payload);
  return json::Slice(payload)["iss"].equals(issuer_);
}

Result<TokenClaims> ServiceAccountTokens::read(std::string_view token) const {
  const auto bad = [](std::string text) { return fail(Reason::kUnauthorized, std::move(text)); };
  const std::optional<Parts> parts = split(token);
  if (!parts) return bad("the token is no JSON web token");
  const std::string header = json_of(parts->header);
  // Whatever the header says, there is one way to sign; "none" or another key's are no ways.
  if (!json::Slice(header)["alg"].equals("HS256")) return bad("invalid signature, no keys found");
  const std::optional<std::string> signature = from_base64url(parts->signature);
  Digest given{};
  if (!signature || signature->size() != given.size()) return bad("invalid signature");
  std::copy(signature->begin(), signature->end(), given.begin());
  if (!same_digest(given, hmac_sha256(key_, parts->signed_part))) return bad("invalid signature");

  const std::string payload = json_of(parts->payload);
  const json::Slice claims(payload), own = claims["kubernetes.io"];
  if (!claims["iss"].equals(issuer_))
    return bad(fmt::format("token issuer {} is invalid", json::quoted(claims["iss"].text())));
  TokenClaims out{
      .ns = own["namespace"].text(),
      .account = {own["serviceaccount"]["name"].text(), own["serviceaccount"]["uid"].text()},
      .pod = read_reference(own["pod"]),
      .secret = read_reference(own["secret"]),
      .node = read_reference(own["node"]),
      .issued = claims["iat"].integer().value_or(0),
      .not_before = claims["nbf"].integer().value_or(0),
      .expires = claims["exp"].integer().value_or(0),
      .warn_after = own["warnafter"].integer().value_or(0),
      .id = claims["jti"].text()};
  for (const json::Slice audience : claims["aud"].elements())
    out.audiences.push_back(audience.text());
  return out;
}

}  // namespace berth::apiserver
