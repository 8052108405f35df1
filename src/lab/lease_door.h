// SPDX-License-Identifier: Apache-2.0
// Lets heartbeats be made on demand without anybody noticing: whoever reads or watches the leases
// of nodes through this door finds them as if they had been written all along.
#pragma once

#include "base/scope.h"
#include "kube/api.h"
#include "lab/lab.h"

namespace berth::lab {

// Loop-confined to the lab's. Both outlive it.
class LeaseDoor final : public kube::ApiHandler {
 public:
  LeaseDoor(Scope& parent, Lab& lab, kube::ApiHandler& inner);
  void handle(kube::ApiRequest, Done<kube::ApiReply>) override;

 private:
  Scope& scope_;
  Lab& lab_;
  kube::ApiHandler& inner_;
};

}  // namespace berth::lab
