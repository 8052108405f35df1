// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cache/test_builders.h"

namespace berth::scheduler {
namespace {

using test::pod;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::optional<std::vector<std::string>> names(std::initializer_list<std::string> list) {
  return std::vector<std::string>(list);
}

TEST(PodCompiler, ReadsWhoAPodIs) {
  const PodPtr p = pod("web")
                       .ns("shop")
                       .uid("u-1")
                       .revision(17)
                       .metadata("generation: 3")
                       .label("app", "web")
                       .on("n1")
                       .nominated("n2")
                       .started("2026-01-02T03:04:05Z")
                       .controlled_by("apps/v1", "ReplicaSet", "web-1")
                       .compile();
  EXPECT_EQ(p->text(), "shop/web");
  EXPECT_EQ(p->uid, "u-1");
  EXPECT_EQ(p->revision, 17u);
  EXPECT_EQ(p->generation, 3);
  EXPECT_EQ(p->node_name, "n1");
  EXPECT_TRUE(p->assigned());
  EXPECT_EQ(p->nominated_node_name, "n2");
  ASSERT_TRUE(p->start_time);
  EXPECT_EQ(p->start_time->unix_nanos, 1767323045000000000);
  ASSERT_TRUE(p->controller);
  EXPECT_EQ(p->controller->kind, "ReplicaSet");
  EXPECT_EQ(p->labels->find("app"), "web");
  EXPECT_FALSE(p->deleting);
  EXPECT_FALSE(p->finished);
  EXPECT_FALSE(p->scheduled);
  EXPECT_EQ(p->volumes, nullptr);
  EXPECT_FALSE(p->document.valid());
}

TEST(PodCompiler, GivesEqualSpecsAndLabelsOneObject) {
  PodCompiler compiler;
  const auto make = [&](std::string_view name, std::string_view token) {
    return pod(name)
        .label("app", "web")
        .cpu("500m")
        .volume(fmt::format("{{name: {}, projected: {{sources: []}}}}", token))
        .container(fmt::format("{{name: side, image: x, volumeMounts: [{{name: {}}}]}}", token))
        .compile(compiler);
  };
  const PodPtr a = make("a", "kube-api-access-aaaaa"), b = make("b", "kube-api-access-bbbbb");
  EXPECT_EQ(a->spec, b->spec);
  EXPECT_EQ(a->labels, b->labels);
  EXPECT_NE(a->spec, pod("c").cpu("501m").compile(compiler)->spec);
}

TEST(PodCompiler, SeesThroughDifferentSpellings) {
  PodCompiler compiler;
  const PodPtr a = pod("a").cpu("500m").memory("1Gi").compile(compiler);
  EXPECT_EQ(a->spec, pod("b").memory("1024Mi").cpu("0.5").compile(compiler)->spec);
  const auto labels = [&](const char* text) { return compiler.labels(json::Slice(text)); };
  const LabelsPtr ordered = labels(R"({"a":"1","b":"2"})");
  EXPECT_EQ(ordered, labels(R"( { "b" : "2" , "a" : "1" } )"));
  EXPECT_EQ(ordered, labels(R"({"a":"0","\u0061":"1","b":"2"})"));
  EXPECT_NE(ordered, labels(R"({"a":"1","b":"3"})"));
  EXPECT_NE(labels(R"({"a":"1b"})"), labels(R"({"a1":"b"})"));
  EXPECT_EQ(labels("{}"), labels(""));
}

// Each row differs from a plain pod in one thing that a plugin reads.
TEST(PodCompiler, TellsSpecsApartByEveryFieldThatCounts) {
  PodCompiler compiler;
  const std::vector<std::string> specs = {
      "{}",
      "schedulerName: other",
      "priority: 1",
      "preemptionPolicy: Never",
      "overhead: {cpu: 1m}",
      "resources: {requests: {cpu: 3}}",
      "containers: [{name: c, image: b}]",
      "containers: [{name: c, image: a}, {name: d, image: a}]",
      "containers: [{name: c, image: a, ports: [{hostPort: 80}]}]",
      "containers: [{name: c, image: a, ports: [{hostPort: 80, protocol: UDP}]}]",
      "containers: [{name: c, image: a, ports: [{hostPort: 80, hostIP: 10.0.0.1}]}]",
      "containers: [{name: c, image: a, restartPolicyRules: [{action: RestartAllContainers}]}]",
      "tolerations: [{key: a, operator: Exists}]",
      "tolerations: [{key: a, operator: Exists, tolerationSeconds: 3}]",
      "nodeSelector: {}",
      "nodeSelector: {a: b}",
      "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "{nodeSelectorTerms: []}}}",
      "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}",
      "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "{nodeSelectorTerms: [{matchFields: [{key: a, operator: Exists}]}]}}}",
      "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}",
      "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]}}",
      "affinity: {podAffinity: {}}",
      "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "[{topologyKey: z}]}}",
      "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "[{topologyKey: z, labelSelector: {}}]}}",
      "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "[{topologyKey: z, namespaces: [a]}]}}",
      "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "[{topologyKey: z, namespaceSelector: {}}]}}",
      "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "[{topologyKey: z}]}}",
      "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
      "[{weight: 1, podAffinityTerm: {topologyKey: z}}]}}",
      "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
      "[{weight: 2, podAffinityTerm: {topologyKey: z}}]}}",
      "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: X}]",
      "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]",
      "topologySpreadConstraints: [{maxSkew: 2, topologyKey: z, whenUnsatisfiable: X}]",
      "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, minDomains: 2}]",
      "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, nodeAffinityPolicy: Ignore}]",
      "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, nodeTaintsPolicy: Honor}]",
      "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, matchLabelKeys: [a]}]",
      "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, labelSelector: {}}]",
      "schedulingGates: [{name: g}]",
      "{hostNetwork: true, hostUsers: false}",
      "resourceClaims: [{name: r}]",
      "volumes: [{name: v, image: {reference: a}}]",
  };
  std::map<PodSpecPtr, std::string> seen;
  for (const std::string& spec : specs) {
    auto builder = pod("p").spec("containers: [{name: c, image: a}]").spec(spec);
    const PodPtr p = builder.compile(compiler);
    const auto [at, fresh] = seen.emplace(p->spec, spec);
    EXPECT_TRUE(fresh) << spec << " is taken for " << at->second;
    EXPECT_EQ(p->spec, builder.compile(compiler)->spec) << spec;
  }
}

