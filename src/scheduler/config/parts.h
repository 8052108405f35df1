// SPDX-License-Identifier: Apache-2.0
// The parts of reading a configuration; read_config() puts them together.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scheduler/config/config.h"
#include "scheduler/config/fields.h"

namespace berth::scheduler {

inline constexpr std::string_view kConfigVersion = "kubescheduler.config.k8s.io/v1";

// The arguments of the plugins that have a type of their own for them; monostate for all others.
PluginArgs default_args(std::string_view plugin);
// `args` may be absent: the defaults.
PluginArgs read_args(Problems&, std::string_view plugin, json::Slice args, const std::string& path);
// What is wrong with a v1.NodeAffinity, terms of weight 0 and empty ones aside, as plugins leave
// those out.
void check_node_affinity(Problems&, json::Slice affinity, const std::string& path);

std::vector<ProfileConfig> read_profiles(Fields& root, Problems&, std::span<const PluginInfo>);
std::vector<ExtenderConfig> read_extenders(Fields& root, Problems&);
// Resources that an extender manages and the scheduler shall ignore replace
// NodeResourcesFitArgs.ignoredResources in every profile.
void pass_ignored_resources(const std::vector<ExtenderConfig>&, std::vector<ProfileConfig>&,
                            std::span<const PluginInfo>, Problems&);

// Problems of a leader election; `name` turns a field into what the user wrote
// ("leaderElection.leaseDuration", "--leader-elect-lease-duration").
struct ElectionProblem {
  std::string field, what;
};
template <class Name>
std::vector<ElectionProblem> check_election(const LeaderElectionConfig& e, Name&& name) {
  std::vector<ElectionProblem> out;
  if (!e.leader_elect) return out;
  const auto add = [&](std::string_view field, std::string what) {
    out.push_back({name(field), std::move(what)});
  };
  if (e.lease_duration <= Duration{}) add("leaseDuration", "must be greater than zero");
  if (e.renew_deadline <= Duration{}) add("renewDeadline", "must be greater than zero");
  if (e.retry_period <= Duration{}) add("retryPeriod", "must be greater than zero");
  if (e.lease_duration <= e.renew_deadline)
    add("leaseDuration", "must be greater than " + name("renewDeadline"));
  // In doubles: 1.2 times a long period leaves the range of whole nanoseconds.
  else if (static_cast<double>(e.renew_deadline.count()) <=
           1.2 * static_cast<double>(e.retry_period.count()))
    add("renewDeadline", "must be greater than 1.2 times " + name("retryPeriod"));
  if (e.resource_lock != "leases")
    add("resourceLock", "must be \"leases\", the only kind of lock that is left");
  if (e.resource_name.empty()) add("resourceName", "must not be empty");
  if (e.resource_namespace.empty()) add("resourceNamespace", "must not be empty");
  return out;
}

}  // namespace berth::scheduler
