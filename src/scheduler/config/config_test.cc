// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/config/flags.h"
#include "scheduler/config/test_registry.h"

namespace berth::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SchedulerConfig read(std::string rest) {
  const Result<SchedulerConfig> config =
      read_config("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" +
                      std::move(rest),
                  kTestRegistry, "f.yaml");
  if (!config) {
    ADD_FAILURE() << config.error().message;
    return default_config(kTestRegistry);
  }
  return *config;
}

PluginId id(std::string_view name) {
  for (std::size_t i = 0; i < kTestRegistry.size(); ++i)
    if (kTestRegistry[i].name == name) return static_cast<PluginId>(i);
  return PluginId::kNone;
}

template <class Args>
Args args_of(const SchedulerConfig& config, std::string_view plugin) {
  return std::get<Args>(config.profiles.at(0).spec.args.at(id(plugin)));
}

TEST(SchedulerConfig, IsTheDefaultWhereNothingIsStated) {
  const SchedulerConfig standard = default_config(kTestRegistry);
  EXPECT_EQ(write_config(standard), write_config(read("")));
  ASSERT_EQ(standard.profiles.size(), 1u);
  const ProfileSpec& spec = standard.profiles[0].spec;
  EXPECT_EQ(spec.scheduler_name, "default-scheduler");
  EXPECT_THAT(spec.at(Point::kPostFilter),
              ElementsAre(ProfileSpec::Entry{id("DynamicResources")},
                          ProfileSpec::Entry{id("DefaultPreemption")}));
  EXPECT_EQ(spec.at(Point::kScore)[0], (ProfileSpec::Entry{id("TaintToleration"), 3}));
  EXPECT_EQ(spec.args.size(), 8u);
  EXPECT_EQ(standard.leader_election.lease_duration, 15s);
  EXPECT_EQ(standard.client_connection.qps, 50);
  EXPECT_EQ(standard.pod_max_in_unschedulable_pods, 5min);
  EXPECT_THAT(standard.warnings, IsEmpty());
}

TEST(SchedulerConfig, TellsAnAbsentPercentageFromZero) {
  EXPECT_EQ(read("").percentage_of_nodes_to_score, std::nullopt);
  EXPECT_EQ(read("percentageOfNodesToScore: 0").percentage_of_nodes_to_score, 0);
  const SchedulerConfig config =
      read("percentageOfNodesToScore: 30\nprofiles: [{percentageOfNodesToScore: 70}]");
  EXPECT_EQ(config.percentage_of_nodes_to_score, 30);
  EXPECT_EQ(config.profiles[0].spec.percentage_of_nodes_to_score, 70);
  EXPECT_THAT(write_config(read("")), testing::Not(HasSubstr("percentageOfNodesToScore")));
}

TEST(SchedulerConfig, ContentionProfilingFollowsProfiling) {
  EXPECT_TRUE(read("").enable_contention_profiling);
  EXPECT_FALSE(read("enableProfiling: false").enable_contention_profiling);
  EXPECT_TRUE(
      read("enableProfiling: false\nenableContentionProfiling: true").enable_contention_profiling);
}

