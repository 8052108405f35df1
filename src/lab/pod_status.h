// SPDX-License-Identifier: Apache-2.0
// A pod's status as a kubelet would write it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"
#include "lab/containers.h"

namespace berth::lab {

// What a kubelet knows when it writes.
struct PodFacts {
  std::string_view phase;
  std::string_view reason = {}, message = {};  // "": none
  std::string_view host_ip, pod_ip = {};       // "": not known yet
  WallTime start_time{};
  bool sandbox = false;  // containers may be started in it
};

// A strategic merge patch for the pod's status, guarded by its uid.
std::string status_patch(const kube::Object& pod, const std::vector<Container>&, const PodFacts&,
                         WallTime now);

}  // namespace berth::lab