TEST(PodCompiler, ForgetsSpecsAndLabelsThatNobodyHolds) {
  PodCompiler compiler;
  std::weak_ptr<const PodSpec> spec;
  std::weak_ptr<const Labels> labels;
  {
    const PodPtr p = pod("a").cpu("1").label("x", "y").compile(compiler);
    spec = p->spec;
    labels = p->labels;
  }
  const PodPtr kept = pod("b").cpu("2").label("x", "z").compile(compiler);
  for (int i = 0; i < 3000; ++i) {
    const std::string text = fmt::format(
        R"({{"metadata":{{"name":"p","labels":{{"n":"{0}"}}}},"spec":{{"priority":{0}}}}})", i);
    ASSERT_TRUE(compiler.compile(*kube::Object::parse(kube::kPod, text)));
  }
  EXPECT_TRUE(spec.expired());
  EXPECT_TRUE(labels.expired());
  EXPECT_EQ(pod("c").cpu("2").label("x", "z").compile(compiler)->spec, kept->spec);
}

TEST(PodCompiler, CountsWhatIsAskedInFourWays) {
  struct Row {
    const char* name;
    const char* spec;
    Resources asked, asked_nonzero;
    std::int64_t nonzero_cpu, nonzero_memory;
  };
  constexpr std::int64_t kMi = 1024 * 1024;
  const Row rows[] = {
      {"nothing stated", "containers: [{name: a}]", {}, {100, 200 * kMi, 0, {}}, 100, 200 * kMi},
      {"an explicit zero stays zero",
       "containers: [{name: a, resources: {requests: {cpu: 0, memory: 0}}}]",
       {},
       {},
       0,
       0},
      {"each container gets the default",
       "{containers: [{name: a}, {name: b, resources: {requests: {cpu: 1}}}], initContainers: "
       "[{name: i, resources: {requests: {memory: 1Gi}}}]}",
       {1000, 1024 * kMi, 0, {}},
       {1100, 1024 * kMi, 0, {}},
       1100,
       1024 * kMi},
      {"pod-level requests override, and the scorer does not see them",
       "{containers: [{name: a, resources: {requests: {cpu: 1}}}, {name: b}], resources: "
       "{requests: {cpu: 5}}}",
       {5000, 0, 0, {}},
       {1100, 400 * kMi, 0, {}},
       5000,
       400 * kMi},
      {"overhead, disk and other resources",
       "{containers: [{name: a, resources: {requests: {example.com/gpu: 2, hugepages-2Mi: 4Mi, "
       "ephemeral-storage: 1Ki, odd: 7}}}], overhead: {cpu: 10m}}",
       {10, 0, 1024, {{"example.com/gpu", 2}, {"hugepages-2Mi", 4 * kMi}}},
       {110, 200 * kMi, 1024, {{"example.com/gpu", 2}, {"hugepages-2Mi", 4 * kMi}}},
       110,
       200 * kMi},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const PodPtr p = pod("p").spec(row.spec).compile();
    EXPECT_EQ(p->spec->asked, row.asked);
    EXPECT_EQ(p->spec->asked_nonzero, row.asked_nonzero);
    EXPECT_EQ(p->used(), row.asked);
    EXPECT_EQ(p->used_nonzero_millicores(), row.nonzero_cpu);
    EXPECT_EQ(p->used_nonzero_memory(), row.nonzero_memory);
    EXPECT_EQ(p->resized, nullptr);
  }
}

