// SPDX-License-Identifier: Apache-2.0
#include "controllers/batchjob/application.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

using json::Slice;
using ::testing::HasSubstr;

const JobKind& kind_of(std::string_view name) {
  for (const JobKind& kind : built_in_job_kinds())
    if (kind.name == name) return kind;
  throw std::runtime_error("no such kind");
}

ApplicationOrder order_of(std::int64_t slots) {
  return {
      .ns = "default",
      .name = "crawler",
      .owner =
          R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","name":"crawler","uid":"u1","controller":true})",
      .slots = slots,
      .slot_size = {{"cpu", *kube::Quantity::parse("750m")},
                    {"memory", *kube::Quantity::parse("6Gi")}},
      .labels = {{"berth.dev/grant", "3f9c12ab77e0-17"}},
      .annotations = {{"berth.dev/slots", "0,3"}},
      .node_label = "tuberlin.de/tb",
      .node_values = {"0", "2"},
      .scheduler = "berth",
      .priority_class = "berth-executor"};
}

std::string made(std::string_view kind, std::string_view part, const ApplicationOrder& order) {
  auto json = application_json(kind_of(kind), Slice(part), order);
  EXPECT_TRUE(json) << json.error().message;
  return json.value_or("{}");
}

TEST(Application, ESI_043_OfSparkSetsTheExecutorsAndLeavesTheDriver) {
  const std::string text =
      made("spark", R"({"type":"Scala","driver":{"cores":2},"mainClass":"Crawl"})", order_of(2));
  const Slice app(text);
  EXPECT_EQ(app["apiVersion"].text(), "sparkoperator.k8s.io/v1beta2");
  EXPECT_EQ(app["metadata"]["name"].text(), "crawler");
  EXPECT_EQ(app["metadata"]["ownerReferences"][std::size_t{0}]["uid"].text(), "u1");
  EXPECT_EQ(app["spec"]["type"].text(), "Scala");
  EXPECT_EQ(app["spec"]["driver"].raw(), R"({"cores":2})");
  const Slice executor = app["spec"]["executor"];
  EXPECT_EQ(executor["instances"].integer(), 2);
  EXPECT_EQ(executor["cores"].integer(), 1);
  EXPECT_EQ(executor["coreRequest"].text(), "750m");
  EXPECT_EQ(executor["memory"].text(), "6144m");
  EXPECT_EQ(executor["labels"]["berth.dev/grant"].text(), "3f9c12ab77e0-17");
  EXPECT_EQ(executor["schedulerName"].text(), "berth");
  EXPECT_EQ(executor["priorityClassName"].text(), "berth-executor");
  EXPECT_THAT(std::string(executor["affinity"].raw()),
              HasSubstr(R"("key":"tuberlin.de/tb","operator":"In","values":["0","2"])"));
}

TEST(Application, ESI_044_WhatTheUserSaysOfExecutorsIsOverwritten) {
  const std::string text = made(
      "spark",
      R"({"batchScheduler":"volcano","executor":{"instances":99,"memory":"64g","memoryLimit":"64g","nodeSelector":{"a":"b"},
                                   "labels":{"team":"x"},"affinity":{"podAffinity":{}},"javaOptions":"-Xss4m"}})",
      order_of(2));
  const Slice spec = Slice(text)["spec"];
  EXPECT_FALSE(spec["batchScheduler"]);
  EXPECT_EQ(spec["executor"]["instances"].integer(), 2);
  EXPECT_EQ(spec["executor"]["memory"].text(), "6144m");
  EXPECT_FALSE(spec["executor"]["memoryLimit"]);
  EXPECT_FALSE(spec["executor"]["nodeSelector"]);
  EXPECT_FALSE(spec["executor"]["affinity"]["podAffinity"])
      << "an affinity of the user's could keep it from its slots";
  EXPECT_EQ(spec["executor"]["labels"]["team"].text(), "x") << "labels join";
  EXPECT_EQ(spec["executor"]["javaOptions"].text(), "-Xss4m");
}

