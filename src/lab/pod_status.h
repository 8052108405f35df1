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

enum class StatusForm : std::uint8_t {
  kPatch,  // a strategic merge patch for the pod, guarded by its uid
  kWhole,  // the status as it is once that patch is applied
};
std::string status_text(const kube::Object& pod, const std::vector<Container>&, const PodFacts&,
                        WallTime now, StatusForm);

}  // namespace berth::lab
