// SPDX-License-Identifier: Apache-2.0
// What the suite reads of a Lease: who holds it, since when, and for how long.
#pragma once

#include <optional>
#include <string>

#include "kube/object.h"
#include "kube/time.h"

namespace berth::kube {

// A view with a handle of its own: valid as long as it lives. Thread-compatible.
class LeaseView {
 public:
  explicit LeaseView(Object lease) : lease_(std::move(lease)), spec_(lease_.member("spec")) {}

  const Object& object() const { return lease_; }
  std::string holder() const { return spec_["holderIdentity"].text(); }
  Duration duration() const {
    return std::chrono::seconds(spec_["leaseDurationSeconds"].integer().value_or(0));
  }
  std::int64_t transitions() const { return spec_["leaseTransitions"].integer().value_or(0); }
  std::optional<WallTime> acquired() const { return parse_time(spec_["acquireTime"].text()); }
  std::optional<WallTime> renewed() const { return parse_time(spec_["renewTime"].text()); }

 private:
  Object lease_;
  json::Slice spec_;
};

}  // namespace berth::kube
