// SPDX-License-Identifier: Apache-2.0
// The scenarios of preemption.yaml on a real API server: exactly the expected victims go, with the
// words and marks of kube-scheduler, and the pod ends where it was nominated to.
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"
#include "json/yaml.h"
#include "kube/pod_view.h"

namespace berth::e2e {
namespace {

// One document of the file, as JSON.
struct Scenario {
  std::string name, json;
};
void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

std::vector<Scenario> scenarios() {
  std::ifstream file(std::string(BERTH_SOURCE_DIR) + "/tests/e2e/scheduler/preemption.yaml");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto documents = json::yaml_to_json(text);
  BERTH_CHECK(documents.has_value(), "preemption.yaml can be read");
  std::vector<Scenario> out;
  for (const json::YamlDocument& document : *documents)
    out.push_back({json::Slice(document.json)["name"].text(), document.json});
  return out;
}

std::string node_json(json::Slice node) {
  std::string room = fmt::format(R"({{"cpu":"{}","memory":"8Gi","pods":"{}")", node["cpu"].raw(),
                                 node["pods"].integer().value_or(110));
  if (node["gpu"]) room += fmt::format(R"(,"example.com/gpu":"{}")", node["gpu"].raw());
  room += "}";
  const std::string name = node["name"].text(), taint = node["taint"].text();
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{0}","labels":{{"kubernetes.io/hostname":"{0}","topology.kubernetes.io/zone":"{1}"}}}},"spec":{{"taints":[{2}]}},"status":{{"allocatable":{3},"capacity":{3}}}}})",
      name, node["zone"].text(),
      taint.empty() ? "" : fmt::format(R"({{"key":"{}","effect":"NoSchedule"}})", taint), room);
}

// A pod that takes a while to end, so that there is time to look at it.
std::string pod_json(json::Slice pod, const std::string& name) {
  std::string ports, requests = fmt::format(R"("cpu":"{}")", pod["cpu"].raw()), limits, spec;
  for (json::Slice port : pod["ports"].elements())
    ports += fmt::format(R"({}{{"containerPort":80,"hostPort":{}}})", ports.empty() ? "" : ",",
                         port.raw());
  if (pod["gpu"]) limits = fmt::format(R"("example.com/gpu":"{}")", pod["gpu"].raw());
  for (auto [key, value] : pod["spec"].members())
    spec += fmt::format(R"(,"{}":{})", key, value.raw());
  if (pod["node"]) spec += fmt::format(R"(,"nodeName":"{}")", pod["node"].text());
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default","labels":{}}},"spec":{{"priority":{},"terminationGracePeriodSeconds":300,"containers":[{{"name":"c","image":"i","ports":[{}],"resources":{{"requests":{{{}{}{}}},"limits":{{{}}}}}}}]{}}}}})",
      name, pod["labels"] ? pod["labels"].raw() : "{}", pod["priority"].raw(), ports, requests,
      limits.empty() ? "" : ",", limits, limits, spec);
}

class Preemption : public ::testing::TestWithParam<Scenario> {
 protected:
  static void SetUpTestSuite() {
    if (auto there = program_of(subject()); !there) {
      why_not_ = there.error().message;
      return;
    }
    auto cluster = Cluster::start({.controllers = {}, .kwok = false});
    if (cluster)
      cluster_ = std::move(*cluster);
    else
      why_not_ = cluster.error().message;
  }
  static void TearDownTestSuite() { cluster_.reset(); }
  void SetUp() override {
    if (!cluster_) GTEST_SKIP() << why_not_;
    stage();
  }
  void TearDown() override {
    if (!cluster_) return;
    if (HasFailure() && scheduler_) fmt::print("{}\n", scheduler_->log_tail(30));
    scheduler_.reset();
    cluster_->wipe();
  }

  Session& admin() { return cluster_->admin(); }
  json::Slice scenario() const { return json::Slice(GetParam().json); }
  kube::PodView pod(const std::string& name) {
    const auto got = admin().get(kube::kPod, {"default", name});
    EXPECT_TRUE(got) << got.error().message;
    return kube::PodView(got ? *got : kube::Object());
  }
  // The notes of the events about an object, of one reason.
  std::vector<std::string> notes(std::string_view uid, const std::string& reason) {
    std::vector<std::string> out;
    const auto events = admin().list_all(kube::kEvent, "default");
    for (const kube::Object& event : events->items)
      if (event.member("regarding")["uid"].equals(uid) && event.member("reason").equals(reason))
        out.push_back(event.member("type").text() + ": " + event.member("note").text());
    return out;
  }
  void stage();

  static inline std::unique_ptr<Cluster> cluster_;
  static inline std::string why_not_;
  std::unique_ptr<Child> scheduler_;
};

