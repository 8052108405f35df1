// SPDX-License-Identifier: Apache-2.0
// ScavengerJob: work that runs in what nobody else needs, and that goes when somebody does.
#include "kube/ours/ours.h"
#include "kube/ours/scavenger_fields.h"
#include "kube/ours/scavenger_job_view.h"
#include "kube/schema/messages.h"

namespace berth::kube {
namespace {

constexpr std::int64_t kMostMembers = 1'000, kMostMounts = 64, kMostTimes = 50;
constexpr std::int64_t kMostId = 4'294'967'295;

Field mounts(std::string name, std::string_view what) {
  return list(std::move(name), object("", {text("name").min(1).max(253).required(),
                                           text("mountPath").min(1).max(1024).required(),
                                           text("subPath").max(1024), boolean("readOnly")}))
      .keyed_by({"mountPath"})
      .max(kMostMounts)
      .doc(std::string(what));
}

Field words(std::string name, std::string_view what) {
  return list(std::move(name), text("")).atomic().doc(std::string(what));
}

Field mpi() {
  return object("mpi",
                {text("image").min(1).max(1024).required().doc("Of launcher and workers."),
                 integer("slotsPerWorker").at_least(1).at_most(1024).otherwise("1"),
                 text("mpiImplementation")
                     .any_of({"OpenMPI", "Intel", "MPICH"})
                     .otherwise("\"OpenMPI\""),
                 text("sshAuthMountPath").max(1024).otherwise("\"/root/.ssh\""),
                 text("launcherCreationPolicy")
                     .any_of({"AtStartup", "WaitForWorkersReady"})
                     .otherwise("\"AtStartup\""),
                 boolean("runLauncherAsWorker"),
                 object("launcher",
                        {text("image").max(1024).doc("Where it is not that of the workers."),
                         words("command", "Such as mpirun with its arguments."),
                         words("args", "Of the command, or of the image's own."),
                         container_resources()})
                     .required(),
                 object("worker", {words("command", "Where the image does not start sshd itself."),
                                   words("args", "")})})
      .doc(
          "An MPIJob of Kubeflow's operator; its workers are spec.replicas, and each has "
          "spec.resources.");
}

Field job() {
  Field job = built_in("job", schema::kBatchV1JobSpec);
  job.doc(
         "A whole Job, where image is not enough. How it is placed and when it is over is not its "
         "to say.")
      .rule({.rule = "!has(self.selector) && !has(self.manualSelector) && !has(self.managedBy)",
             .message = "selector, manualSelector and managedBy are not a scavenger's to set",
             .reason = "FieldValueForbidden"});
  job.at("template.spec")
      .rule({.rule = "!has(self.priorityClassName) && !has(self.priority) && "
                     "!has(self.preemptionPolicy)",
             .message = "priorityClassName, priority and preemptionPolicy are not a scavenger's to "
                        "set",
             .reason = "FieldValueForbidden"})
      .rule({.rule = "!has(self.schedulerName) && !has(self.nodeName) && "
                     "!has(self.schedulingGates) && !has(self.schedulingGroup)",
             .message = "schedulerName, nodeName, schedulingGates and schedulingGroup are not a "
                        "scavenger's to set",
             .reason = "FieldValueForbidden"});
  job.at("template.spec.volumes[]")
      .rule({.rule = "!has(self.hostPath)",
             .message = "a scavenger may not use paths of the node",
             .field_path = ".hostPath",
             .reason = "FieldValueForbidden"});
  return job;
}

std::vector<Field> spec() {
  std::vector<Field> members = {
      text("image").min(1).max(1024).doc("What runs. Exactly one of image, job and mpi is given."),
      checked_resources(),
      integer("replicas")
          .at_least(1)
          .at_most(kMostMembers)
          .otherwise("1")
          .doc("Members, all alike. They start together, and if one goes, all go."),
      job(),
      mpi(),
  };
  for (std::vector<Field> more : {program_members(), scavenger_members()})
    for (Field& each : more) members.push_back(std::move(each));
  return members;
}

std::vector<Field> status() {
  const auto times = [](std::string name) {
    return list(std::move(name), time("")).atomic().max(kMostTimes).doc("The last 50.");
  };
  return {
      text("phase").any_of({"Pending", "Running", "Interrupted", "Completed", "Failed"}),
      integer("observedGeneration"),
      integer("interruptedCount").at_least(0),
      times("interruptedTimestamps"),
      times("runningTimestamps"),
      time("finishedTimestamp"),
      time("priorityStartOverTimestamp").doc("When the last window of the run ended."),
      integer("runningPriority").at_least(0).doc("The step of the window; the lowest goes first."),
      text("message").max(32'768),
      conditions(),
      integer("attempt").at_least(0).doc("The attempt that was opened last: Job <name>-<attempt>."),
      integer("closedAttempt").at_least(0),
      integer("started").at_least(0).doc("Attempts in which every member ran."),
      text("jobName").max(253),
      text("jobUid").max(128).doc("Pods are told to be its by this alone."),
      text("launcherUid").max(128).doc("Of an MPIJob: the Job of its launcher, likewise."),
      object("holds", {integer("members").at_least(1), map("requests", quantity("")),
                       boolean("together"), map("launcher", quantity(""))})
          .doc("What the open attempt was started with, a member; a spec that is changed meanwhile "
               "counts from the next one on."),
      text("decidedAt").max(64).doc("The revision on which the last start was decided."),
      time("waitingSince"),
      time("notBefore").doc("Where it backs off: until then."),
      list("nodes", text("").max(253))
          .atomic()
          .max(kMostNamedNodes)
          .doc("Where the open attempt may go, if the threshold is one of nodes."),
      list("avoid", text("").max(253))
          .atomic()
          .max(kMostNamedNodes)
          .doc("Where it may not go: nodes that are kept for a job that has waited longer."),
      object("cost",
             {time("since"), integer("rateMilli").at_least(0), integer("windowSeconds").at_least(0),
              integer("steps").at_least(1), boolean("reported"), integer("restart").at_least(0),
              integer("intervalSeconds").at_least(0)})
          .doc("What is lost with the run: rateMilli thousandths of a core-second each second."),
      object("checkpoint", {time("last"), integer("count").at_least(0),
                            integer("costSeconds").at_least(0), duration("advisedInterval")}),
      object("verdict",
             {integer("attempt"), text("verdict").max(63), text("reason").max(1024),
              text("message").max(32'768), text("pod").max(253), integer("exitCode"), time("at")})
          .doc("How the last attempt ended."),
      object("reclaim", {text("for").max(317), text("uid").max(128), time("deadline"),
                         time("asked"), time("acked")})
          .doc("Somebody needs its room; it has been asked for a checkpoint."),
      list("snapshots",
           object("", {text("pod").max(253), text("container").max(63), text("node").max(253),
                       text("archive").max(4'096), text("message").max(1'024), time("at")}))
          .atomic()
          .max(kMostSnapshots)
          .doc("Of containers, from before the last notice: where the archive lies on the node, or "
               "why there is none."),
      integer("lostCoreSeconds").at_least(0),
      integer("usefulCoreSeconds").at_least(0),
      integer("resizes").at_least(0).doc("How often it was made smaller, or larger again."),
      object("recommendation",
             {map("requests", quantity("")), text("message").max(1024), time("at")})
          .doc("What its use has been, where that is much less than it asks for."),
  };
}

}  // namespace

Field container_resources() {
  constexpr std::int64_t kMostResources = 12;
  return object("resources", {map("requests", quantity("")).max(kMostResources),
                              map("limits", quantity("")).max(kMostResources)})
      .doc("Of each member. Where only requests are given, they are the limits, too.");
}

Field checked_resources() {
  // An amount is a text or a number, so there are four ways to compare two of them.
  return container_resources().rule(
      {.rule = "!has(self.requests) || !has(self.limits) || self.requests.all(k, "
               "!(k in self.limits) || (type(self.requests[k]) == string ? "
               "(type(self.limits[k]) == string ? "
               "!quantity(self.requests[k]).isGreaterThan(quantity(self.limits[k])) : "
               "quantity(self.requests[k]).asApproximateFloat() <= double(self.limits[k])) : "
               "(type(self.limits[k]) == string ? "
               "double(self.requests[k]) <= quantity(self.limits[k]).asApproximateFloat() : "
               "self.requests[k] <= self.limits[k])))",
       .message = "must not be more than limits",
       .field_path = ".requests"});
}

Field positive_duration(std::string name) {
  return duration(std::move(name))
      .rule({.rule = "duration(self) > duration('0s')", .message = "must be more than 0s"});
}

FieldRule interval_within_duration() {
  return {.rule =
              "!has(self.duration) || !has(self.checkpoint) || "
              "!has(self.checkpoint.interval) || "
              "duration(self.checkpoint.interval) < duration(self.duration)",
          .message = "must be less than duration",
          .field_path = ".checkpoint.interval"};
}

std::vector<Field> program_members() {
  return {
      words("command", "In place of the image's own."),
      words("args", "Of the command, or of the image's own."),
      text("workingDir").max(1024),
      list("env", object("", {text("name").min(1).max(253).required(), text("value")}))
          .keyed_by({"name"})
          .max(1024),
      text("imagePullPolicy").any_of({"Always", "IfNotPresent", "Never"}),
      list("imagePullSecrets", object("", {text("name").min(1).max(253).required()}))
          .keyed_by({"name"})
          .max(16),
      map("nodeSelector", text("").max(63)),
      integer("runAsUser")
          .at_least(0)
          .at_most(kMostId)
          .doc("Not root, unless it is 0: then the pods keep to the level restricted of Pod "
               "Security, but for those of MPIJobs."),
      integer("fsGroup").at_least(0).at_most(kMostId).doc("The group that may write to volumes."),
      text("serviceAccountName").max(253),
      integer("terminationGracePeriodSeconds")
          .at_least(0)
          .at_most(3'600)
          .doc("The policy's graceMax caps it."),
  };
}

std::vector<Field> scavenger_members() {
  return {
      mounts("persistentVolumeClaims", "Claims that are mounted; without one it fails."),
      mounts("configMaps", "ConfigMaps that are mounted; without one it fails."),
      mounts("secrets", "Secrets that are mounted; without one it fails."),
      positive_duration("duration")
          .doc("How long a run must last to be worth it; the window in which it is protected more "
               "and more. Where it is not given: the policy's."),
      object("checkpoint",
             {positive_duration("interval")
                  .doc("How often the program writes one; less than duration."),
              duration("maxNotice").doc("How long before its end it wants to be asked for one.")}),
      duration("minRun").doc(
          "Not interrupted before, if there is any other choice; the policy's minRunMax caps it."),
      integer("maxInterruptions")
          .at_least(1)
          .at_most(1'000)
          .doc("After so many it starts in the class scavenger-starved, which goes last."),
      text("lostNode")
          .any_of({"Wait", "Restart"})
          .otherwise("\"Wait\"")
          .doc("Wait: never twice at once, so a node that does not answer is waited for."),
      text("completionProof")
          .any_of({"Message", "ExitCodeOnly"})
          .otherwise("\"Message\"")
          .doc("What tells the end from a checkpoint where the program was interrupted and exits "
               "0: the termination message \"done\", or nothing more."),
      object("elastic",
             {map("min", quantity("")).max(12).required().doc("What it can live on, a member.")})
          .doc("It is made smaller before it is ended."),
      duration("estimatedRuntime")
          .doc("Of the whole job, without interruptions; for people, nothing is decided by it."),
  };
}

KindSpec scavenger_job_kind() {
  KindSpec kind("berth.dev", "v1alpha1", "ScavengerJob", "scavengerjobs");
  kind.short_name("sj")
      .doc(
          "A job that runs on capacity that is free for now, and is interrupted when it is needed.")
      .spec(spec())
      .status(status())
      .column("Phase", "string", ".status.phase")
      .column("Interrupted", "integer", ".status.interruptedCount")
      .column("Priority", "integer", ".status.runningPriority")
      .column("Duration", "string", ".spec.duration")
      .column("Message", "string", ".status.message")
      .column("Age", "date", ".metadata.creationTimestamp");
  kind.spec_field()
      .rule({.rule = "[has(self.image), has(self.job), has(self.mpi)].filter(x, x).size() == 1",
             .message = "exactly one of image, job and mpi must be given"})
      .rule({.rule = "!has(self.job) || self.replicas == 1",
             .message = "a Job says itself how many pods it has",
             .field_path = ".replicas"})
      .rule(interval_within_duration());
  return kind;
}

}  // namespace berth::kube