TEST(PodCompiler, CountsAResizeThatIsUnderWay) {
  auto builder =
      pod("p").spec("containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Ki}}}]");
  const PodPtr still = builder
                           .status(
                               "containerStatuses: [{name: a, resources: {requests: {cpu: 1, "
                               "memory: 1Ki}}, allocatedResources: {memory: 1024, cpu: 1000m}}]")
                           .compile();
  EXPECT_EQ(still->resized, nullptr);
  const PodPtr shrinking =
      builder.status("containerStatuses: [{name: a, resources: {requests: {cpu: 2}}}]").compile();
  ASSERT_NE(shrinking->resized, nullptr);
  EXPECT_EQ(shrinking->used(), (Resources{2000, 1024, 0, {}}));
  EXPECT_EQ(shrinking->used_nonzero_millicores(), 2000);
  EXPECT_EQ(shrinking->used_nonzero_memory(), 1024);
  EXPECT_EQ(shrinking->spec, still->spec);
  EXPECT_EQ(shrinking->spec->asked.millicores, 1000);

  const PodPtr pod_level = pod("p")
                               .spec("resources: {requests: {cpu: 1}}")
                               .status("resources: {requests: {cpu: 3}}")
                               .compile();
  EXPECT_EQ(pod_level->used().millicores, 3000);
}

TEST(PodCompiler, NamesTheFieldThatCannotBeRead) {
  PodCompiler compiler;
  const auto error = [&](const test::PodBuilder& builder) {
    return compiler.compile(builder.object()).error().message;
  };
  EXPECT_THAT(error(pod("p").cpu("lots")), HasSubstr("spec.containers[0].resources.requests.cpu"));
  EXPECT_THAT(
      error(pod("p").status("containerStatuses: [{name: main, resources: {requests: {cpu: x}}}]")),
      HasSubstr("status.containerStatuses[0].resources.requests.cpu"));
}

TEST(PodCompiler, TakesHostPortsOfWhatKeepsRunning) {
  const PodPtr p = pod("p")
                       .host_port(80)
                       .host_port(53, "UDP", "10.0.0.1")
                       .init_container("{name: i, ports: [{hostPort: 1}]}")
                       .init_container("{name: s, restartPolicy: Always, ports: [{hostPort: 2}]}")
                       .container("{name: c, ports: [{containerPort: 3}, {hostPort: 0}]}")
                       .compile();
  EXPECT_THAT(p->spec->host_ports,
              ElementsAre(HostPort{"0.0.0.0", "TCP", 2}, HostPort{"0.0.0.0", "TCP", 80},
                          HostPort{"10.0.0.1", "UDP", 53}));
}

