// SPDX-License-Identifier: Apache-2.0
// A controller is a function from what is seen to what to do. It has no I/O, no clock and no state
// of its own; whatever it needs to know next time, it writes into objects.
#pragma once

#include "runtime/plan.h"
#include "runtime/spec.h"
#include "runtime/view.h"

namespace berth::runtime {

// Immutable. The same object runs on the embedded cluster, on a real one and in a virtual world.
class Controller {
 public:
  virtual ~Controller() = default;
  virtual Spec spec() const = 0;
  // Called whenever something about the key may have changed, and never twice at a time for one
  // key. The key's object may be gone.
  virtual Plan reconcile(const View&, const Key&, WallTime now) const = 0;
};

}  // namespace berth::runtime
