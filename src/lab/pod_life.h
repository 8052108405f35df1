// SPDX-License-Identifier: Apache-2.0
// A pod's life on its node, as a function: from what the pod says now to what its kubelet writes
// next, or when it is worth looking again. All that matters stands in the pod, so a lab that starts
// again goes on where it was.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lab/pod_status.h"
#include "lab/script.h"

namespace berth::lab {

struct LifeInput {
  const kube::Object& pod;
  const Script& script;
  WallTime now;
  // Objects tell times in whole seconds. When this pod's last container was started, exactly, and
  // when it was first seen deleting; zero: not known.
  WallTime last_start{}, stopping{};
  std::string_view host_ip;
  std::string_view pod_ip;                                     // its own, should it need one
  std::string_view refusal_reason = {}, refusal_message = {};  // why its kubelet does not take it
  bool crash = false;                                          // its main containers end now
  StatusForm form = StatusForm::kPatch;
};

// What a look at the pod would find once the status has been written, and nothing else: whoever
// knows that does not have to look.
struct Outlook {
  bool known = false;
  std::optional<WallTime> again = {};  // nothing to write before
};

struct Step {
  std::string status = {};  // to be written, in the form asked for; "": none
  Outlook after = {};       // of the status
  bool remove = false;      // delete it, nothing is left running
  std::optional<WallTime> again = {};
  bool started = false;  // the status starts a container, or the pod
};

Step next_step(const LifeInput&);

// How long a container waits before it runs once more: at once, then 10 s and twice as long each
// time up to 5 min; one that ran for 10 min begins anew.
Duration crash_backoff(int restarts, Duration ran);

}  // namespace berth::lab