TEST(PodCompiler, ListsImagesInTheOrderTheyAreCounted) {
  const PodPtr p = pod("p")
                       .image("main")
                       .init_container("{name: i, image: r:5000/init}")
                       .volume("{name: v, image: {reference: vol@sha256:12}}")
                       .volume("{name: w, image: null}")
                       .compile();
  EXPECT_THAT(p->spec->images, ElementsAre("r:5000/init:latest", "main:latest", "vol@sha256:12"));
  EXPECT_EQ(p->spec->image_containers, 2u);
}

TEST(NormalizedImage, GetsATagWhereItHasNone) {
  EXPECT_EQ(normalized_image("nginx"), "nginx:latest");
  EXPECT_EQ(normalized_image("nginx:1"), "nginx:1");
  EXPECT_EQ(normalized_image("r:5000/nginx"), "r:5000/nginx:latest");
  EXPECT_EQ(normalized_image("r/nginx@sha256:1"), "r/nginx@sha256:1");
  EXPECT_EQ(normalized_image(":x"), ":x");
  EXPECT_EQ(normalized_image(""), ":latest");
}

TEST(PodCompiler, FindsTheNodesThatRequiredTermsName) {
  const auto named = [](std::string_view terms) {
    return pod("p")
        .spec(fmt::format("affinity: {{nodeAffinity: "
                          "{{requiredDuringSchedulingIgnoredDuringExecution: "
                          "{{nodeSelectorTerms: {}}}}}}}",
                          terms))
        .compile()
        ->spec->named_nodes;
  };
  const std::string n1 = "{key: metadata.name, operator: In, values: [n2, n1]}";
  const std::string n2 = "{key: metadata.name, operator: In, values: [n2, n3]}";
  const std::string not_in = "{key: metadata.name, operator: NotIn, values: [n2]}";
  EXPECT_EQ(named(fmt::format("[{{matchFields: [{}]}}]", n1)), names({"n1", "n2"}));
  EXPECT_EQ(named(fmt::format("[{{matchFields: [{}, {}, {}]}}]", n1, n2, not_in)), names({"n2"}));
  EXPECT_EQ(named(fmt::format("[{{matchFields: [{}]}}, {{matchFields: [{}]}}]", n1, n2)),
            names({"n1", "n2", "n3"}));
  EXPECT_EQ(named(fmt::format("[{{matchFields: [{}]}}, {{}}]", n1)), std::nullopt);
  EXPECT_EQ(named(fmt::format("[{{matchFields: [{}]}}]", not_in)), std::nullopt);
  EXPECT_EQ(named("[]"), std::nullopt);
  const std::string none = "{key: metadata.name, operator: In, values: []}";
  EXPECT_EQ(named(fmt::format("[{{matchFields: [{}]}}]", none)), names({}));
}

TEST(PodCompiler, ReadsNodeAffinity) {
  const PodPtr p = pod("p")
                       .node_selector("disk", "ssd")
                       .node_affinity("zone", {"a", "b"})
                       .preferred_node(5, "size", {"big"})
                       .preferred_node(2, "zone", {"a"})
                       .compile();
  EXPECT_TRUE(p->spec->has_node_selector);
  EXPECT_THAT(p->spec->node_selector, ElementsAre(Pair("disk", "ssd")));
  const Labels labels({{"zone", "a"}, {"size", "big"}});
  ASSERT_TRUE(p->spec->required_node_affinity);
  EXPECT_TRUE(matches(*p->spec->required_node_affinity, labels, "n"));
  EXPECT_FALSE(matches(*p->spec->required_node_affinity,
                       Labels::from_json(json::Slice(R"({"zone":"c"})")), "n"));
  EXPECT_TRUE(p->spec->has_preferred_node_affinity);
  ASSERT_TRUE(p->spec->preferred_node_affinity);
  EXPECT_EQ(score(*p->spec->preferred_node_affinity, labels, "n"), 7);
  EXPECT_EQ(
      p->spec->node_affinity_text,
      R"({"nodeSelector":{"disk":"ssd"},"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]}],"matchFields":[]}]}})");
  const PodPtr plain = pod("q").compile();
  EXPECT_FALSE(plain->spec->has_node_selector);
  EXPECT_FALSE(plain->spec->required_node_affinity);
  EXPECT_FALSE(plain->spec->has_preferred_node_affinity);
  EXPECT_EQ(plain->spec->node_affinity_text, "");
}

