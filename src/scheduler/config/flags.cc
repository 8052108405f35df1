// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config/flags.h"

#include <fmt/format.h>

#include "scheduler/config/parts.h"

namespace berth::scheduler {
namespace {

template <class T>
void set(const std::optional<T>& flag, T& value) {
  if (flag) value = *flag;
}

std::string flag_of(std::string_view field) {
  if (field == "leaseDuration") return "--leader-elect-lease-duration";
  if (field == "renewDeadline") return "--leader-elect-renew-deadline";
  if (field == "retryPeriod") return "--leader-elect-retry-period";
  if (field == "resourceLock") return "--leader-elect-resource-lock";
  if (field == "resourceName") return "--leader-elect-resource-name";
  return "--leader-elect-resource-namespace";
}

}  // namespace

Result<Ok> apply(const ConfigFlags& flags, bool from_file, SchedulerConfig& config) {
  LeaderElectionConfig& election = config.leader_election;
  set(flags.leader_elect, election.leader_elect);
  set(flags.lease_duration, election.lease_duration);
  set(flags.renew_deadline, election.renew_deadline);
  set(flags.retry_period, election.retry_period);
  set(flags.resource_lock, election.resource_lock);
  set(flags.resource_name, election.resource_name);
  set(flags.resource_namespace, election.resource_namespace);
  set(flags.pod_max_in_unschedulable_pods, config.pod_max_in_unschedulable_pods);

  const auto deprecated = [&](const auto& flag, auto& value, std::string_view name,
                              std::string_view field) {
    if (!flag) return;
    if (!from_file)
      value = *flag;
    else
      config.warnings.push_back(fmt::format(
          "{} is ignored because --config is given, as in kube-scheduler; set {} in that file",
          name, field));
  };
  ClientConnectionConfig& client = config.client_connection;
  deprecated(flags.profiling, config.enable_profiling, "--profiling", "enableProfiling");
  deprecated(flags.contention_profiling, config.enable_contention_profiling,
             "--contention-profiling", "enableContentionProfiling");
  deprecated(flags.kubeconfig, client.kubeconfig, "--kubeconfig", "clientConnection.kubeconfig");
  deprecated(flags.kube_api_content_type, client.content_type, "--kube-api-content-type",
             "clientConnection.contentType");
  deprecated(flags.kube_api_qps, client.qps, "--kube-api-qps", "clientConnection.qps");
  deprecated(flags.kube_api_burst, client.burst, "--kube-api-burst", "clientConnection.burst");

  for (const ElectionProblem& problem : check_election(election, flag_of))
    return invalid(fmt::format("{}: {}", problem.field, problem.what));
  if (client.burst < 0) return invalid("--kube-api-burst: must not be negative");
  if (config.pod_max_in_unschedulable_pods < Duration{})
    return invalid("--pod-max-in-unschedulable-pods-duration: must not be negative");
  return Ok{};
}

}  // namespace berth::scheduler