TEST(Application, ESI_060_WhatNobodyIsToldToSetStaysTheUsers) {
  constexpr const char* kPart =
      R"({"template":{"spec":{"schedulerName":"mine","containers":[{"name":"c","resources":{"requests":{"cpu":"9","berth.dev/slot":"1","ephemeral-storage":"1Gi"}}}]}}})";
  ApplicationOrder order = order_of(1);
  order.scheduler = "";
  const auto pod_of = [&](const std::string& text) {
    return std::string(Slice(text)["spec"]["template"]["spec"].raw());
  };
  std::string pod = pod_of(made("job", kPart, order));
  EXPECT_EQ(Slice(pod)["schedulerName"].text(), "mine");
  const Slice requests = Slice(pod)["containers"][std::size_t{0}]["resources"]["requests"];
  EXPECT_EQ(requests["cpu"].text(), order.slot_size["cpu"].text());
  EXPECT_EQ(requests["berth.dev/slot"].text(), "1");
  EXPECT_EQ(requests["ephemeral-storage"].text(), "1Gi");
  order.scheduler = "external-scheduler";
  pod = pod_of(made("job", kPart, order));
  EXPECT_EQ(Slice(pod)["schedulerName"].text(), "external-scheduler");
}

TEST(Application, WhatTheUserWritesIsNeverTakenForATemplate) {
  const std::string text =
      made("spark", R"({"arguments":["${slots}","${affinity}"],"executor":{"env":{"A":"${cpu}"}}})",
           order_of(2));
  EXPECT_EQ(Slice(text)["spec"]["arguments"].raw(), R"(["${slots}","${affinity}"])");
  EXPECT_EQ(Slice(text)["spec"]["executor"]["env"]["A"].text(), "${cpu}");
}

TEST(Application, MemoryIsRoundedDownToWhatFitsTheSlot) {
  ApplicationOrder order = order_of(1);
  order.slot_size["memory"] = *kube::Quantity::parse("1000000000");
  EXPECT_EQ(Slice(made("spark", "{}", order))["spec"]["executor"]["memory"].text(), "953m");
}

TEST(Application, ESI_124_AJobThatMayGrowAllocatesDynamically) {
  ApplicationOrder order = order_of(2);
  EXPECT_FALSE(Slice(made("spark", "{}", order))["spec"]["dynamicAllocation"]);
  order.most_slots = 6;
  EXPECT_EQ(Slice(made("spark", "{}", order))["spec"]["dynamicAllocation"].raw(),
            R"({"enabled":true,"initialExecutors":2,"minExecutors":1,"maxExecutors":6})");
}

TEST(Application, OfFlinkTakesTheThesisNamesAndIsStandalone) {
  const std::string text =
      made("flink", R"({"jarFile":"./w.jar","className":"W","args":["-i","x"],"image":"flink:2"})",
           order_of(3));
  const Slice spec = Slice(text)["spec"];
  EXPECT_EQ(spec["mode"].text(), "standalone");
  EXPECT_EQ(spec["image"].text(), "flink:2");
  EXPECT_FALSE(spec["jarFile"]);
  EXPECT_EQ(spec["job"]["jarURI"].text(), "./w.jar");
  EXPECT_EQ(spec["job"]["entryClass"].text(), "W");
  EXPECT_EQ(spec["job"]["args"].raw(), R"(["-i","x"])");
  EXPECT_EQ(spec["job"]["parallelism"].integer(), 3);
  EXPECT_EQ(spec["taskManager"]["resources"].raw(),
            R"({"requests":{"cpu":"750m","memory":"6Gi"},"limits":{"cpu":"750m","memory":"6Gi"}})");
  EXPECT_EQ(spec["taskManager"]["podTemplate"]["spec"]["schedulerName"].text(), "berth");
}

TEST(Application, OfAPlainJobKeepsTheOtherContainers) {
  const std::string text = made(
      "job",
      R"({"template":{"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}}})",
      order_of(4));
  const Slice spec = Slice(text)["spec"];
  EXPECT_EQ(spec["parallelism"].integer(), 4);
  EXPECT_FALSE(spec["completions"]) << "it could never change";
  const Slice containers = spec["template"]["spec"]["containers"];
  ASSERT_EQ(containers.size(), 2U);
  EXPECT_EQ(containers[std::size_t{0}]["image"].text(), "x");
  EXPECT_EQ(containers[std::size_t{0}]["resources"]["requests"]["cpu"].text(), "750m");
  EXPECT_EQ(containers[std::size_t{1}].raw(), R"({"name":"b","image":"y"})");
}

