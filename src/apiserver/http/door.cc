// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/door.h"

#include <utility>

#include "apiserver/http/exchange.h"

namespace berth::apiserver {

Door::Door(Scope& scope, Executor& api, Handle handle, const KindRegistry& kinds, Random random,
           DoorOptions options)
    : state_(std::make_shared<DoorState>(
          DoorState{.scope = scope,
                    .api = api,
                    .handle = std::make_shared<const Handle>(std::move(handle)),
                    .kinds = kinds,
                    .random = random,
                    .options = std::move(options)})) {
  if (state_->options.metrics != nullptr) state_->bodies.emplace(*state_->options.metrics);
}

Door::~Door() = default;

void Door::handle(net::HttpRequest request, const net::HttpPeer& peer, net::HttpReply reply) {
  std::make_shared<Exchange>(state_, peer, std::move(reply))->begin(std::move(request), peer);
}

net::HttpServerOptions Door::server_options() const {
  net::HttpServerOptions options;
  options.limits = state_->options.limits.http();
  return options;
}

std::size_t Door::watches() const { return state_->watches; }

}  // namespace berth::apiserver
