// SPDX-License-Identifier: Apache-2.0
// Which jobs that were made smaller, so that something else fits, may have back what they gave.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policy/scavenge/admit.h"

namespace berth::scavenge {

struct SmallMember {
  std::string node = {};
  kube::ResourceList more = {};  // than it has now
};
struct SmallJob {
  std::string uid = {};
  std::vector<SmallMember> members = {};  // of which something was taken
};

// Uids, in the order given. All of a job or nothing; where it is as if it started with what it
// wants more: within the threshold, and each member on the node where it is. While anybody waits
// for a place nobody grows into it.
std::vector<std::string> grow(const AdmitQuestion&, int threshold_percent,
                              std::span<const SmallJob>);

}  // namespace berth::scavenge
