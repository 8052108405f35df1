// SPDX-License-Identifier: Apache-2.0
#include "lab/stages/stages.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lab/bench_for_test.h"

namespace berth::lab {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kPod =
    R"({"metadata":{"name":"p","annotations":{"a/b":"2s"}},"spec":{"containers":[{"name":"x","image":"i"},)"
    R"({"name":"y","image":"j"}],"hostNetwork":false},"status":{"phase":"Running","n":3,"conditions":)"
    R"([{"type":"Ready","status":"True"},{"type":"Initialized","status":"False"}]}})";

TEST(Queries, FindWhatJqFinds) {
  struct Row {
    const char* query;
    const char* results;
  };
  const Row rows[] = {
      {".status.phase", R"("Running")"},
      {".", nullptr},
      {".status.none", ""},
      {".status.none.deeper", ""},
      {".status.phase.deeper", ""},
      {".status.conditions.[].type", R"("Ready" "Initialized")"},
      {".status.conditions[] | .type", R"("Ready" "Initialized")"},
      {".status.conditions.[] | select( .type == \"Ready\" ) | .status", R"("True")"},
      {".status.conditions[] | select(.type != \"Ready\") | .status", R"("False")"},
      {".status.conditions[] | select(.type == \"Ready\" and .status == \"False\")", ""},
      {".status.conditions[] | select(.type == \"x\" or .status == \"False\") | .type",
       R"("Initialized")"},
      {".metadata.annotations[\"a/b\"]", R"("2s")"},
      {".metadata.annotations.\"a/b\"", R"("2s")"},
      {".spec.containers[1].name", R"("y")"},
      {".spec.containers[-1].name", R"("y")"},
      {".spec.containers[7].name", ""},
      {".spec.none[]", ""},
      {".spec.none[]?", ""},
      {"select(.status.n == 3) | .status.n", "3"},
      {"select(.spec.hostNetwork) | .status.n", ""},
  };
  for (const Row& row : rows) {
    const Result<Query> query = Query::parse(row.query);
    ASSERT_TRUE(query.has_value()) << query.error().message;
    std::string found;
    for (const json::Slice each : query->run(json::Slice(kPod)))
      found += (found.empty() ? "" : " ") + std::string(each.raw());
    EXPECT_EQ(found, row.results == nullptr ? kPod : row.results) << row.query;
  }
}

TEST(Queries, OutsideOfTheSubsetAreRefused) {
  for (const char* query :
       {"", "status", ".a // 1", ".a | length", "map(.x)", ".a | test(\"x\")", ".a[1:2]", ".[",
        ".[\"x", "select(.a == )", "select .a", ".a ==", ". as $x | .a", ".a.[\"\\(.b)\"]"})
    EXPECT_FALSE(Query::parse(query).has_value()) << query;
  EXPECT_THAT(Query::parse(".a | length").error().message, HasSubstr("\"length\" is outside"));
}

std::string rendered(std::string_view text) {
  const Result<Template> made = Template::parse(text);
  if (!made) return "refused: " + made.error().message;
  const Result<std::string> out = made->render(
      json::Slice(kPod), {.now = World::kNewYear2026,
                          .node_name = "n",
                          .node_ip = [](std::string_view n) { return "ip-" + std::string(n); },
                          .pod_ip = [] { return std::string("10.0.0.9"); }});
  return out ? *out : "failed: " + out.error().message;
}

TEST(Templates, WriteWhatGoWrites) {
  struct Row {
    const char* text;
    const char* out;
  };
  const Row rows[] = {
      {"plain", "plain"},
      {"{{ .status.phase }}", "Running"},
      {"a {{- /* no */ -}} b", "ab"},
      {"{{ .status.n }} {{ .spec.hostNetwork }} {{ .none }}", "3 false <no value>"},
      {"{{ $x := .status }}{{ $x.phase | Quote }}", R"("Running")"},
      {"{{ range .spec.containers }}[{{ .name }}]{{ end }}", "[x][y]"},
      {"{{ range $i, $c := .spec.containers }}{{ $i }}={{ $c.image }} {{ end }}", "0=i 1=j "},
      {"{{ range .none }}x{{ else }}none{{ end }}", "none"},
      {"{{ if .none }}a{{ else if eq .status.phase \"Running\" }}b{{ else }}c{{ end }}", "b"},
      {"{{ with .status.conditions }}{{ len . }}{{ end }}", "2"},
      {"{{ with .none }}x{{ else }}y{{ end }}", "y"},
      {"{{ $found := false }}{{ range .spec.containers }}{{ if eq .name \"y\" }}{{ $found = true }}"
       "{{ end }}{{ end }}{{ $found }}",
       "true"},
      {"{{ or .none .status.phase \"x\" }} {{ and .status.n 0 }}", "Running 0"},
      {"{{ or ( index .metadata.annotations \"a/b\" ) \"none\" }}", "2s"},
      {"{{ (index .spec.containers 1).name }}", "y"},
      {"{{ index (index .spec.containers 0) \"image\" }}", "i"},
      {"{{ Now }} {{ Now | Quote }}", "2026-01-01T00:00:00Z \"2026-01-01T00:00:00Z\""},
      {"{{ NodeIPWith .none | Quote }} {{ NodeName }} {{ NodeIP }}", "\"ip-<no value>\" n ip-n"},
      {"{{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid \"\" ) }}",
       "10.0.0.9"},
      {"{{ range PodIPsWith . }}{{ . }}{{ end }}", "10.0.0.9"},
      {"{{ index (NodeIPsWith \"m\") 0 }}", "ip-m"},
      {"{{ printf \"%s-%d%%\" .status.phase .status.n }}", "Running-3%"},
      {"{{ range NodeConditions }}{{ .type }} {{ end }}",
       "Ready MemoryPressure DiskPressure PIDPressure NetworkUnavailable "},
      {"{{ $d := or .none dict }}{{ len $d }}", "0"},
      {"{{ not .none }} {{ ne 1 2 }} {{ gt .status.n 2 }} {{ le 3 3 }}", "true true true true"},
      {"{{ `\"\"` }}", "\"\""},
      {"m:{{ YAML .metadata.annotations 1 }}", "m:\n  a/b: 2s\n  "},
      {"{{ $.status.phase }}", "Running"},
      {"{{ default 7 .none }} {{ add 1 2 3 }}", "7 6"},
  };
  for (const Row& row : rows) EXPECT_EQ(rendered(row.text), row.out) << row.text;
}

TEST(Templates, OutsideOfTheSubsetAreRefusedWithTheirLine) {
  struct Row {
    const char* text;
    const char* why;
  };
  const Row rows[] = {
      {"a\nb {{ range .x }}", "line 2: its {{ end }} is missing"},
      {"{{ end }}", "line 1: {{ end }} closes nothing"},
      {"a\n\n{{ env \"HOME\" }}",
       "line 3: the function env is outside of the templates that are understood"},
      {"{{ template \"x\" }}",
       "line 1: {{ template }} is outside of the templates that are understood"},
      {"{{ .x", "line 1: }} is missing"},
      {"{{ .x | .y }}", "line 1: what follows | is a function"},
      {"{{ .x .y }}", "line 1: only functions take arguments"},
      {"{{ 1.5 }}", "line 1: only whole numbers are understood"},
      {"{{ (.x }}", "line 1: a ) is missing"},
      {"{{ if }}{{ end }}", "line 1: a value is missing"},
      {"{{ \"x }}", "line 1: a \" is missing"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(rendered(row.text), std::string("refused: ") + row.why) << row.text;
  EXPECT_EQ(rendered("{{ $x }}"), "failed: $x was never declared");
  EXPECT_EQ(rendered("{{ range 5 }}{{ end }}"), "failed: range goes over lists and maps");
}

constexpr std::string_view kStage = R"(
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: run}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: '.metadata.deletionTimestamp', operator: 'DoesNotExist'}
    - {key: '.status.phase', operator: 'In', values: ['Pending']}
  delay:
    durationMilliseconds: 5000
    durationFrom: {expressionFrom: '.metadata.annotations["run/delay"]'}
  next:
    event: {type: Normal, reason: Ran, message: It runs}
    finalizers: {add: [{value: example.com/hold}]}
    statusTemplate: |
      phase: Running
      podIP: {{ PodIP | Quote }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: well}
spec:
  resourceRef: {kind: Pod}
  selector: {matchExpressions: [{key: '.status.phase', operator: In, values: [Running]}]}
  weight: 1
  weightFrom: {expressionFrom: '.metadata.annotations["well"]'}
  steps:
  - patch: {subresource: status, root: status, template: 'phase: Succeeded'}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: badly}
