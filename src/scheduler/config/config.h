// SPDX-License-Identifier: Apache-2.0
// A KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1), read as kube-scheduler reads it:
// strict, with its defaults, its merging of plugin lists and its checks; only the messages are
// ours.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "scheduler/extender/extender_config.h"
#include "scheduler/framework/extension_point.h"
#include "scheduler/framework/profile.h"

namespace berth::scheduler {

struct LeaderElectionConfig {
  bool leader_elect = true;
  Duration lease_duration = 15s;
  Duration renew_deadline = 10s;
  Duration retry_period = 2s;
  std::string resource_lock = "leases";
  std::string resource_name = "kube-scheduler";
  std::string resource_namespace = "kube-system";
};

struct ClientConnectionConfig {
  std::string kubeconfig = {};
  std::string accept_content_types = {};
  std::string content_type = "application/vnd.kubernetes.protobuf";
  float qps = 50;  // k8s 1.36: below 0 there is no limit
  std::int32_t burst = 100;
};

// The fields of a profile's plugins: the Points in their order, then three of another kind.
// Placements belong to alpha gates; their lists are read and kept, and change nothing.
inline constexpr int kMultiPoint = kPoints, kPlacementGenerate = kPoints + 1,
                     kPlacementScore = kPoints + 2, kPluginLists = kPoints + 3;
std::string_view plugin_list_name(int list);  // "preEnqueue", "multiPoint"

struct PluginList {
  struct Entry {
    std::string name;
    std::int32_t weight = 0;  // 0: not stated
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::vector<Entry> enabled, disabled;
  friend bool operator==(const PluginList&, const PluginList&) = default;
};

struct ProfileConfig {
  ProfileSpec spec;                              // what to make
  std::array<PluginList, kPluginLists> plugins;  // merged with the defaults, for /configz
  std::vector<std::pair<std::string, PluginArgs>> plugin_config;  // likewise
};

// Of kube-scheduler's feature gates, those that can be turned here.
struct Features {
  bool async_preemption = true;  // SchedulerAsyncPreemption: others are tried while victims leave
};

struct SchedulerConfig {
  // Read, checked and shown; Berth looks at all nodes on one thread.
  std::int32_t parallelism = 16;
  LeaderElectionConfig leader_election;
  ClientConnectionConfig client_connection;
  bool enable_profiling = true;
  bool enable_contention_profiling = true;
  // Absent: Berth looks at every node. 0 is kube-scheduler's adaptive share, which is what it does
  // when nothing is stated.
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  std::int64_t pod_initial_backoff_seconds = 1;
  std::int64_t pod_max_backoff_seconds = 10;
  bool delay_cache_until_active = false;
  std::vector<ProfileConfig> profiles;    // at least one; the first names the leader's events
  std::vector<ExtenderConfig> extenders;  // as configured; see calling_order()
  // Not part of the file: --pod-max-in-unschedulable-pods-duration.
  Duration pod_max_in_unschedulable_pods = 5min;
  Features features;  // --feature-gates, likewise

  // What was accepted but is likely a mistake: "f.yaml:7: …: there is no plugin …". For the log.
  std::vector<std::string> warnings;
};

// YAML or JSON. The registry's rows that are by_default form the default profile, in their order.
// An error has one Cause per problem (field: its path; message: the whole line to print) and the
// first of them as its message.
Result<SchedulerConfig> read_config(std::string_view yaml_or_json,
                                    std::span<const PluginInfo> registry,
                                    std::string_view file_name);
// What an empty file means.
SchedulerConfig default_config(std::span<const PluginInfo> registry);

// As JSON with every default filled in: what /configz shows below "componentconfig".
std::string write_config(const SchedulerConfig&);

// Extenders as they are asked: those that may be ignored come last.
std::vector<const ExtenderConfig*> calling_order(const SchedulerConfig&);

}  // namespace berth::scheduler
