// SPDX-License-Identifier: Apache-2.0
#include "gateway/credentials.h"

#include <algorithm>

#include "base/base64.h"
#include "json/cursor.h"
#include "json/slice.h"

namespace berth::gateway {
namespace {

constexpr std::string_view kProtocolPrefix = "base64url.bearer.authorization.k8s.io.";

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::string bearer_of(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  if (header.size() < kScheme.size() || !net::same_token(header.substr(0, 6), "bearer") ||
      header[6] != ' ')
    return {};
  return std::string(trimmed(header.substr(kScheme.size())));
}

}  // namespace

Result<std::optional<std::string>> token_in_protocols(const net::Headers& headers) {
  const auto broken = fail(Reason::kUnauthorized, "Unauthorized");
  std::optional<std::string> token;
  bool others = false;
  for (std::string_view list : headers.all("Sec-WebSocket-Protocol")) {
    while (!list.empty()) {
      const std::string_view part = list.substr(0, list.find(','));
      list.remove_prefix(std::min(part.size() + 1, list.size()));
      const std::string_view name = trimmed(part);
      if (!name.starts_with(kProtocolPrefix)) {
        others = true;
        continue;
      }
      if (token) return broken;
      token = from_base64url(name.substr(kProtocolPrefix.size()));
      if (!token || token->empty()) return broken;
    }
  }
  if (token && !others) return broken;
  return token;
}

Proof proof_of(const net::Headers& headers, const net::HttpPeer& peer) {
  Proof proof;
  proof.token = bearer_of(headers.get("Authorization"));
  if (!proof.token.empty()) return proof;
  const auto offered = token_in_protocols(headers);
  proof.broken = !offered;
  if (offered && *offered) proof.token = **offered;
  if (proof.token.empty() && !proof.broken) proof.certificate = peer.identity;
  return proof;
}

std::optional<WallTime> token_end(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t second = first == token.npos ? token.npos : token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos) return std::nullopt;
  const auto claims = from_base64url(token.substr(first + 1, second - first - 1));
  if (!claims || !json::check(*claims)) return std::nullopt;
  const auto seconds = json::Slice(*claims)["exp"].integer();
  // Later than the year 2200 is as good as never.
  if (!seconds || *seconds <= 0 || *seconds > 7'258'118'400) return std::nullopt;
  return WallTime{*seconds * 1'000'000'000};
}

}  // namespace berth::gateway
