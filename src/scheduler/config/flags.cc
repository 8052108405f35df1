// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config/flags.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/nearest.h"
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

// What can be turned, and what stands as Berth has it.
struct Gate {
  std::string_view name;
  bool here;                        // as it is where nobody says anything
  bool Features::*turns = nullptr;  // absent: it stands
};
constexpr Gate kGates[] = {
    {"SchedulerAsyncPreemption", true, &Features::async_preemption},
    {"SchedulerAsyncAPICalls", false},
    {"SchedulerPopFromBackoffQ", true},
    {"SchedulerQueueingHints", true},
    {"NominatedNodeNameForExpectation", true},
    {"NodeDeclaredFeatures", true},
    {"PodLevelResources", true},
    {"InPlacePodVerticalScaling", true},
    {"SidecarContainers", true},
    {"MatchLabelKeysInPodTopologySpread", true},
    {"GenericWorkload", false},
    {"GangScheduling", false},
    {"TopologyAwareWorkloadScheduling", false},
    {"WorkloadAwarePreemption", false},
};

Result<Ok> set_gate(std::string_view item, Features& features) {
  const std::size_t equals = item.find('=');
  const std::string_view name = item.substr(0, equals);
  const std::string_view value = equals == item.npos ? "" : item.substr(equals + 1);
  if (value != "true" && value != "false")
    return invalid(fmt::format("--feature-gates {}: a gate is set like {}=true or {}=false", item,
                               name, name));
  std::vector<std::string_view> names;
  for (const Gate& gate : kGates) {
    names.push_back(gate.name);
    if (gate.name != name) continue;
    if (gate.turns != nullptr)
      features.*gate.turns = value == "true";
    else if (gate.here != (value == "true"))
      return invalid(
          fmt::format("--feature-gates {}: in Berth this gate is {} and cannot be turned", item,
                      gate.here ? "on" : "off"));
    return Ok{};
  }
  const std::string_view meant = nearest(name, names);
  return invalid(
      fmt::format("--feature-gates {}: no gate of that name changes anything here{}", item,
                  meant.empty() ? "; leave it out" : fmt::format("; maybe you meant {}", meant)));
}

Result<Ok> set_gates(std::string_view list, Features& features) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0)
      if (Result<Ok> set = set_gate(list.substr(0, comma), features); !set) return set;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return Ok{};
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

  for (const std::string& gates : flags.feature_gates)
    if (Result<Ok> set = set_gates(gates, config.features); !set) return set;

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
