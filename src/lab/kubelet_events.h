// SPDX-License-Identifier: Apache-2.0
// What kubelets tell about pods and nodes, so that `kubectl describe` reads as on a real cluster.
// Best effort: pods come before events, so only so many are told a second and the rest are lost.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "base/fn.h"
#include "base/time.h"
#include "kube/api.h"
#include "lab/containers.h"

namespace berth::lab {

// Loop-confined to the lab's executor.
class KubeletEvents {
 public:
  using Send = Fn<void(kube::ApiRequest, Fn<void(Result<kube::ApiReply>)>)>;
  KubeletEvents(const Clock& clock, Send send) : clock_(clock), send_(std::move(send)) {}

  // Containers that were started or stopped, or wait to be started again; a pod that was rejected.
  void pod_changed(const kube::Object& before, const kube::Object& after);
  void pod_stops(const kube::Object& pod);  // those of its containers that run are asked to
  void node_changed(const kube::Object& before, const kube::Object& after);

 private:
  struct Told {
    std::string ns, name;  // of the Event
    std::int64_t count = 1;
  };
  // Of whom: the pod or node; on which node; which part of it.
  struct About {
    const kube::Object& object;
    std::string node;
    std::string field_path = {};
  };
  static About container_of(const kube::Object& pod, const Container&);
  bool may_tell(double keep = 0);  // there is room for one more, beside so many
  void tell(const About&, std::string_view type, std::string_view reason,
            const std::string& message);
  void tell_again(const std::string& key, Told&);
  void started(const kube::Object& pod, const Container&);
  void killing(const kube::Object& pod, const Container&);

  const Clock& clock_;
  Send send_;
  double tokens_ = 0;
  Instant filled_{};
  bool filled_once_ = false;
  std::map<std::string, Told, std::less<>> told_;
  std::deque<std::string> order_;  // of what was told, the oldest first
  std::int64_t last_stamp_ = 0;
};

}  // namespace berth::lab
