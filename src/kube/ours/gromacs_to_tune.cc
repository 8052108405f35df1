// SPDX-License-Identifier: Apache-2.0
// GromacsToTune: a calculation and the sizes it may have, best first. Scavenger jobs are made from
// it, one at a time; one that finds no room gives way to a smaller one.
#include "kube/ours/ours.h"
#include "kube/ours/scavenger_fields.h"

namespace berth::kube {
namespace {

constexpr std::int64_t kMostConfigurations = 32, kMostHistory = 50;

Field configuration(std::vector<Field> more) {
  std::vector<Field> members = {container_resources().required(),
                                integer("replicas").at_least(1).at_most(1'000),
                                quantity("nsPerDay").doc("How fast it is expected to be.")};
  for (Field& each : more) members.push_back(std::move(each));
  return object("", std::move(members));
}

std::vector<Field> spec() {
  std::vector<Field> job = {text("image").min(1).max(1024).required()};
  for (std::vector<Field> more : {program_members(), scavenger_members()})
    for (Field& each : more) job.push_back(std::move(each));
  return {
      object("scavengerJob", std::move(job))
          .required()
          .rule(interval_within_duration())
          .doc("The ScavengerJob that is made, but for its resources."),
      list("configurations", configuration({}))
          .atomic()
          .max(kMostConfigurations)
          .doc("The sizes, best first, where they are known: from a tuner, for example."),
      object("tune", {quantity("maxCpu").required(), quantity("minCpu").required(),
                      quantity("memoryPerCpu").required(), integer("gpus").at_least(0).at_most(64),
                      text("gpuResource").max(253).otherwise("\"nvidia.com/gpu\"")})
          .doc("The sizes are maxCpu, half of it, half of that, down to minCpu."),
      positive_duration("patience").otherwise("\"10m\"").doc("How long a size may wait for room."),
      text("upgrade")
          .any_of({"OnInterruption", "Never"})
          .otherwise("\"OnInterruption\"")
          .doc("When a larger size is tried again."),
  };
}

std::vector<Field> status() {
  return {
      text("phase").any_of({"Pending", "Running", "Interrupted", "Completed", "Failed"}),
      integer("observedGeneration"),
      list("configurations",
           configuration({text("state").any_of({"Untried", "Waiting", "NoRoom", "Running",
                                                "Interrupted", "Completed", "Failed"}),
                          integer("tried").at_least(0)}))
          .atomic()
          .max(kMostConfigurations),
      integer("current").at_least(0).doc("The size that is tried or runs, counted from 0."),
      integer("made").at_least(0).doc("ScavengerJobs so far: <name>-<made>."),
      text("scavengerJob").max(253),
      text("scavengerJobUid").max(128),
      time("since").doc("When the present size was tried."),
      list("history",
           object("", {integer("configuration").required(), text("job").max(253),
                       text("outcome").max(63).required(), text("message").max(1024), time("at")}))
          .atomic()
          .max(kMostHistory),
      text("message").max(32'768),
      conditions(),
  };
}

}  // namespace

KindSpec gromacs_to_tune_kind() {
  KindSpec kind("berth.dev", "v1alpha1", "GromacsToTune", "gromacstotunes");
  kind.short_name("gtt")
      .doc(
          "A GROMACS calculation that runs as a scavenger job of the largest size that finds room.")
      .spec(spec())
      .status(status())
      .column("Phase", "string", ".status.phase")
      .column("Size", "integer", ".status.current")
      .column("Job", "string", ".status.scavengerJob")
      .column("Message", "string", ".status.message")
      .column("Age", "date", ".metadata.creationTimestamp");
  kind.spec_field().exactly_one({"configurations", "tune"});
  return kind;
}

}  // namespace berth::kube
