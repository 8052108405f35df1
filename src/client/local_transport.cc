// SPDX-License-Identifier: Apache-2.0
#include "client/local_transport.h"

#include <utility>

namespace berth::client {
namespace {

struct Delivery {
  Executor& home;
  kube::ApiHandler& handler;
  kube::ApiRequest request;
  Instant deadline;
  Done<kube::ApiReply> done;

  void arrive() {
    if (home.clock().now() >= deadline)
      return done(
          tl::unexpected(Error{.reason = Reason::kTimeout,
                               .message = "the request did not reach the API server in time",
                               .outcome = Outcome::kNotSent}));
    handler.handle(std::move(request), std::move(done));
  }
};

}  // namespace

LocalTransport::LocalTransport(Executor& home, kube::ApiHandler& handler, kube::User user,
                               std::function<Duration()> latency)
    : home_(home), handler_(handler), user_(std::move(user)), latency_(std::move(latency)) {}

void LocalTransport::call(kube::ApiRequest request, Instant deadline, Done<kube::ApiReply> done) {
  request.user = user_;
  auto delivery = std::make_unique<Delivery>(
      Delivery{home_, handler_, std::move(request), deadline, std::move(done)});
  const Duration travel = latency_ ? latency_() : Duration{};
  home_.post([travel, d = std::move(delivery)]() mutable {
    if (travel <= Duration{}) return d->arrive();
    Executor& home = d->home;
    home.at(home.clock().now() + travel, [d = std::move(d)] { d->arrive(); });
  });
}

}  // namespace berth::client
