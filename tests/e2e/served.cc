// SPDX-License-Identifier: Apache-2.0
#include "served.h"

#include <fmt/format.h>

#include "apiserver/auth/allow_all.h"
#include "base/check.h"

namespace berth::e2e {
namespace {

class Everyone final : public apiserver::Authenticator {
 public:
  Result<kube::User> authenticate(const apiserver::Credentials&, WallTime) override {
    return kube::User{.name = "admin", .groups = {"system:masters", "system:authenticated"}};
  }
};

}  // namespace

// What lives on the API server's loop.
struct Served::Api {
  Api(TestLoop& loop, apiserver::KindRegistry& kinds)
      : open_api(kinds),
        store(loop.scope().child("store"), {}),
        server(loop.scope().child("server"),
               {store, kinds, admission, authenticator, authorizer, metrics,
                Logger(log, loop.executor().clock()), Random(7)}) {
    server.page("/openapi/",
                [this](const kube::ApiRequest& asked) { return open_api.answer(asked); });
  }
  Metrics metrics;
  StringSink log;
  Everyone authenticator;
  apiserver::AllowAll authorizer;
  apiserver::Admission admission;
  apiserver::OpenApi open_api;
  apiserver::Store store;
  apiserver::Server server;
};

Served::Served(apiserver::DoorOptions options) {
  api_.run([&] { on_api_ = std::make_unique<Api>(api_, kinds_); });
  io_.run([&] {
    door_ = std::make_unique<apiserver::Door>(
        io_.scope(), api_.executor(),
        [server = &on_api_->server](apiserver::Credentials who, kube::ApiRequest what,
                                    Done<kube::ApiReply> done) {
          server->handle(std::move(who), std::move(what), std::move(done));
        },
        kinds_, Random(8), std::move(options));
  });
  auto started = net::HttpServer::start(io_.executor(), door_->server_options(), *door_);
  BERTH_CHECK(started.has_value(), "a free port on loopback");
  server_ = std::move(*started);
}

Served::~Served() {
  server_.reset();
  io_.close();
  api_.close();
  api_.run([&] { on_api_.reset(); });
}

std::string Served::url() const { return fmt::format("http://127.0.0.1:{}", port()); }

std::size_t Served::watches() {
  std::size_t found = 0;
  io_.run([&] { found = door_->watches(); });
  return found;
}

apiserver::StoreStats Served::stats() {
  apiserver::StoreStats found;
  api_.run([&] { found = on_api_->store.stats(); });
  return found;
}

}  // namespace berth::e2e
