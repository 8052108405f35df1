// SPDX-License-Identifier: Apache-2.0
// What kubelets tell about pods and nodes, so that `kubectl describe` reads as on a real cluster.
// Best effort: pods come before events, so only so many are told a second and the rest are lost.
#pragma once

#include <string_view>

#include "base/random.h"
#include "base/scope.h"
#include "client/api.h"
#include "client/event_recorder.h"
#include "client/local_transport.h"
#include "client/rate_limiter.h"
#include "kube/api.h"

namespace berth::lab {

// Loop-confined to its scope's executor, the API's. Outlives its scope's work.
class KubeletEvents {
 public:
  KubeletEvents(Scope& parent, kube::ApiHandler& api, const kube::User& user, const Random& random);

  // Containers that were started, or wait to be started again.
  void pod_changed(const kube::Object& before, const kube::Object& after);
  void pod_stops(const kube::Object& pod);  // those that run are asked to
  void node_changed(const kube::Object& before, const kube::Object& after);

 private:
  Scope& scope_;
  client::LocalTransport transport_;
  client::RateLimiter limiter_;
  client::Api api_;
  client::EventRecorder recorder_;
};

}  // namespace berth::lab