TEST(Application, WithoutASchedulerOrAClassNamesNone) {
  ApplicationOrder order = order_of(1);
  order.scheduler = order.priority_class = "";
  const std::string text = made("job", R"({"template":{"spec":{"containers":[{}]}}})", order);
  for (const char* name : {"schedulerName", "priorityClassName"})
    EXPECT_FALSE(Slice(text)["spec"]["template"]["spec"][name]) << name;
}

TEST(Application, ARefusalNamesWhatToSet) {
  ApplicationOrder order = order_of(1);
  EXPECT_THAT(application_json(kind_of("spark"), Slice("[]"), order).error().message,
              HasSubstr("spec.sparkSpec"));
  order.slot_size.erase("memory");
  EXPECT_THAT(application_json(kind_of("spark"), Slice("{}"), order).error().message,
              HasSubstr("spec.resourcesPerSlot.memory"));
}

TEST(Application, IsResizedWhereItsKindTakesIt) {
  EXPECT_EQ(resize_patch(kind_of("job"), Slice("{}"), order_of(5)),
            R"({"spec":{"parallelism":5}})");
  EXPECT_EQ(resize_patch(kind_of("spark"), Slice("{}"), order_of(5)), std::nullopt);
}

TEST(Application, OfAnIndexedJobHasAsManyCompletionsAsExecutorsAndKeepsThatInStep) {
  const std::string text = made(
      "job",
      R"({"completionMode":"Indexed","completions":9,"template":{"spec":{"containers":[{}]}}})",
      order_of(4));
  EXPECT_EQ(Slice(text)["spec"]["completions"].integer(), 4);
  EXPECT_EQ(resize_patch(kind_of("job"), Slice(text), order_of(5)),
            R"({"spec":{"parallelism":5,"completions":5}})");
}

TEST(Application, ComesLateWhenItsRunOrItsAttemptIsClosed) {
  const auto late = [](std::string_view run, std::string_view attempt) {
    const auto object = kube::Object::parse(fmt::format(
        R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"a","namespace":"d","annotations":{{"berth.dev/run":"{}","berth.dev/attempt":"{}"}}}}}})",
        run, attempt));
    return came_late(*object, 3, 4, 2);
  };
  EXPECT_TRUE(late("3", "1"));
  EXPECT_TRUE(late("4", "1"));
  EXPECT_FALSE(late("4", "2"));
  EXPECT_FALSE(late("", "")) << "it is somebody's own";
}

TEST(Application, ExecutorsAreKnownByTheirOperatorsLabels) {
  EXPECT_EQ(executor_labels(kind_of("spark"), "crawler"),
            (std::map<std::string, std::string>{{"sparkoperator.k8s.io/app-name", "crawler"},
                                                {"spark-role", "executor"}}));
}

// Table 3.4 of the specification, and what the thesis got wrong.
struct Reported {
  const char *kind, *status;
  ApplicationState state;
  ExecutorsSeen executors = {};
};

