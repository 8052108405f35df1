// SPDX-License-Identifier: Apache-2.0
// How long scavengers take to give their room back: from the moment that it is wanted (the
// scheduler preempts the pod, or it is asked for a checkpoint) until the pod has left.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "kube/object.h"

namespace berth::controllers {

// What a pod tells of it. A value.
struct ReclaimFacts {
  std::string uid = {};
  bool scavenger = false, wanted = false, left = false;
};
ReclaimFacts reclaim_facts(const kube::Object& pod);

// Thread-compatible.
class ReclaimWatch {
 public:
  // A change of a pod; one of them is null when it appeared or went. How long it took, once it is
  // over.
  std::optional<Duration> changed(const ReclaimFacts* before, const ReclaimFacts* after,
                                  WallTime now);
  void clear() { wanted_.clear(); }

 private:
  std::map<std::string, WallTime, std::less<>> wanted_;  // by the pod's uid
};

}  // namespace berth::controllers