TEST(PodCompiler, ReadsAffinityTerms) {
  const PodPtr p = pod("p")
                       .near("zone", "app", "db")
                       .apart("host", "app", "web")
                       .near("rack", "app", "cache", 7)
                       .compile();
  const PodAffinity& a = p->spec->affinity;
  EXPECT_TRUE(a.stated);
  ASSERT_EQ(a.required.size(), 1u);
  EXPECT_EQ(a.required[0].topology_key, "zone");
  EXPECT_TRUE(a.required[0].own_namespace);
  EXPECT_TRUE(matches(a.required[0].selector, Labels::from_json(json::Slice(R"({"app":"db"})"))));
  ASSERT_EQ(a.required_anti.size(), 1u);
  ASSERT_EQ(a.preferred.size(), 1u);
  EXPECT_EQ(a.preferred[0].weight, 7);
  EXPECT_THAT(a.preferred_anti, IsEmpty());
  EXPECT_FALSE(pod("q").compile()->spec->affinity.stated);
  EXPECT_FALSE(pod("q").spec("affinity: {podAffinity: null}").compile()->spec->affinity.stated);
}

TEST(PodCompiler, KnowsWhichNamespacesATermIsAbout) {
  const auto term = [](std::string_view yaml) {
    return pod("p")
        .spec(fmt::format("affinity: {{podAffinity: "
                          "{{requiredDuringSchedulingIgnoredDuringExecution: [{}]}}}}",
                          yaml))
        .compile()
        ->spec->affinity.required.at(0);
  };
  EXPECT_TRUE(term("{topologyKey: z, namespaceSelector: null}").own_namespace);
  EXPECT_TRUE(term("{topologyKey: z}").selector.matches_nothing());
  const AffinityTerm listed = term("{namespaces: [b, a, b], labelSelector: {}}");
  EXPECT_FALSE(listed.own_namespace);
  EXPECT_THAT(listed.namespaces, ElementsAre("a", "b"));
  EXPECT_TRUE(listed.selector.everything());
  EXPECT_FALSE(listed.namespace_selector);
  const AffinityTerm chosen = term("{namespaceSelector: {}}");
  EXPECT_FALSE(chosen.own_namespace);
  ASSERT_TRUE(chosen.namespace_selector);
  EXPECT_TRUE(chosen.namespace_selector->everything());
}

TEST(PodCompiler, ReadsSpreadConstraintsWithTheirDefaults) {
  const PodPtr p = pod("p")
                       .spread(2, "zone", true, "app", "web")
                       .spread(1, "host", false, "app", "web",
                               "{minDomains: 3, nodeAffinityPolicy: Ignore, nodeTaintsPolicy: "
                               "Honor, matchLabelKeys: [rev]}")
                       .compile();
  ASSERT_EQ(p->spec->spread.size(), 2u);
  const SpreadConstraint &a = p->spec->spread[0], &b = p->spec->spread[1];
  EXPECT_EQ(a.max_skew, 2);
  EXPECT_TRUE(a.hard && a.honor_affinity && !a.honor_taints);
  EXPECT_EQ(a.min_domains, 1);
  EXPECT_EQ(b.topology_key, "host");
  EXPECT_TRUE(!b.hard && !b.honor_affinity && b.honor_taints);
  EXPECT_EQ(b.min_domains, 3);
  EXPECT_THAT(b.match_label_keys, ElementsAre("rev"));
  EXPECT_EQ(p->spec->spread_error, "");
  const PodPtr bad = pod("q").spread(1, "host", true, "a b", "c").compile();
  EXPECT_THAT(bad->spec->spread_error, HasSubstr("a b"));
}