TEST(Application, ESI_045_StatesAreThoseOfTheCommonSet) {
  using enum ApplicationState;
  const Reported rows[] = {
      {"spark", "{}", kSubmitted},
      {"spark", R"({"applicationState":{"state":"SUBMITTED"}})", kSubmitted},
      {"spark", R"({"applicationState":{"state":"PENDING_RERUN"}})", kSubmitted},
      {"spark", R"({"applicationState":{"state":"RUNNING"}})", kSubmitted},
      {"spark",
       R"({"applicationState":{"state":"RUNNING"},"executorState":{"a":"RUNNING","b":"PENDING"}})",
       kSubmitted},
      {"spark",
       R"({"applicationState":{"state":"RUNNING"},"executorState":{"a":"RUNNING","b":"RUNNING"}})",
       kRunning},
      {"spark", R"({"applicationState":{"state":"SUCCEEDING"}})", kRunning},
      {"spark", R"({"applicationState":{"state":"COMPLETED"}})", kCompleted},
      {"spark", R"({"applicationState":{"state":"FAILING"}})", kFailed},
      {"spark", R"({"applicationState":{"state":"SUBMISSION_FAILED"}})", kSubmissionFailed},
      {"spark", R"({"applicationState":{"state":"SUSPENDED"}})", kSuspended},
      {"spark", R"({"applicationState":{"state":"UNKNOWN"}})", kUnknown},
      {"flink", R"({"jobStatus":{"state":"RECONCILING"}})", kSubmitted},
      {"flink", R"({"jobStatus":{"state":"RESTARTING"}})", kRunning},
      {"flink", R"({"jobStatus":{"state":"FINISHED"}})", kRunning, {2, 1, 1}},
      {"flink", R"({"jobStatus":{"state":"FINISHED"}})", kCompleted, {2, 0, 0}},
      {"flink", R"({"jobStatus":{"state":"CANCELED"}})", kFailed},
      {"flink", R"({"jobManagerDeploymentStatus":"ERROR"})", kSubmissionFailed},
      {"flink-cluster", R"({"state":"Stopped","components":{"job":{"state":"Succeeded"}}})",
       kCompleted},
      {"flink-cluster", R"({"state":"Stopped","components":{"job":{"state":"Failed"}}})", kFailed},
      {"flink-cluster", R"({"state":"Creating"})", kSubmitted},
      {"job", R"({"conditions":[{"type":"Complete","status":"True"}]})", kCompleted},
      {"job", R"({"conditions":[{"type":"Failed","status":"True"}]})", kFailed},
      {"job", R"({"conditions":[{"type":"Failed","status":"False"}]})", kSubmitted, {2, 2, 1}},
      {"job", "{}", kRunning, {2, 2, 2}},
  };
  for (const Reported& row : rows) {
    const std::string app = fmt::format(R"({{"status":{}}})", row.status);
    EXPECT_EQ(name_of(report_of(kind_of(row.kind), Slice(app), row.executors).state),
              name_of(row.state))
        << row.kind << " " << row.status;
  }
}

TEST(Application, ItsMessageIsTheOperators) {
  EXPECT_EQ(
      report_of(
          kind_of("spark"),
          Slice(
              R"({"status":{"applicationState":{"state":"FAILED","errorMessage":"driver lost"}}})"),
          {})
          .message,
      "driver lost");
  EXPECT_EQ(
      report_of(
          kind_of("job"),
          Slice(
              R"({"status":{"conditions":[{"type":"Failed","status":"True","message":"backoff"}]}})"),
          {})
          .message,
      "backoff");
}

TEST(JobKind, P_07_AKindIsAFileAndItsMistakesAreNamedByLine) {
  const std::string good = R"(name: ray
from: raySpec
apiVersion: ray.io/v1
kind: RayJob
resource: rayjobs
into: spec
application: {spec: {workers: "${slots}"}}
executors: {ray.io/cluster: "${name}"}
states:
  - {state: Completed, where: {status.jobStatus: [SUCCEEDED]}}
)";
  const auto read = read_job_kind(good, "ray.yaml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(Slice(*application_json(*read, Slice("{}"), order_of(3)))["spec"]["workers"].integer(),
            3);

  EXPECT_EQ(read_job_kind(good + "replicas: 3\n", "ray.yaml").error().message,
            "ray.yaml:11: replicas is not known; there are: name, from, apiVersion, kind, "
            "resource, into, rename, application, dynamic, "
            "resize, variants, elastic, executors, message, states");
  EXPECT_THAT(
      read_job_kind(good + "  - {state: Finished, where: {}}\n", "ray.yaml").error().message,
      HasSubstr(
          "ray.yaml:11: states[1].state is \"Finished\", but must be one of Submitted, Running"));
  EXPECT_THAT(read_job_kind("name: [", "ray.yaml").error().message, HasSubstr("ray.yaml: line 2"));
}

}  // namespace
}  // namespace berth::controllers
