// SPDX-License-Identifier: Apache-2.0
// The configuration as JSON, member by member in the order in which kube-scheduler writes them.
#include <fmt/format.h>

#include "base/base64.h"
#include "json/writer.h"
#include "scheduler/config/config.h"
#include "scheduler/config/go_duration.h"
#include "scheduler/config/parts.h"

namespace berth::scheduler {
namespace {

using json::Writer;

// Members that are left out when empty.
void text(Writer& w, std::string_view key, const std::string& value) {
  if (!value.empty()) w.member(key).string(value);
}
void flag(Writer& w, std::string_view key, bool value) {
  if (value) w.member(key).boolean(true);
}
void texts(Writer& w, std::string_view key, const std::vector<std::string>& values) {
  if (values.empty()) return;
  w.member(key).array();
  for (const std::string& value : values) w.string(value);
  w.end();
}
void resources(Writer& w, const std::vector<ResourceWeight>& values) {
  w.member("resources").array();
  for (const ResourceWeight& value : values)
    w.object().member("name").string(value.name).member("weight").integer(value.weight).end();
  w.end();
}
void shape(Writer& w, const std::vector<ShapePoint>& points) {
  w.member("shape").array();
  for (const ShapePoint& point : points)
    w.object()
        .member("utilization")
        .integer(point.utilization)
        .member("score")
        .integer(point.score)
        .end();
  w.end();
}

void write(Writer& w, const DefaultPreemptionArgs& args) {
  w.member("minCandidateNodesPercentage").integer(args.min_candidate_nodes_percentage);
  w.member("minCandidateNodesAbsolute").integer(args.min_candidate_nodes_absolute);
}
void write(Writer& w, const InterPodAffinityArgs& args) {
  w.member("hardPodAffinityWeight").integer(args.hard_pod_affinity_weight);
  w.member("ignorePreferredTermsOfExistingPods")
      .boolean(args.ignore_preferred_terms_of_existing_pods);
}
void write(Writer& w, const NodeAffinityArgs& args) {
  if (!args.added_affinity.empty()) w.member("addedAffinity").raw(args.added_affinity);
}
void write(Writer& w, const NodeResourcesFitArgs& args) {
  using Strategy = NodeResourcesFitArgs::Strategy;
  const bool ratio = args.strategy == Strategy::kRequestedToCapacityRatio;
  texts(w, "ignoredResources", args.ignored_resources);
  texts(w, "ignoredResourceGroups", args.ignored_resource_groups);
  w.member("scoringStrategy").object().member("type");
  w.string(ratio                                       ? "RequestedToCapacityRatio"
           : args.strategy == Strategy::kMostAllocated ? "MostAllocated"
                                                       : "LeastAllocated");
  resources(w, args.resources);
  if (ratio) {
    w.member("requestedToCapacityRatio").object();
    shape(w, args.shape);
    w.end();
  }
  w.end();
}
void write(Writer& w, const BalancedAllocationArgs& args) { resources(w, args.resources); }
void write(Writer& w, const PodTopologySpreadArgs& args) {
  if (!args.default_constraints.empty()) {
    w.member("defaultConstraints").array();
    for (const SpreadConstraint& c : args.default_constraints) {
      w.object().member("maxSkew").integer(c.max_skew);
      w.member("topologyKey").string(c.topology_key);
      w.member("whenUnsatisfiable").string(c.hard ? "DoNotSchedule" : "ScheduleAnyway");
      if (c.min_domains != 1) w.member("minDomains").integer(c.min_domains);
      if (!c.honor_affinity) w.member("nodeAffinityPolicy").string("Ignore");
      if (c.honor_taints) w.member("nodeTaintsPolicy").string("Honor");
      texts(w, "matchLabelKeys", c.match_label_keys);
      w.end();
    }
    w.end();
  }
  w.member("defaultingType").string(args.system_defaulting ? "System" : "List");
}
void write(Writer& w, const VolumeBindingArgs& args) {
  w.member("bindTimeoutSeconds").integer(args.bind_timeout_seconds);
  if (!args.shape.empty()) shape(w, args.shape);
}
void write(Writer& w, const DynamicResourcesArgs& args) {
  w.member("filterTimeout").string(go_duration(args.filter_timeout));
  w.member("bindingTimeout").string(go_duration(args.binding_timeout));
}

void write_args(Writer& w, const std::string& plugin, const PluginArgs& args) {
  std::visit(
      [&](const auto& typed) {
        using Args = std::decay_t<decltype(typed)>;
        if constexpr (std::is_same_v<Args, std::monostate>) {
          w.null();
        } else if constexpr (std::is_same_v<Args, RawArgs>) {
          w.raw(typed.json);
        } else {
          w.object().member("kind").string(plugin + "Args");
          w.member("apiVersion").string(kConfigVersion);
          write(w, typed);
          w.end();
        }
      },
      args);
}

void write_entries(Writer& w, std::string_view key, const std::vector<PluginList::Entry>& list) {
  if (list.empty()) return;
  w.member(key).array();
  for (const PluginList::Entry& entry : list)
    w.object().member("name").string(entry.name).member("weight").integer(entry.weight).end();
  w.end();
}

void write_profile(Writer& w, const ProfileConfig& profile) {
  w.object().member("schedulerName").string(profile.spec.scheduler_name);
  if (profile.spec.percentage_of_nodes_to_score)
    w.member("percentageOfNodesToScore").integer(*profile.spec.percentage_of_nodes_to_score);
  w.member("plugins").object();
  for (int i = 0; i < kPluginLists; ++i) {
    const PluginList& list = profile.plugins[static_cast<std::size_t>(i)];
    w.member(plugin_list_name(i)).object();
    write_entries(w, "enabled", list.enabled);
    write_entries(w, "disabled", list.disabled);
    w.end();
  }
  w.end();
  if (!profile.plugin_config.empty()) {
    w.member("pluginConfig").array();
    for (const auto& [name, args] : profile.plugin_config) {
      w.object().member("name").string(name).member("args");
      write_args(w, name, args);
      w.end();
    }
    w.end();
  }
  w.end();
}

void write_extender(Writer& w, const ExtenderConfig& extender) {
  w.object().member("urlPrefix").string(extender.url_prefix);
  text(w, "filterVerb", extender.filter_verb);
  text(w, "preemptVerb", extender.preempt_verb);
  text(w, "prioritizeVerb", extender.prioritize_verb);
  if (extender.weight != 0) w.member("weight").integer(extender.weight);
  text(w, "bindVerb", extender.bind_verb);
  flag(w, "enableHTTPS", extender.enable_https);
  if (const ExtenderTls& tls = extender.tls; tls != ExtenderTls{}) {
    w.member("tlsConfig").object();
    flag(w, "insecure", tls.insecure);
    text(w, "serverName", tls.server_name);
    text(w, "certFile", tls.cert_file);
    text(w, "keyFile", tls.key_file);
    text(w, "caFile", tls.ca_file);
    text(w, "certData", base64(tls.cert_data));
    // k8s 1.36 shows keyData too; whoever may read /configz need not hold the key.
    text(w, "caData", base64(tls.ca_data));
    w.end();
  }
  w.member("httpTimeout").string(go_duration(extender.http_timeout));
  flag(w, "nodeCacheCapable", extender.node_cache_capable);
  if (!extender.managed_resources.empty()) {
    w.member("managedResources").array();
    for (const ManagedResource& resource : extender.managed_resources) {
      w.object().member("name").string(resource.name);
      flag(w, "ignoredByScheduler", resource.ignored_by_scheduler);
      w.end();
    }
    w.end();
  }
  flag(w, "ignorable", extender.ignorable);
  w.end();
}

}  // namespace

std::string write_config(const SchedulerConfig& config) {
  Writer w;
  w.object().member("kind").string("KubeSchedulerConfiguration");
  w.member("apiVersion").string(kConfigVersion);
  w.member("parallelism").integer(config.parallelism);
  const LeaderElectionConfig& election = config.leader_election;
  w.member("leaderElection").object().member("leaderElect").boolean(election.leader_elect);
  w.member("leaseDuration").string(go_duration(election.lease_duration));
  w.member("renewDeadline").string(go_duration(election.renew_deadline));
  w.member("retryPeriod").string(go_duration(election.retry_period));
  w.member("resourceLock").string(election.resource_lock);
  w.member("resourceName").string(election.resource_name);
  w.member("resourceNamespace").string(election.resource_namespace).end();
  const ClientConnectionConfig& client = config.client_connection;
  w.member("clientConnection").object().member("kubeconfig").string(client.kubeconfig);
  w.member("acceptContentTypes").string(client.accept_content_types);
  w.member("contentType").string(client.content_type);
  // The shortest text that means the same float.
  w.member("qps").raw(fmt::format("{}", client.qps));
  w.member("burst").integer(client.burst).end();
  w.member("enableProfiling").boolean(config.enable_profiling);
  w.member("enableContentionProfiling").boolean(config.enable_contention_profiling);
  if (config.percentage_of_nodes_to_score)
    w.member("percentageOfNodesToScore").integer(*config.percentage_of_nodes_to_score);
  w.member("podInitialBackoffSeconds").integer(config.pod_initial_backoff_seconds);
  w.member("podMaxBackoffSeconds").integer(config.pod_max_backoff_seconds);
  w.member("profiles").array();
  for (const ProfileConfig& profile : config.profiles) write_profile(w, profile);
  w.end();
  if (!config.extenders.empty()) {
    w.member("extenders").array();
    for (const ExtenderConfig& extender : config.extenders) write_extender(w, extender);
    w.end();
  }
  flag(w, "delayCacheUntilActive", config.delay_cache_until_active);
  return w.end().take();
}

}  // namespace berth::scheduler
