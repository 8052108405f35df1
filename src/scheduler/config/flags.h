// SPDX-License-Identifier: Apache-2.0
// The command-line flags of kube-scheduler that change its configuration, and when they count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/config/config.h"

namespace berth::scheduler {

// Only what was given on the command line. --master, --bind-address, --secure-port and the like
// are not the configuration's.
struct ConfigFlags {
  // --leader-elect and --leader-elect-…: count with and without a file.
  std::optional<bool> leader_elect = {};
  std::optional<Duration> lease_duration = {}, renew_deadline = {}, retry_period = {};
  std::optional<std::string> resource_lock = {}, resource_name = {}, resource_namespace = {};
  // --pod-max-in-unschedulable-pods-duration: likewise.
  std::optional<Duration> pod_max_in_unschedulable_pods = {};

  // --feature-gates, "Name=true,Other=false": likewise.
  std::vector<std::string> feature_gates = {};

  // Deprecated: count only without --config.
  std::optional<bool> profiling = {}, contention_profiling = {};
  std::optional<std::string> kubeconfig = {}, kube_api_content_type = {};
  std::optional<float> kube_api_qps = {};
  std::optional<std::int32_t> kube_api_burst = {};
};

// `from_file`: --config was given; each flag that then does not count leaves a warning. An error
// names the flags.
Result<Ok> apply(const ConfigFlags&, bool from_file, SchedulerConfig&);

}  // namespace berth::scheduler
