// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/door.h"

#include <utility>

#include <fmt/format.h>

#include "apiserver/http/exchange.h"
#include "kube/status.h"

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
  options.refusal = [most = state_->options.limits.body_bytes](int code, std::string_view message) {
    Error error{.reason = reason_of_http_code(code), .message = std::string(message), .code = code};
    if (error.reason == Reason::kRequestEntityTooLarge)
      error.message = fmt::format("Request entity too large: limit is {}", most);
    net::HttpResponse response{.status = code, .headers = {}, .body = kube::status_json(error)};
    response.headers.add("Content-Type", "application/json");
    return response;
  };
  return options;
}

std::size_t Door::watches() const { return state_->watches; }

}  // namespace berth::apiserver
