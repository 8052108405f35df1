// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/reserved.h"

#include <gmock/gmock.h>

#include "policy/admission/reviews_for_test.h"

namespace berth::admission {
namespace {

using testing::HasSubstr;

constexpr const char* kOperator = "system:serviceaccount:berth-system:berth-controllers";
constexpr const char* kJobController = "system:serviceaccount:kube-system:job-controller";
constexpr const char* kMpi = "system:serviceaccount:mpi-operator:mpi-operator";

Surroundings ours() {
  Surroundings out;
  out.reserved.accounts.ours = {kOperator};
  out.reserved.granted = [](std::string_view ns, std::string_view grant) {
    return ns == "team-a" && grant == "abc-1";
  };
  return out;
}

std::string owned(std::string_view version, std::string_view kind, bool controller = true) {
  return fmt::format(
      R"(,"ownerReferences":[{{"apiVersion":"{}","kind":"{}","name":"o","uid":"1","controller":{}}}])",
      version, kind, controller);
}
std::string pod(std::string_view class_name, std::string_view metadata = "") {
  return fmt::format(R"({{"metadata":{{"name":"x"{}}},"spec":{{"priorityClassName":"{}"}}}})",
                     metadata, class_name);
}
Asked job(std::string_view user, std::string_view class_name, std::string_view metadata = "") {
  return {
      .group = "batch",
      .resource = "jobs",
      .kind = "Job",
      .user = user,
      .object = fmt::format(
          R"({{"metadata":{{"name":"x"{}}},"spec":{{"template":{{"spec":{{"priorityClassName":"{}"}}}}}}}})",
          metadata, class_name)};
}
Asked mpi(std::string_view user, std::string_view class_name, std::string_view metadata = "") {
  return {
      .group = "kubeflow.org",
      .resource = "mpijobs",
      .kind = "MPIJob",
      .user = user,
      .object = fmt::format(
          R"({{"metadata":{{"name":"x"{}}},"spec":{{"mpiReplicaSpecs":{{"Worker":{{"template":{{"spec":{{"priorityClassName":"{}"}}}}}}}}}}}})",
          metadata, class_name)};
}

TEST(ReservedClasses, R44_AreGivenByBerthAlone) {
  const std::string by_sj = owned("berth.dev/v1alpha1", "ScavengerJob"),
                    by_alias = owned("core.cerit.cz/v1", "ScavengerJob"),
                    by_job = owned("batch/v1", "Job"),
                    by_mpi = owned("kubeflow.org/v2beta1", "MPIJob");
  struct Row {
    const char* name;
    Asked asked;
    bool allowed;
  };
  const Row rows[] = {
      {"a Job of the operator", job(kOperator, "scavenger", by_sj), true},
      {"of the other group", job(kOperator, "scavenger-starved", by_alias), true},
      {"of the operator, but of no ScavengerJob", job(kOperator, "scavenger"), false},
      {"of an owner that does not control it",
       job(kOperator, "scavenger", owned("berth.dev/v1alpha1", "ScavengerJob", false)), false},
      {"of a kind that is only called so",
       job(kOperator, "scavenger", owned("evil.example/v1", "ScavengerJob")), false},
      {"of a user, with a forged owner", job("jane", "scavenger", by_sj), false},
      {"an ordinary Job", job("jane", "batch-high"), true},
      {"a launcher", job(kMpi, "scavenger", by_mpi), true},
      {"a user's launcher", job("jane", "scavenger", by_mpi), false},
      {"a Job that a CronJob makes",
       job("system:serviceaccount:kube-system:cronjob-controller", "scavenger"), false},
      {"an MPIJob of the operator", mpi(kOperator, "scavenger", by_sj), true},
      {"a user's MPIJob", mpi("jane", "scavenger"), false},
      {"a pod of a Job", {.user = kJobController, .object = pod("scavenger", by_job)}, true},
      {"a pod of an MPIJob", {.user = kMpi, .object = pod("scavenger", by_mpi)}, true},
      {"a pod that a user ties to a Job", {.object = pod("scavenger", by_job)}, false},
      {"a pod of nobody", {.object = pod("scavenger")}, false},
      {"a pod of a Deployment",
       {.user = "system:serviceaccount:kube-system:replicaset-controller",
        .object = pod("scavenger", owned("apps/v1", "ReplicaSet"))},
       false},
      {"a ghost", {.user = kOperator, .object = pod("berth-ghost")}, true},
      {"a user's ghost", {.object = pod("berth-ghost")}, false},
      {"an executor",
       {.object = pod("berth-executor", R"(,"labels":{"berth.dev/grant":"abc-1"})")},
       true},
      {"an executor of nobody's run",
       {.object = pod("berth-executor", R"(,"labels":{"berth.dev/grant":"abc-2"})")},
       false},
      {"an executor without a run", {.object = pod("berth-executor")}, false},
      {"another pod", {.object = pod("high")}, true},
      {"what it had before may stay",
       {.operation = "UPDATE", .object = pod("scavenger"), .old_object = pod("scavenger")},
       true},
      {"what goes is not looked at",
       {.operation = "DELETE", .object = "null", .old_object = pod("scavenger")},
       true},
      {"a dry run is judged the same", {.object = pod("scavenger"), .dry_run = true}, false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(verdict_text("/reserved", row.asked, ours()).starts_with("yes"), row.allowed)
        << row.name << ": " << verdict_text("/reserved", row.asked, ours());
}

TEST(ReservedClasses, AreRefusedWithPlaceAndRemedy) {
  EXPECT_EQ(
      verdict_text("/reserved", job("jane", "scavenger"), ours()),
      "no: spec.template.spec.priorityClassName: the class \"scavenger\" is given to what the "
      "operator makes of a ScavengerJob, and \"jane\" asked for it; create a ScavengerJob "
      "with this work in spec.job, or name no class");
  EXPECT_THAT(verdict_text("/reserved", mpi("jane", "scavenger"), ours()),
              HasSubstr("spec.mpiReplicaSpecs.Worker.template.spec.priorityClassName"));
}

std::string annotated(std::string_view annotations) {
  return fmt::format(R"({{"metadata":{{"name":"x","annotations":{{{}}}}},"spec":{{}}}})",
                     annotations);
}

TEST(ReservedAnnotations, AreWrittenByBerthAlone) {
  struct Row {
    const char* name;
    Asked asked;
    bool allowed;
  };
  const std::string cost = annotated(R"("berth.dev/cost":"999999")"),
                    reclaim = annotated(R"("berth.dev/reclaim":"{}")"), none = annotated("");
  const Row rows[] = {
      {"a user's cost", {.object = cost}, false},
      {"ours", {.user = kOperator, .object = cost}, true},
      {"a report of a checkpoint",
       {.operation = "UPDATE",
        .object = annotated(R"("berth.dev/checkpoint":"2026-01-01T00:00:00Z")"),
        .old_object = none},
       true},
      {"how a simulated pod lives", {.object = annotated(R"("berth.dev/duration":"5s")")}, true},
      {"added later", {.operation = "UPDATE", .object = cost, .old_object = none}, false},
      {"taken away", {.operation = "UPDATE", .object = none, .old_object = cost}, false},
      {"kept", {.operation = "UPDATE", .object = cost, .old_object = cost}, true},
      {"made more",
       {.operation = "UPDATE",
        .object = annotated(R"("berth.dev/cost":"1")"),
        .old_object = annotated(R"("berth.dev/cost":"0")")},
       false},
      {"of a ScavengerJob",
       {.group = "berth.dev",
        .resource = "scavengerjobs",
        .kind = "ScavengerJob",
        .operation = "UPDATE",
        .object = reclaim,
        .old_object = none},
       false},
      {"in the template of a Job",
       {.group = "batch",
        .resource = "jobs",
        .kind = "Job",
        .object =
            R"({"metadata":{},"spec":{"template":{"metadata":{"annotations":{"berth.dev/cost":"9"}}}}})"},
       false},
      {"of a pod that a Job's template gave it",
       {.user = kJobController,
        .object = fmt::format(
            R"({{"metadata":{{"annotations":{{"berth.dev/decided-at":"7"}}{}}},"spec":{{}}}})",
            owned("batch/v1", "Job"))},
       true},
      {"of kinds that are not ours", {.resource = "services", .object = cost}, true},
  };
  for (const Row& row : rows)
    EXPECT_EQ(verdict_text("/reserved", row.asked, ours()).starts_with("yes"), row.allowed)
        << row.name << ": " << verdict_text("/reserved", row.asked, ours());
}

TEST(ReservedAnnotations, TellWhatToDoInstead) {
  EXPECT_THAT(
      verdict_text("/reserved", {.object = annotated(R"("berth.dev/cost":"9")")}, ours()),
      testing::AllOf(HasSubstr("metadata.annotations[berth.dev/cost]: only Berth writes this"),
                     HasSubstr("report checkpoints with berth.dev/checkpoint")));
}

}  // namespace
}  // namespace berth::admission