spec:
  resourceRef: {kind: Pod}
  selector: {matchExpressions: [{key: '.status.phase', operator: In, values: [Running]}]}
  weight: 3
  steps:
  - patch: {subresource: status, root: status, template: 'phase: Failed'}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: go}
spec:
  resourceRef: {kind: Pod}
  selector: {matchExpressions: [{key: '.metadata.deletionTimestamp', operator: Exists}]}
  steps:
  - finalizers: {empty: true}
  - delete: true
)";

LabOptions with_stages(std::initializer_list<std::string_view> texts) {
  auto stages = std::make_shared<Stages>();
  for (const std::string_view text : texts) {
    const Result<Ok> fine = stages->add(text, "stages.yaml");
    EXPECT_TRUE(fine.has_value()) << fine.error().message;
  }
  LabOptions options = some_nodes(1);
  options.stages = stages;
  return options;
}

TEST(StageFiles, TakePodsFromStageToStage) {
  Bench bench(with_stages({kStage}));
  bench.create(PodText("p").note("run/delay", "20s").note("well", "1000000"));
  bench.world.run_for(19s);
  EXPECT_EQ(bench.phase("p"), "Pending");
  bench.world.run_for(2s);
  EXPECT_EQ(bench.phase("p"), "Succeeded");
  EXPECT_EQ(bench.pod("p")->status()["podIP"].text(), "10.0.0.1");
  EXPECT_EQ(bench.pod("p")->finalizers(), std::vector<std::string>{"example.com/hold"});
  EXPECT_EQ(bench.store.count(kube::kCoreEvent), 1u);
  bench.erase(kube::kPod, "p", 30);
  bench.world.run_for(1s);
  EXPECT_EQ(bench.pod("p"), nullptr);
}

