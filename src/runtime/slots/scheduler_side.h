// SPDX-License-Identifier: Apache-2.0
// What a stock kube-scheduler has to be told so that it asks the extender.
#pragma once

#include <string>

namespace berth::runtime {

// A KubeSchedulerConfiguration (v1) that makes a stock kube-scheduler ask an extender at `url`.
struct SchedulerSide {
  std::string url = "https://berth-extender.berth-system.svc:9443/slots";
  std::string ca_file = {}, cert_file = {}, key_file = {};  // as the scheduler sees them
  std::string scheduler_name = {};  // of a second scheduler for executors; "": there is one for all
  // Pods that ask for berth.dev/slot are asked about; others never leave the scheduler. Off: all of
  // this scheduler's pods are, and those without a grant come back as they went.
  bool managed = false;
  std::string kubeconfig = {};
};
std::string kube_scheduler_config(const SchedulerSide&);

}  // namespace berth::runtime
