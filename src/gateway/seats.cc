// SPDX-License-Identifier: Apache-2.0
#include "gateway/seats.h"

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::gateway {

struct Seats::State {
  std::size_t per_user;
  Gauge open;
  std::map<std::string, std::size_t> of = {};  // by user
  std::size_t all = 0;
};

class Seats::Taken final : public Seat {
 public:
  Taken(std::shared_ptr<State> state, std::string user)
      : state_(std::move(state)), user_(std::move(user)) {
    ++state_->of[user_];
    state_->open.set(static_cast<double>(++state_->all));
  }
  ~Taken() override {
    const auto at = state_->of.find(user_);
    if (--at->second == 0) state_->of.erase(at);
    state_->open.set(static_cast<double>(--state_->all));
  }

 private:
  std::shared_ptr<State> state_;
  std::string user_;
};

Seats::Seats(std::size_t per_user, Metrics& metrics)
    : state_(std::make_shared<State>(
          State{per_user, metrics.gauge("berth_gateway_streams", "Open streams")})) {}

Result<std::unique_ptr<Seats::Seat>> Seats::take(const std::string& user) {
  const auto at = state_->of.find(user);
  if (at != state_->of.end() && at->second >= state_->per_user)
    return tl::unexpected(
        Error{.reason = Reason::kTooManyRequests,
              .message = fmt::format("user {} has {} streams open, as many as one may have",
                                     json::quoted(user), at->second),
              .retry_after = 10s});
  return std::make_unique<Taken>(state_, user);
}

std::size_t Seats::taken() const { return state_->all; }

}  // namespace berth::gateway
