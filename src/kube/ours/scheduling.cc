// SPDX-License-Identifier: Apache-2.0
// Scheduling: what an external scheduler has decided, and how far it has been carried out.
#include "kube/ours/ours.h"

namespace berth::kube {
namespace {

std::vector<Field> spec() {
  return {
      reference("testbed").required(),
      list("queueBased", reference(""))
          .atomic()
          .doc("Jobs in the order in which they get free slots; a job that stands here n times has "
               "n executors."),
      object(
          "slotBased",
          {text("mode")
               .any_of({"strict", "relaxed"})
               .otherwise("\"strict\"")
               .doc("strict: in order. relaxed: whoever finds its slots free."),
           list("jobs", object("", {reference("name").required(),
                                    list("slotIds", integer("").at_least(0)).as_set().required()}))
               .atomic()
               .required(),
           integer("starveAfterSeconds")
               .at_least(0)
               .otherwise("300")
               .doc("A job that was passed over for so long is passed over no more.")}),
      text("onFailure").any_of({"Stop", "Continue"}).otherwise("\"Stop\""),
      integer("ttlSecondsAfterFinished").at_least(0),
      integer("confirmTimeoutSeconds").at_least(1).otherwise("120"),
  };
}

std::vector<Field> status() {
  return {
      text("state").any_of({"Acquire", "Submitting", "Confirmation", "AwaitingCompletion",
                            "Completed", "Releasing"}),
      integer("observedGeneration"),
      time("acquiredTime"),
      time("completionTime"),
      list("jobStates",
           object("", {text("namespace").required(), text("name").required(),
                       text("state").any_of({"Acquiring", "InQueue", "Submitted", "Scheduled",
                                             "Running", "Completed", "Failed"}),
                       integer("lastRun").at_least(0).doc("The last run that was started."),
                       integer("used").at_least(0).doc("Entries used up by runs so far."),
                       time("waitingSince"), time("grantedTime")}))
          .keyed_by({"namespace", "name"}),
      list("problems", text("")).atomic(),
      conditions(),
  };
}

}  // namespace

KindSpec scheduling_kind() {
  KindSpec kind(std::string(kThesisGroup), "v1alpha1", "Scheduling", "schedulings");
  kind.short_name("sched")
      .doc("Which jobs run in which slots of a Testbed, or in which order.")
      .spec(spec())
      .status(status())
      .column("State", "string", ".status.state")
      .column("Testbed", "string", ".spec.testbed.name")
      .column("Age", "date", ".metadata.creationTimestamp");
  kind.spec_field().exactly_one({"queueBased", "slotBased"});
  return kind;
}

}  // namespace berth::kube
