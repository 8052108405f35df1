// SPDX-License-Identifier: Apache-2.0
// Bytes to and from a peer, over TCP or over TLS on top of it, so that HTTP is written once.
// Internal to net/: unlike everywhere else a bare callback is taken, because the stream is its
// owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "net/tls_context.h"

namespace berth::net {

// Loop-confined. Callbacks never run inline; destroying the stream closes it and drops them unrun.
class Stream {
 public:
  using Bytes = Result<std::string_view>;  // empty: the peer has ended its side properly

  virtual ~Stream() = default;
  virtual void handshake(Fn<void(Result<Ok>)>) = 0;  // first of all
  // What has arrived, up to 256 KB; valid until the next read. One read at a time, and nothing is
  // taken from the socket in between.
  virtual void read(Fn<void(Bytes)>) = 0;
  // All pieces, which stay valid while `keep` is held; not all of them are empty. One write at a
  // time. An error's outcome is kNotSent when nothing at all was sent.
  virtual void write(std::vector<std::string_view> pieces, std::shared_ptr<const void> keep,
                     Fn<void(Result<Ok>)>) = 0;
  virtual void end_writing() = 0;  // the peer sees the end; reading goes on
  virtual std::string peer_address() const = 0;
  virtual std::optional<PeerIdentity> peer_identity() const { return {}; }
  virtual std::string peer_certificates() const { return {}; }  // PEM, unverified
};

// Destroying it cancels the attempt and drops its callback unrun.
class Attempt {
 public:
  virtual ~Attempt() = default;
};
// `host` is a name or a literal address. Tries each address of a name in turn.
std::unique_ptr<Attempt> connect(Executor& loop, const std::string& host, std::uint16_t port,
                                 Fn<void(Result<std::unique_ptr<Stream>>)>);

// Destroying it, on the loop, stops listening.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual std::uint16_t port() const = 0;
  virtual void start(Fn<void(std::unique_ptr<Stream>)> accepted) = 0;
};
// From any thread; connections are taken after start().
Result<std::unique_ptr<Listener>> listen(Executor& loop, const std::string& address,
                                         std::uint16_t port);

// `name` is what the server must prove to be.
std::unique_ptr<Stream> tls_client(Executor& loop, std::unique_ptr<Stream> below, const TlsContext&,
                                   std::string name, bool verify);
std::unique_ptr<Stream> tls_server(Executor& loop, std::unique_ptr<Stream> below,
                                   const TlsContext&);

}  // namespace berth::net
