// SPDX-License-Identifier: Apache-2.0
#include "controllers/stand_ins/operator_shape.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

using json::Slice;
using json::Writer;

std::string raw_or(Slice value, std::string_view otherwise) {
  return value ? std::string(value.raw()) : std::string(otherwise);
}

std::map<std::string, std::string> labels_of(Slice labels,
                                             std::map<std::string, std::string> more) {
  for (const auto [key, value] : labels.members()) more.emplace(std::string(key), value.text());
  return more;
}

// The fields of a pod's spec that a user of these kinds may set, from wherever the kind has them.
std::string pod_spec(Slice from, std::string_view container, std::string_view image,
                     std::string_view resources) {
  Writer w;
  w.object().member("restartPolicy").string("Never");
  for (const char* field :
       {"affinity", "schedulerName", "priorityClassName", "tolerations", "nodeSelector"})
    if (from[field]) w.member(field).raw(from[field].raw());
  w.member("containers")
      .array()
      .object()
      .member("name")
      .string(container)
      .member("image")
      .string(image);
  return w.member("resources").raw(resources).end().end().end().take();
}

// Spark writes sizes as the JVM does: "896m" is mebibytes.
std::string jvm_memory(const std::string& text) {
  if (text.empty()) return "1Gi";
  const std::int64_t amount = std::atoll(text.c_str());
  switch (text.back()) {
    case 'k':
      return fmt::format("{}Ki", amount);
    case 'g':
      return fmt::format("{}Gi", amount);
    default:
      return fmt::format("{}Mi", amount);
  }
}

// Spark.
std::string spark_resources(Slice part) {
  const std::string cpu = part["coreRequest"] ? part["coreRequest"].text()
                                              : std::to_string(part["cores"].integer().value_or(1));
  return fmt::format(R"({{"requests":{{"cpu":"{}","memory":"{}"}}}})", cpu,
                     jvm_memory(part["memory"].text()));
}
WantedPod spark_pod(const kube::Object& app, const char* role, std::string name,
                    std::string_view container) {
  const Slice spec = app.member("spec");
  const Slice part = spec[role];
  const std::string image = spec["image"].text();
  return {
      .name = std::move(name),
      .labels =
          labels_of(part["labels"], {{"spark-role", role},
                                     {"sparkoperator.k8s.io/app-name", std::string(app.name())},
                                     {"sparkoperator.k8s.io/launched-by-spark-operator", "true"}}),
      .annotations = raw_or(part["annotations"], "{}"),
      .spec = pod_spec(part, container, image.empty() ? "spark" : image, spark_resources(part))};
}
WantedPod spark_driver(const kube::Object& app) {
  return spark_pod(app, "driver", fmt::format("{}-driver", app.name()), "spark-kubernetes-driver");
}
WantedPod spark_executor(const kube::Object& app, std::int64_t index) {
  WantedPod pod = spark_pod(app, "executor", fmt::format("{}-exec-{}", app.name(), index + 1),
                            "spark-kubernetes-executor");
  pod.labels.emplace("spark-exec-id", std::to_string(index + 1));
  return pod;
}
std::int64_t spark_needs(Slice spec) { return spec["executor"]["instances"].integer().value_or(1); }
// With a backlog that never ends, as many as it may have.
std::int64_t spark_asks(Slice spec) {
  const Slice dynamic = spec["dynamicAllocation"];
  return dynamic["enabled"].boolean()
             ? dynamic["maxExecutors"].integer().value_or(spark_needs(spec))
             : spark_needs(spec);
}
Stage spark_stage(Slice status) {
  const Slice state = status["applicationState"]["state"];
  if (state.equals("COMPLETED")) return Stage::kCompleted;
  return state.equals("FAILED") ? Stage::kFailed : Stage::kSubmitted;
}
void tell_spark(StatusDraft& status, const Told& told) {
  constexpr const char* kStates[] = {"SUBMITTED", "SUBMITTED", "RUNNING", "COMPLETED", "FAILED"};
  Writer state;
  state.object().member("state").string(kStates[static_cast<int>(told.stage)]);
  if (told.stage == Stage::kFailed) state.member("errorMessage").string("driver container failed");
  status.raw("applicationState", state.end().take());
  status.raw("driverInfo", fmt::format(R"({{"podName":"{}"}})", told.leader));
  if (status["lastSubmissionAttemptTime"].text().empty())
    status.text("lastSubmissionAttemptTime", kube::time_text(told.now));
  if (told.stage >= Stage::kCompleted && status["terminationTime"].text().empty())
    status.text("terminationTime", kube::time_text(told.now));
  Writer executors;
  executors.object();
  for (const auto& [pod, phase] : told.executors)
    executors.member(pod).string(phase == "Running"     ? "RUNNING"
                                 : phase == "Succeeded" ? "COMPLETED"
                                 : phase == "Failed"    ? "FAILED"
                                                        : "PENDING");
  status.raw("executorState", executors.end().take());
}

