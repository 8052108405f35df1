// SPDX-License-Identifier: Apache-2.0
// Somebody who only looks: told of every change of some kinds that a home's controllers follow, for
// metrics. What a home does is no other with it than without.
#pragma once

#include <vector>

#include "runtime/spec.h"

namespace berth::runtime {

// Loop-confined to the home's.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual std::vector<KindId> kinds() const = 0;
  // A term begins: what is there arrives as added, whatever was told before.
  virtual void begin() = 0;
  virtual void changed(const Change&, WallTime now) = 0;
  // A write of an object of this kind was refused: somebody else was faster.
  virtual void outdated(KindId) {}
};

}  // namespace berth::runtime