TEST(StageFiles, AreDrawnByWeight) {
  Bench bench(with_stages({kStage}));
  for (int i = 0; i < 400; ++i)
    bench.create(PodText(fmt::format("p{}", i)).note("run/delay", "1s"));
  bench.world.run_for(10s);
  int well = 0, badly = 0;
  for (int i = 0; i < 400; ++i) {
    const std::string phase = bench.phase(fmt::format("p{}", i));
    ++(phase == "Succeeded" ? well : badly);
    EXPECT_NE(phase, "Running");
  }
  EXPECT_GT(well, 60);
  EXPECT_LT(well, 140) << "one in four";
}

TEST(StageFiles, ThatAreNotUnderstoodNameTheirLine) {
  struct Row {
    const char* from;
    const char* to;
    const char* why;
  };
  const Row rows[] = {
      {"{key: '.metadata.deletionTimestamp', operator: 'DoesNotExist'}",
       "{cel: {expression: 'has(self.x)'}}",
       "stages.yaml:9: spec.selector.matchExpressions[0].cel: CEL expressions are not understood"},
      {"'.metadata.deletionTimestamp'", "'.a | length'",
       "stages.yaml:9: spec.selector.matchExpressions[0].key: \"length\" is outside"},
      {"'DoesNotExist'", "'Intersection'", "operator \"Intersection\" is not supported"},
      {"kind: Pod}", "kind: Deployment}",
       "stages.yaml:6: spec.resourceRef.kind: stages are understood for v1 Pod and Node"},
      {"{{ PodIP | Quote }}", "{{ sha256sum . }}",
       "stages.yaml:19: spec.next.statusTemplate: the function sha256sum is outside"},
      {"template: 'phase: Succeeded'}", "type: apply, template: x}",
       "spec.steps[0].patch.type: patch type \"apply\" is not understood"},
  };
  for (const Row& row : rows) {
    std::string text(kStage);
    const std::size_t at = text.find(row.from);
    ASSERT_NE(at, std::string::npos) << row.from;
    text.replace(at, std::string_view(row.from).size(), row.to);
    Stages stages;
    const Result<Ok> answer = stages.add(text, "stages.yaml");
    ASSERT_FALSE(answer.has_value()) << row.to;
    EXPECT_THAT(answer.error().message, HasSubstr(row.why));
  }
}