TEST(SchedulerConfig, ReadsArgumentsIntoTheirTypes) {
  const SchedulerConfig config = read(R"(
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      ignoredResources: [example.com/a]
      ignoredResourceGroups: [example.com]
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu, weight: 3}, {name: memory, weight: 0}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 10}, {utilization: 90}]}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, minDomains: 3}
  - name: NodeAffinity
    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{}]}}}
  - name: DynamicResources
    args: {filterTimeout: 1m}
  - name: Random
    args: {seed: 7}
)");
  const auto fit = args_of<NodeResourcesFitArgs>(config, "NodeResourcesFit");
  EXPECT_THAT(fit.ignored_resources, ElementsAre("example.com/a"));
  EXPECT_THAT(fit.ignored_resource_groups, ElementsAre("example.com"));
  EXPECT_EQ(fit.strategy, NodeResourcesFitArgs::Strategy::kRequestedToCapacityRatio);
  EXPECT_THAT(fit.resources, ElementsAre(ResourceWeight{"cpu", 3}, ResourceWeight{"memory", 1}));
  EXPECT_THAT(fit.shape, ElementsAre(ShapePoint{0, 10}, ShapePoint{90, 0}));
  const auto spread = args_of<PodTopologySpreadArgs>(config, "PodTopologySpread");
  EXPECT_FALSE(spread.system_defaulting);
  ASSERT_EQ(spread.default_constraints.size(), 1u);
  EXPECT_EQ(spread.default_constraints[0].max_skew, 2);
  EXPECT_EQ(spread.default_constraints[0].min_domains, 3);
  EXPECT_FALSE(spread.default_constraints[0].hard);
  EXPECT_EQ(args_of<NodeAffinityArgs>(config, "NodeAffinity").added_affinity,
            R"({"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{}]}})");
  EXPECT_EQ(args_of<DynamicResourcesArgs>(config, "DynamicResources").filter_timeout, 1min);
  EXPECT_EQ(args_of<DynamicResourcesArgs>(config, "DynamicResources").binding_timeout, 10min);
  EXPECT_EQ(args_of<RawArgs>(config, "Random").json, R"({"seed":7})");
  EXPECT_EQ(args_of<VolumeBindingArgs>(config, "VolumeBinding").bind_timeout_seconds, 600);
}

TEST(SchedulerConfig, AnExtendersResourcesReplaceTheIgnoredOnes) {
  const SchedulerConfig config = read(R"(
extenders:
- urlPrefix: http://a
  ignorable: true
  tlsConfig: {certData: YWJj, keyData: ZGVm}
  managedResources: [{name: example.com/x, ignoredByScheduler: true}, {name: example.com/y}]
- urlPrefix: http://b
  httpTimeout: 1.5s
profiles:
- pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [example.com/z]}}]
)");
  EXPECT_THAT(args_of<NodeResourcesFitArgs>(config, "NodeResourcesFit").ignored_resources,
              ElementsAre("example.com/x"));
  ASSERT_EQ(config.extenders.size(), 2u);
  EXPECT_EQ(config.extenders[0].tls.cert_data, "abc");
  EXPECT_EQ(config.extenders[0].http_timeout, 5s);
  EXPECT_EQ(config.extenders[1].http_timeout, 1500ms);
  EXPECT_THAT(calling_order(config), ElementsAre(&config.extenders[1], &config.extenders[0]));
  EXPECT_THAT(write_config(config), HasSubstr("YWJj"));
  EXPECT_THAT(write_config(config), testing::Not(HasSubstr("ZGVm")));  // the private key
}

TEST(SchedulerConfig, WarnsOfNamesThatDoNothing) {
  EXPECT_THAT(
      read(R"(profiles:
- plugins:
    score: {disabled: [{name: ImageLocalty}, {name: '*'}]}
    multiPoint: {enabled: [{name: GangScheduling}]}
  pluginConfig: [{name: Foreign, args: {}}])")
          .warnings,
      ElementsAre("f.yaml:5: profiles[0].plugins.score.disabled[0].name: there is no plugin "
                  "\"ImageLocalty\"; did you mean \"ImageLocality\"?",
                  "f.yaml:6: profiles[0].plugins.multiPoint.enabled[0].name: GangScheduling does "
                  "nothing: its alpha feature is off, as it is by default in kube-scheduler",
                  "f.yaml:7: profiles[0].pluginConfig[0].name: there is no plugin \"Foreign\""));
}

TEST(SchedulerConfig, CountsProblemsBeyondTheFirst) {
  const Result<SchedulerConfig> config = read_config(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "parallelism: 0\nxyz: 1\n",
      kTestRegistry, "a\nb");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message,
            "a\\nb:3: parallelism: 0 must be 1 or more (the first of 2 problems)");
  ASSERT_EQ(config.error().causes.size(), 2u);
  EXPECT_EQ(config.error().causes[0].field, "parallelism");
}

