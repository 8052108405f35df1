// SPDX-License-Identifier: Apache-2.0
// What would make a pod fit that fits nowhere: small changes to the pod, a node or the cluster,
// each of which was tried before it is named.
#pragma once

#include <string>
#include <vector>

#include "gateway/observe/verdicts.h"
#include "kube/object.h"
#include "scheduler/explain/judgement.h"

namespace berth::gateway {

// A value.
struct Change {
  struct Part {
    std::string text = {};
    bool name = false;  // of an object
  };
  std::string kind = {};
  std::vector<Part> says = {};
  std::vector<std::string> fits = {};  // the first few nodes where it then fits
  std::uint32_t fits_on = 0;
  std::string cost = {};
  std::string patch = {};    // of the pod's template; ""
  std::string command = {};  // to type; ""
};

inline constexpr std::size_t kMostChanges = 5;

// The smallest first. `problem` is the judgement's; it is changed on the way and put back.
std::vector<Change> smallest_changes(const scheduler::Judgement&, const Verdicts&,
                                     const kube::Object& pod, scheduler::Case& problem);

}  // namespace berth::gateway