// KWOK's own stages, where its sources are at hand (BERTH_KWOK_DIR names the folder), as they are
// in e2e_up_kwok_stages.
class KwokStages : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("BERTH_KWOK_DIR");
    if (folder == nullptr || *folder == '\0')
      GTEST_SKIP() << "BERTH_KWOK_DIR is not set: let it name KWOK's sources, as `cd "
                      "tools/real/kwok && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok` prints them";
    root = std::filesystem::path(folder) / "kustomize" / "stage";
  }
  std::shared_ptr<Stages> load(std::initializer_list<const char*> folders) {
    auto stages = std::make_shared<Stages>();
    for (const char* folder : folders)
      for (const auto& entry : std::filesystem::directory_iterator(root / folder)) {
        if (entry.path().extension() != ".yaml") continue;
        std::ostringstream text;
        text << std::ifstream(entry.path()).rdbuf();
        const Result<Ok> fine = stages->add(text.str(), entry.path().string());
        EXPECT_TRUE(fine.has_value()) << fine.error().message;
      }
    return stages;
  }
  std::filesystem::path root;
};

TEST_F(KwokStages, OfTheFastKindRunPodsAndInitializeNodes) {
  LabOptions options;
  options.stages = load({"pod/fast", "node/fast", "node/heartbeat"});
  Bench bench(options);
  bench.create(kube::kNode, R"({"metadata":{"name":"node-0"},"spec":{}})");
  bench.world.run_for(1s);
  const json::Slice node = bench.node("node-0")->status();
  EXPECT_EQ(node["phase"].text(), "Running");
  EXPECT_EQ(node["capacity"]["cpu"].text(), "1k");
  EXPECT_EQ(node["addresses"].size(), 2u);
  EXPECT_EQ(node["conditions"].size(), 5u);
  bench.create(PodText("web").init(R"({"name":"a","image":"i"})"));
  bench.create(PodText("job").policy("Never").job());
  bench.world.run_for(60s);
  EXPECT_EQ(bench.phase("web"), "Running");
  EXPECT_EQ(bench.phase("job"), "Succeeded");
  EXPECT_FALSE(bench.pod("web")->status()["podIP"].text().empty());
  const auto beat = kube::parse_time(
      bench.node("node-0")->status()["conditions"][std::size_t{0}]["lastHeartbeatTime"].text());
  EXPECT_LT(bench.world.clock().wall() - *beat, 26s);
  bench.erase(kube::kPod, "web", 30);
  bench.world.run_for(1s);
  EXPECT_EQ(bench.pod("web"), nullptr);
}

TEST_F(KwokStages, OfTheGeneralKindTakeTheirTimeAndFailWhereTold) {
  LabOptions options = some_nodes(1);
  options.stages = load({"pod/general", "pod/chaos", "node/heartbeat-with-lease", "node/chaos"});
  Bench bench(options);
  bench.create(PodText("web").init(R"({"name":"a","image":"i"})"));
  bench.create(PodText("job")
                   .policy("Never")
                   .job()
                   .note("pod-complete.stage.kwok.x-k8s.io/delay", "100s")
                   .note("pod-complete.stage.kwok.x-k8s.io/jitter-delay", "100s"));
  bench.world.run_for(25s);
  EXPECT_EQ(bench.phase("web"), "Running");
  EXPECT_EQ(bench.phase("job"), "Running");
  bench.patch(
      kube::kPod, "web",
      R"({"metadata":{"labels":{"pod-container-running-failed.stage.kwok.x-k8s.io":"true"}}})");
  bench.world.run_for(100s);
  EXPECT_EQ(bench.phase("web"), "Failed");
  EXPECT_EQ(bench.phase("job"), "Succeeded");
  bench.erase(kube::kPod, "job", 30);
  bench.world.run_for(40s);
  EXPECT_EQ(bench.pod("job"), nullptr);
}

}  // namespace
}  // namespace berth::lab
