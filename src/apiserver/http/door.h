// SPDX-License-Identifier: Apache-2.0
// The API server's door to HTTP: takes requests apart on an I/O loop, hands them to the server on
// its own, and lets the answers out in the form the client wants, no faster than it reads.
#pragma once

#include <functional>
#include <memory>

#include "apiserver/auth/auth.h"
#include "apiserver/http/limits.h"
#include "apiserver/kinds/registry.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/scope.h"
#include "kube/api.h"
#include "net/http_server.h"

namespace berth::apiserver {

struct DoorOptions {
  DoorLimits limits = {};
  // Compression costs more than it saves where nothing is sent anywhere. One object is compressed
  // as the real server would.
  bool gzip_on_loopback = false;
  // Streams may be touched on the API server's loop only: it is a lane of a virtual world, which is
  // a single thread's, and `api` is the way in.
  bool streams_through_api = false;
  Metrics* metrics = nullptr;  // outlives the door; null: nothing is counted
};

// Loop-confined to its scope's executor, which is the HTTP server's loop; several loops have a door
// each.
class Door final : public net::HttpHandler {
 public:
  // What stands behind: Server::handle. Called on the API server's loop.
  using Handle = std::function<void(Credentials, kube::ApiRequest, Done<kube::ApiReply>)>;

  // `api` is the API server's loop. It, `kinds`, and what `handle` refers to outlive `scope`, whose
  // closing ends every watch and every answer that is still on its way.
  Door(Scope& scope, Executor& api, Handle handle, const KindRegistry& kinds, Random random,
       DoorOptions = {});
  ~Door() override;

  void handle(net::HttpRequest, const net::HttpPeer&, net::HttpReply) override;

  // What the server in front is to be started with; address and TLS are the caller's.
  net::HttpServerOptions server_options() const;
  std::size_t watches() const;  // open now

 private:
  std::shared_ptr<struct DoorState> state_;
};

}  // namespace berth::apiserver
