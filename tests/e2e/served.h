// SPDX-License-Identifier: Apache-2.0
// Our API server over plain HTTP in the test's own process: nobody is kept out, nothing is admitted
// but by its kind, and nothing survives.
#pragma once

#include <memory>
#include <string>

#include "apiserver/http/door.h"
#include "apiserver/openapi/openapi.h"
#include "apiserver/serve/server.h"
#include "base/log.h"
#include "base/metrics.h"
#include "test_loop.h"

namespace berth::e2e {

// Thread-compatible.
class Served {
 public:
  explicit Served(apiserver::DoorOptions = {});
  ~Served();

  std::uint16_t port() const { return server_->port(); }
  std::string url() const;
  std::size_t watches();  // open at the door
  apiserver::StoreStats stats();
  apiserver::KindRegistry& kinds() { return kinds_; }

 private:
  struct Api;
  TestLoop api_{"api"}, io_{"io"};
  apiserver::KindRegistry kinds_;
  std::unique_ptr<Api> on_api_;
  std::unique_ptr<apiserver::Door> door_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace berth::e2e
