// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "net/http_client.h"

namespace berth::net {
namespace {

tl::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return invalid(fmt::format("URL '{}': {}", text, why));
}

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_host(std::string_view host) {
  if (host.empty() || host.size() > 253) return false;
  for (const char c : host)
    if (!is_alphanumeric(c) && c != '-' && c != '.' && c != '_') return false;
  return true;
}

bool is_ipv6(std::string_view host) {
  std::array<unsigned char, 16> bytes;
  return inet_pton(AF_INET6, std::string(host).c_str(), bytes.data()) == 1;
}

// Everything that may stand in a path as it is; the rest must be percent-encoded.
bool is_path(std::string_view path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '%') {
      if (!percent_decode(path.substr(i, 3))) return false;
      i += 2;
    } else if (!is_alphanumeric(path[i]) &&
               std::string_view("/-._~!$&'()*+,;=:@").find(path[i]) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  const std::size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos)
    return bad(text, "it has no scheme; write https://HOST:PORT");
  const std::string_view scheme = text.substr(0, scheme_end);
  Url url;
  url.origin.tls = same_token(scheme, "https");
  if (!url.origin.tls && !same_token(scheme, "http"))
    return bad(text, "the scheme must be https or http");
  url.origin.port = url.origin.tls ? 443 : 80;

  const std::string_view rest = text.substr(scheme_end + 3);
  const std::size_t authority_end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, authority_end);
  std::string_view path = rest.substr(authority_end);
  if (path.find_first_of("?#") != std::string_view::npos)
    return bad(text, "a query or fragment has no place here");
  if (!is_path(path)) return bad(text, "the path has a character that must be percent-encoded");
  if (authority.find('@') != std::string_view::npos)
    return bad(text, "a user or password has no place here");

  std::string_view port;
  bool has_port = false;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return bad(text, "the address has no closing bracket");
    const std::string_view address = authority.substr(1, close - 1);
    if (!is_ipv6(address)) return bad(text, "there is no IPv6 address between the brackets");
    url.origin.host = address;
    authority.remove_prefix(close + 1);
    has_port = authority.starts_with(':');
    if (!has_port && !authority.empty()) return bad(text, "the port must follow a colon");
    port = has_port ? authority.substr(1) : authority;
  } else {
    const std::size_t colon = authority.find(':');
    has_port = colon != std::string_view::npos;
    url.origin.host = authority.substr(0, colon);
    if (has_port) port = authority.substr(colon + 1);
    if (url.origin.host.empty()) return bad(text, "it has no host");
    if (!is_host(url.origin.host)) return bad(text, "the host is not a DNS name or address");
  }
  if (has_port && !port.empty()) {
    const auto [end, error] =
        std::from_chars(port.data(), port.data() + port.size(), url.origin.port);
    if (error != std::errc() || end != port.data() + port.size() || url.origin.port == 0)
      return bad(text, "the port must be a number from 1 to 65535");
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  url.prefix = path;
  return url;
}

}  // namespace berth::net
