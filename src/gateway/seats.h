// SPDX-License-Identifier: Apache-2.0
// How many streams a user has open, and whether there may be one more.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/metrics.h"
#include "base/result.h"

namespace berth::gateway {

// Loop-confined. Seats may outlive it.
class Seats {
 public:
  Seats(std::size_t per_user, Metrics&);

  class Seat {
   public:
    virtual ~Seat() = default;  // gives it back
  };
  // TooManyRequests when the user has as many as one may have.
  Result<std::unique_ptr<Seat>> take(const std::string& user);
  std::size_t taken() const;

 private:
  struct State;
  class Taken;
  std::shared_ptr<State> state_;
};

}  // namespace berth::gateway