TEST(PodCompiler, KeepsVolumesThatPluginsRead) {
  const PodPtr p = pod("p")
                       .claim("data")
                       .volume("{name: tmp, ephemeral: {volumeClaimTemplate: {}}}")
                       .volume("{name: none, emptyDir: {}}")
                       .compile();
  ASSERT_NE(p->volumes, nullptr);
  ASSERT_EQ(p->volumes->list.size(), 2u);
  EXPECT_EQ(p->volumes->list[0].kind, PodVolume::Kind::kClaim);
  EXPECT_EQ(p->volumes->list[0].claim, "data");
  EXPECT_EQ(p->volumes->list[1].kind, PodVolume::Kind::kEphemeral);
  EXPECT_EQ(p->volumes->list[1].claim, "p-tmp");
  EXPECT_FALSE(p->volumes->document.valid());

  struct Row {
    const char* source;
    PodVolume::Kind kind;
  };
  for (const Row& row :
       {Row{"gcePersistentDisk", PodVolume::Kind::kGcePd},
        Row{"awsElasticBlockStore", PodVolume::Kind::kEbs}, Row{"iscsi", PodVolume::Kind::kIscsi},
        Row{"rbd", PodVolume::Kind::kRbd}, Row{"csi", PodVolume::Kind::kInline},
        Row{"cinder", PodVolume::Kind::kInline}, Row{"azureDisk", PodVolume::Kind::kInline},
        Row{"azureFile", PodVolume::Kind::kInline}, Row{"portworxVolume", PodVolume::Kind::kInline},
        Row{"vsphereVolume", PodVolume::Kind::kInline}}) {
    SCOPED_TRACE(row.source);
    const PodPtr inline_pod =
        pod("p").volume(fmt::format("{{name: v, {}: {{x: 1, readOnly: true}}}}", row.source));
    ASSERT_NE(inline_pod->volumes, nullptr);
    const PodVolume& v = inline_pod->volumes->list.at(0);
    EXPECT_EQ(v.kind, row.kind);
    EXPECT_EQ(v.name, "v");
    EXPECT_TRUE(v.read_only);
    EXPECT_EQ(v.source[row.source]["x"].integer(), 1);
  }
  EXPECT_EQ(pod("p").volume("{name: v, csi: null}").compile()->volumes, nullptr);
}

TEST(PodCompiler, ReadsWhatTheStatusSays) {
  const PodPtr p =
      pod("p")
          .deleting()
          .phase("Failed")
          .status(
              "{conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: "
              "full}, {type: DisruptionTarget, status: 'True', reason: PreemptionByScheduler}], "
              "resourceClaimStatuses: [{name: a}]}")
          .compile();
  EXPECT_TRUE(p->deleting && p->finished && p->disrupted_by_scheduler);
  ASSERT_TRUE(p->scheduled);
  EXPECT_EQ(p->scheduled->status + p->scheduled->reason + p->scheduled->message,
            "FalseUnschedulablefull");
  EXPECT_EQ(p->claim_statuses, R"({"resourceClaimStatuses":[{"name":"a"}]})");
  EXPECT_FALSE(pod("p")
                   .status("conditions: [{type: DisruptionTarget, status: 'True', reason: "
                           "EvictionByEvictionAPI}]")
                   .compile()
                   ->disrupted_by_scheduler);
}

TEST(PodCompiler, InfersFeaturesThatANodeMustDeclare) {
  EXPECT_THAT(pod("p").compile()->spec->needed_features, IsEmpty());
  EXPECT_THAT(
      pod("p").spec("{hostNetwork: true, hostUsers: false}").compile()->spec->needed_features,
      ElementsAre("UserNamespacesHostNetworkSupport"));
  EXPECT_THAT(
      pod("p").spec("{hostNetwork: true, hostUsers: true}").compile()->spec->needed_features,
      IsEmpty());
  EXPECT_THAT(pod("p").spec("{hostNetwork: true}").compile()->spec->needed_features, IsEmpty());
  EXPECT_THAT(
      pod("p")
          .spec("{hostNetwork: true, hostUsers: false}")
          .init_container("{name: i, restartPolicyRules: [{action: Restart}, {action: "
                          "RestartAllContainers}]}")
          .compile()
          ->spec->needed_features,
      ElementsAre("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"));
}

TEST(PodCompiler, PlacesACopy) {
  const PodPtr p = pod("p").cpu("1").compile();
  const PodPtr there = PodCompiler::placed(*p, "n1");
  EXPECT_EQ(there->node_name, "n1");
  EXPECT_EQ(there->spec, p->spec);
  EXPECT_FALSE(p->assigned());
}

TEST(PodCompiler, KeepsDocumentsWhereAsked) {
  PodCompiler compiler({.keep_documents = true});
  EXPECT_EQ(pod("p").compile(compiler)->document.name(), "p");
}

}  // namespace
}  // namespace berth::scheduler
