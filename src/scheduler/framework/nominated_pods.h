// SPDX-License-Identifier: Apache-2.0
// Pending pods that were promised a node. The queue keeps them; filters count them in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scheduler/cache/pod.h"

namespace berth::scheduler {

class NominatedPods {
 public:
  virtual ~NominatedPods() = default;
  virtual bool empty() const = 0;
  virtual std::vector<PodPtr> on(std::string_view node) const = 0;  // in order of nomination
  virtual std::vector<std::string> nodes() const = 0;               // with at least one; any order
};

// Those on the node that `pod` must leave room for: of its priority or a higher one, and not
// itself.
inline std::vector<PodPtr> nominated_before(const Pod& pod, std::string_view node,
                                            const NominatedPods& nominated) {
  std::vector<PodPtr> pods = nominated.on(node);
  std::erase_if(pods, [&pod](const PodPtr& other) {
    return other->priority() < pod.priority() || other->uid == pod.uid;
  });
  return pods;
}

}  // namespace berth::scheduler