// Flink, of either operator.
WantedPod flink_pod(const kube::Object& app, std::string name,
                    std::map<std::string, std::string> labels, Slice pod_labels, Slice annotations,
                    Slice spec, std::string_view resources) {
  const std::string image = app.member("spec")["image"].text();
  return {
      .name = std::move(name),
      .labels = labels_of(pod_labels, std::move(labels)),
      .annotations = raw_or(annotations, "{}"),
      .spec = pod_spec(spec, "flink-main-container", image.empty() ? "flink" : image, resources)};
}
WantedPod flink_deployment_pod(const kube::Object& app, const char* part_name,
                               const char* component, std::string name) {
  const Slice part = app.member("spec")[part_name];
  const Slice pod = part["podTemplate"];
  return flink_pod(app, std::move(name),
                   {{"app", std::string(app.name())},
                    {"component", component},
                    {"type", "flink-standalone-kubernetes"}},
                   pod["metadata"]["labels"], pod["metadata"]["annotations"], pod["spec"],
                   raw_or(part["resources"], "{}"));
}
WantedPod flink_cluster_pod(const kube::Object& app, const char* part_name, const char* component,
                            std::string name) {
  const Slice part = app.member("spec")[part_name];
  return flink_pod(
      app, std::move(name),
      {{"app", "flink"}, {"cluster", std::string(app.name())}, {"component", component}},
      part["podLabels"], part["podAnnotations"], part, raw_or(part["resources"], "{}"));
}
std::int64_t flink_replicas(Slice spec) {
  return spec["taskManager"]["replicas"].integer().value_or(1);
}
std::string member_name(const kube::Object& app, const char* component, std::int64_t index) {
  return fmt::format("{}-{}-{}", app.name(), component, index);
}
Stage flink_stage(Slice status) {
  const Slice state = status["jobStatus"]["state"];
  if (state.equals("FINISHED")) return Stage::kCompleted;
  return state.equals("FAILED") ? Stage::kFailed : Stage::kSubmitted;
}
void tell_flink(StatusDraft& status, const Told& told) {
  constexpr const char* kStates[] = {"RECONCILING", "INITIALIZING", "RUNNING", "FINISHED",
                                     "FAILED"};
  status.raw("jobStatus",
             fmt::format(R"({{"state":"{}"}})", kStates[static_cast<int>(told.stage)]));
  status.text("lifecycleState", told.stage == Stage::kFailed      ? "FAILED"
                                : told.stage == Stage::kSubmitted ? "DEPLOYED"
                                                                  : "STABLE");
  status.text("jobManagerDeploymentStatus",
              told.stage == Stage::kSubmitted ? "DEPLOYING" : "READY");
}
Stage flink_cluster_stage(Slice status) {
  const Slice state = status["components"]["job"]["state"];
  if (state.equals("Succeeded")) return Stage::kCompleted;
  return state.equals("Failed") ? Stage::kFailed : Stage::kSubmitted;
}
void tell_flink_cluster(StatusDraft& status, const Told& told) {
  constexpr const char* kJobs[] = {"Pending", "Deploying", "Running", "Succeeded", "Failed"};
  status.text("state", told.stage >= Stage::kCompleted ? "Stopped"
                       : told.stage == Stage::kRunning ? "Running"
                                                       : "Creating");
  status.raw("components",
             fmt::format(R"({{"job":{{"state":"{}"}}}})", kJobs[static_cast<int>(told.stage)]));
}

constexpr OperatorShape kShapes[] = {
    {"sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications", &spark_asks,
     &spark_needs, &spark_driver, &spark_executor,
     [](Slice spec) { return spec["driver"]["annotations"]; }, &spark_stage, &tell_spark},
    {"flink.apache.org", "v1beta1", "FlinkDeployment", "flinkdeployments", &flink_replicas,
     &flink_replicas,
     [](const kube::Object& app) {
       return flink_deployment_pod(app, "jobManager", "jobmanager",
                                   std::string(app.name()) + "-jobmanager");
     },
     [](const kube::Object& app, std::int64_t index) {
       return flink_deployment_pod(app, "taskManager", "taskmanager",
                                   member_name(app, "taskmanager", index));
     },
     [](Slice spec) { return spec["jobManager"]["podTemplate"]["metadata"]["annotations"]; },
     &flink_stage, &tell_flink},
    {"flinkoperator.k8s.io", "v1beta1", "FlinkCluster", "flinkclusters", &flink_replicas,
     &flink_replicas,
     [](const kube::Object& app) {
       return flink_cluster_pod(app, "jobManager", "jobmanager",
                                std::string(app.name()) + "-jobmanager");
     },
     [](const kube::Object& app, std::int64_t index) {
       return flink_cluster_pod(app, "taskManager", "taskmanager",
                                member_name(app, "taskmanager", index));
     },
     [](Slice spec) { return spec["jobManager"]["podAnnotations"]; }, &flink_cluster_stage,
     &tell_flink_cluster},
};

}  // namespace

std::span<const OperatorShape> operator_shapes() { return kShapes; }

}  // namespace berth::controllers
