// SPDX-License-Identifier: Apache-2.0
#include "net/websocket.h"

#include <array>

#include <openssl/evp.h>

namespace berth::net {
namespace {

constexpr std::string_view kMagic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

std::string answer_to(std::string_view key) {
  const std::string text = std::string(key).append(kMagic);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> encoded{};
  const int length = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(size));
  return {reinterpret_cast<const char*>(encoded.data()), static_cast<std::size_t>(length)};
}

// 16 bytes in base64.
bool is_key(std::string_view key) {
  if (key.size() != 24 || !key.ends_with("==")) return false;
  return key.substr(0, 22).find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") == key.npos;
}

}  // namespace

Result<Headers> accept_websocket(const Headers& request, std::string_view protocol) {
  if (!lists_token(request.get("Upgrade"), "websocket") ||
      !lists_token(request.get("Connection"), "upgrade"))
    return fail(Reason::kBadRequest, "this address speaks WebSocket only");
  if (request.get("Sec-WebSocket-Version") != "13")
    return tl::unexpected(Error{.reason = Reason::kBadRequest,
                                .message = "only version 13 of WebSocket is spoken here",
                                .code = 426});
  const std::string_view key = request.get("Sec-WebSocket-Key");
  if (!is_key(key)) return fail(Reason::kBadRequest, "Sec-WebSocket-Key is not 16 bytes in base64");
  Headers answer;
  answer.add("Upgrade", "websocket");
  answer.add("Connection", "Upgrade");
  answer.add("Sec-WebSocket-Accept", answer_to(key));
  if (!protocol.empty()) answer.add("Sec-WebSocket-Protocol", std::string(protocol));
  return answer;
}

}  // namespace berth::net
