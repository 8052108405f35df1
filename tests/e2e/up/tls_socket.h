// SPDX-License-Identifier: Apache-2.0
// Raw bytes over TLS, for clients that keep no rules of HTTP.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "net/http_client.h"

struct ssl_st;
struct ssl_ctx_st;

namespace berth::e2e {

// Blocking; reads give up after a while. Thread-compatible.
class TlsSocket {
 public:
  TlsSocket(std::uint16_t port, ssl_ctx_st*);
  ~TlsSocket();
  TlsSocket(const TlsSocket&) = delete;
  TlsSocket& operator=(const TlsSocket&) = delete;

  bool connected() const { return ssl_ != nullptr; }
  bool say(std::string_view) const;  // false: the other side has left
  std::string hear() const;          // once; "" when the other side has left
  std::string hear_until(std::string_view end) const;
  std::string hear_all() const;  // until the other side leaves
  // Both at once: says all of it however long the answers to its beginning are.
  std::string say_and_hear_all(std::string_view) const;
  bool left() const;  // has the other side? Does not wait

 private:
  int fd_ = -1;
  ssl_st* ssl_ = nullptr;
};

// As whom sockets connect. Thread-compatible.
class TlsCaller {
 public:
  explicit TlsCaller(const net::Origin&, const net::KeyPair* shows = nullptr);
  ~TlsCaller();
  TlsCaller(const TlsCaller&) = delete;
  TlsCaller& operator=(const TlsCaller&) = delete;
  std::unique_ptr<TlsSocket> connect() const;
  // One request on a connection of its own, and everything that comes back.
  std::string ask(std::string_view bytes) const;

 private:
  std::uint16_t port_;
  ssl_ctx_st* context_;
};

}  // namespace berth::e2e
