// SPDX-License-Identifier: Apache-2.0
// BatchJob: an application that runs again and again, one run at a time.
#include "kube/ours/ours.h"

namespace berth::kube {
namespace {

Field slot_ids(std::string name) { return list(std::move(name), integer("").at_least(0)).as_set(); }

std::vector<Field> spec() {
  return {
      anything("sparkSpec").doc("Part of a SparkApplication's spec."),
      anything("flinkSpec").doc("Part of a FlinkDeployment's spec, or of its job."),
      anything("flinkClusterSpec").doc("The job of a FlinkCluster."),
      anything("jobSpec").doc("The spec of a batch/v1 Job."),
      object("application", {text("kind").min(1).max(253).required().doc("Names a job kind."),
                             anything("spec").required()})
          .doc("An application of a kind that was added by configuration."),
      reference("template")
          .doc("The application of another BatchJob: so it can run beside itself."),
      anything("externalScheduler").doc("Data of the external scheduler; kept and never read."),
      object("activeScheduling", {text("name").min(1).max(253).required(),
                                  text("namespace").max(63), text("uid").max(128)})
          .doc("Who has claimed the job."),
      object("creationRequest",
             {slot_ids("slotIds").required(), reference("testbedName").required(),
              integer("replication").at_least(1), integer("run").at_least(1)})
          .doc("The order to run in these slots."),
      text("slotClass").max(63).otherwise("\"default\"").doc("The class of slots it needs."),
      object("retryPolicy",
             {integer("backoffLimit").at_least(0).at_most(100).otherwise("0"),
              integer("backoffSeconds").at_least(0).at_most(86'400).otherwise("10")}),
      object("elastic",
             {integer("maxSlots")
                  .at_least(1)
                  .doc("The most slots it may have while it runs; Spark is told to allocate "
                       "executors dynamically up to that."),
              boolean("restart").doc(
                  "Submit it anew where its kind cannot change its size at run time.")}),
      integer("estimatedSeconds").at_least(0).doc("Of a run, until there is a history."),
  };
}

Field run() {
  return object("",
                {integer("run").at_least(1).required(), time("start"), time("stop"),
                 boolean("successful").required(), text("scheduling"), text("testbed"),
                 slot_ids("slotIds"), integer("replication"), integer("attempts"), time("granted"),
                 list("pods", object("", {text("name").required(), text("node"), integer("slot")}))
                     .atomic()});
}

std::vector<Field> status() {
  return {
      text("state").any_of({"Ready", "InQueue", "Submitted", "Scheduled", "Running", "Completing",
                            "Retrying", "Failing", "PendingDeletion", "Completed", "Failed"}),
      integer("observedGeneration"),
      integer("run").at_least(0).doc("The run that was opened last."),
      integer("closedRun").at_least(0).doc("The run that was closed last."),
      integer("attempt").at_least(0),
      time("startTime"),
      time("stopTime"),
      time("submittedTime").doc("When the application of this attempt was seen first."),
      time("retryTime"),
      text("jobKind").doc("Of the run: what its application is."),
      list("scheduledEvents", run()).keyed_by({"run"}).doc("The runs that have ended."),
      list("pins",
           object("", {integer("slot").at_least(0).required(), text("podUid").max(128).required(),
                       text("podName").max(253), time("since")}))
          .keyed_by({"slot"})
          .doc("Slots that are promised to pods."),
      list("pods", object("", {text("name").required(), text("node"), integer("slot")}))
          .atomic()
          .doc("The executors of the run that is open."),
      text("resetSeen").doc("The last berth.dev/reset that was heeded."),
      object("activeScheduling", {text("name"), text("namespace"), text("uid")}),
      text("slots").doc("The Testbed's name."),
      slot_ids("slotIds"),
      integer("replication"),
      list("problems", text("")).atomic(),
      conditions(),
  };
}

}  // namespace

KindSpec batch_job_kind() {
  KindSpec kind(std::string(kThesisGroup), "v1alpha1", "BatchJob", "batchjobs");
  kind.short_name("bj")
      .doc("A recurring application whose executors run in slots of a Testbed.")
      .spec(spec())
      .status(status())
      .column("State", "string", ".status.state")
      .column("Scheduling", "string", ".spec.activeScheduling.name")
      .column("Runs", "integer", ".status.closedRun")
      .column("Age", "date", ".metadata.creationTimestamp");
  kind.spec_field().exactly_one(
      {"sparkSpec", "flinkSpec", "flinkClusterSpec", "jobSpec", "application", "template"});
  return kind;
}

}  // namespace berth::kube