TEST(ConfigFlags, OfLeaderElectionCountWithAFile) {
  SchedulerConfig config = read("leaderElection: {leaderElect: true, resourceName: a}");
  ASSERT_TRUE(apply({.leader_elect = false, .resource_name = "b"}, true, config));
  EXPECT_FALSE(config.leader_election.leader_elect);
  EXPECT_EQ(config.leader_election.resource_name, "b");
  EXPECT_THAT(config.warnings, IsEmpty());
}

TEST(ConfigFlags, FeatureGatesTurnWhatCanBeTurnedAndTheOthersMustStand) {
  const auto apply_gates = [](const std::string& gates, SchedulerConfig& config) {
    const Result<Ok> applied = apply({.feature_gates = {gates}}, true, config);
    return applied ? "" : applied.error().message;
  };
  SchedulerConfig config;
  EXPECT_TRUE(config.features.async_preemption);
  EXPECT_EQ(apply_gates("PodLevelResources=true,SchedulerAsyncPreemption=false", config), "");
  EXPECT_FALSE(config.features.async_preemption);
  EXPECT_EQ(apply_gates("SchedulerAsyncPreemption=true", config), "");
  EXPECT_TRUE(config.features.async_preemption);
  EXPECT_THAT(apply_gates("SchedulerAsyncPreemption", config),
              HasSubstr("SchedulerAsyncPreemption=true or SchedulerAsyncPreemption=false"));
  EXPECT_THAT(apply_gates("GangScheduling=true", config), HasSubstr("off and cannot be turned"));
  EXPECT_THAT(apply_gates("SchedulerAsyncPremption=true", config),
              HasSubstr("maybe you meant SchedulerAsyncPreemption"));
  EXPECT_THAT(apply_gates("Xyzzy=true", config), HasSubstr("leave it out"));
}

TEST(ConfigFlags, ThatAreDeprecatedCountOnlyWithoutAFile) {
  const ConfigFlags flags{.profiling = false, .kubeconfig = "/k", .kube_api_qps = 7};
  SchedulerConfig alone = default_config(kTestRegistry);
  ASSERT_TRUE(apply(flags, false, alone));
  EXPECT_EQ(alone.client_connection.kubeconfig, "/k");
  EXPECT_EQ(alone.client_connection.qps, 7);
  EXPECT_FALSE(alone.enable_profiling);
  EXPECT_THAT(alone.warnings, IsEmpty());

  SchedulerConfig with_file = read("");
  ASSERT_TRUE(apply(flags, true, with_file));
  EXPECT_EQ(with_file.client_connection.kubeconfig, "");
  EXPECT_EQ(with_file.client_connection.qps, 50);
  EXPECT_EQ(with_file.warnings.size(), 3u);
  EXPECT_EQ(with_file.warnings.at(1),
            "--kubeconfig is ignored because --config is given, as in kube-scheduler; set "
            "clientConnection.kubeconfig in that file");
}

TEST(ConfigFlags, AreNamedWhenTheyAreWrong) {
  const std::pair<ConfigFlags, std::string_view> rows[] = {
      {{.lease_duration = 5s},
       "--leader-elect-lease-duration: must be greater than --leader-elect-renew-deadline"},
      {{.retry_period = 9s},
       "--leader-elect-renew-deadline: must be greater than 1.2 times --leader-elect-retry-period"},
      {{.resource_lock = "endpoints"},
       "--leader-elect-resource-lock: must be \"leases\", the only kind of lock that is left"},
      {{.kube_api_burst = -1}, "--kube-api-burst: must not be negative"},
      {{.pod_max_in_unschedulable_pods = -1s},
       "--pod-max-in-unschedulable-pods-duration: must not be negative"},
  };
  for (const auto& [flags, want] : rows) {
    SchedulerConfig config = default_config(kTestRegistry);
    const Result<Ok> applied = apply(flags, false, config);
    ASSERT_FALSE(applied) << want;
    EXPECT_EQ(applied.error().message, want);
  }
}

}  // namespace
}  // namespace berth::scheduler