void Preemption::stage() {
  std::vector<NewObject> objects;
  for (json::Slice object : scenario()["objects"].elements()) {
    const auto kind = kube::find_kind(object["apiVersion"].text(), object["kind"].text());
    ASSERT_TRUE(kind);
    objects.push_back({*kind, object["metadata"]["namespace"].text(), std::string(object.raw())});
  }
  for (json::Slice node : scenario()["nodes"].elements())
    objects.push_back({kube::kNode, "", node_json(node)});
  for (json::Slice each : scenario()["running"].elements())
    objects.push_back({kube::kPod, "default", pod_json(each, each["name"].text())});
  for (json::Slice budget : scenario()["budgets"].elements())
    objects.push_back(
        {kube::kPodDisruptionBudget, "default",
         fmt::format(
             R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"minAvailable":1,"selector":{{"matchLabels":{{"app":"{}"}}}}}}}})",
             budget["name"].text(), budget["app"].text())});
  objects.push_back({kube::kPod, "default", pod_json(scenario()["preemptor"], "preemptor")});
  const auto made = cluster_->create_all(std::move(objects));
  ASSERT_TRUE(made) << made.error().message;
  for (json::Slice each : scenario()["running"].elements()) {
    const std::int64_t start = each["start"].integer().value_or(1);
    ASSERT_TRUE(admin().patch(
        kube::kPod, {"default", each["name"].text()},
        fmt::format(
            R"({{"status":{{"phase":"Running","startTime":"2026-01-01T00:{:02}:{:02}Z"}}}})",
            start / 60, start % 60),
        kube::PatchType::kMerge, "status"));
  }
  // Nobody but the test counts disruptions here.
  for (json::Slice budget : scenario()["budgets"].elements())
    ASSERT_TRUE(admin().patch(
        kube::kPodDisruptionBudget, {"default", budget["name"].text()},
        fmt::format(
            R"({{"status":{{"disruptionsAllowed":{},"currentHealthy":2,"desiredHealthy":1,"expectedPods":2,"observedGeneration":1}}}})",
            budget["allowed"].raw()),
        kube::PatchType::kMerge, "status"));
}

TEST_P(Preemption, EvictsExactlyTheExpectedVictims) {
  auto started = cluster_->start_scheduler(
      subject(), {.config = "podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1\n"});
  ASSERT_TRUE(started) << started.error().message;
  scheduler_ = std::move(*started);

  const json::Slice expect = scenario()["expect"];
  const std::string node = expect["node"].text();
  std::set<std::string> victims;
  for (json::Slice victim : expect["victims"].elements()) victims.insert(victim.text());

  // What is said, and where the pod is to go.
  ASSERT_TRUE(eventually(std::chrono::seconds(30), [&] {
    return pod("preemptor").condition("PodScheduled")["reason"].equals("Unschedulable");
  }));
  const kube::PodView preemptor = pod("preemptor");
  EXPECT_EQ(preemptor.nominated_node_name(), node);
  EXPECT_EQ(preemptor.condition("PodScheduled")["status"].text(), "False");
  EXPECT_EQ(preemptor.condition("PodScheduled")["message"].text(), expect["message"].text());
  const std::string_view uid = preemptor.object().uid();
  EXPECT_TRUE(eventually(std::chrono::seconds(15),
                         [&] { return !notes(uid, "FailedScheduling").empty(); }));
  const auto failed = notes(uid, "FailedScheduling");
  EXPECT_EQ(failed.empty() ? "" : failed[0], "Warning: " + expect["message"].text());

  // Who has to go, and nobody else.
  EXPECT_TRUE(eventually(std::chrono::seconds(15), [&] {
    for (const std::string& victim : victims)
      if (!pod(victim).object().deleting()) return false;
    return true;
  }));
  std::set<std::string> leaving;
  const auto all = admin().list_all(kube::kPod, "default");
  for (const kube::Object& each : all->items)
    if (each.deleting()) leaving.insert(std::string(each.name()));
  EXPECT_EQ(leaving, victims);
  for (const std::string& name : leaving) {
    const kube::PodView victim = pod(name);
    const json::Slice mark = victim.condition("DisruptionTarget");
    EXPECT_EQ(mark["status"].text(), "True");
    EXPECT_EQ(mark["reason"].text(), "PreemptionByScheduler");
    EXPECT_EQ(mark["message"].text(),
              "default-scheduler: preempting to accommodate a higher priority pod");
    const std::string note = fmt::format("Normal: Preempted by pod {} on node {}", uid, node);
    EXPECT_TRUE(eventually(std::chrono::seconds(15),
                           [&] {
                             const auto told = notes(victim.object().uid(), "Preempted");
                             return told == std::vector<std::string>{note};
                           }))
        << name << ": "
        << fmt::format("{}", fmt::join(notes(victim.object().uid(), "Preempted"), "; "));
  }

  // When they are gone, the pod goes where it was nominated to.
  for (const std::string& name : leaving)
    ASSERT_TRUE(admin().erase(kube::kPod, {"default", name}, {.grace_period_seconds = 0}));
  if (node.empty()) {
    EXPECT_FALSE(pod("preemptor").assigned());
    return;
  }
  EXPECT_TRUE(
      eventually(std::chrono::seconds(30), [&] { return pod("preemptor").node_name() == node; }))
      << "it is on \"" << pod("preemptor").node_name() << "\"";
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Preemption, ::testing::ValuesIn(scenarios()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace berth::e2e
