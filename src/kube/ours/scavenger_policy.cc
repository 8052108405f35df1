// SPDX-License-Identifier: Apache-2.0
// ScavengerPolicy: what the administrator decides for all scavenger jobs. What is not given is as
// ScavengerPolicyView has it.
#include "kube/ours/ours.h"
#include "kube/ours/scavenger_fields.h"

namespace berth::kube {
namespace {

Field percent(std::string name) { return integer(std::move(name)).at_least(0).at_most(100); }

std::vector<Field> spec() {
  return {
      percent("thresholdPercent")
          .doc("Nothing is started that would take the use of the cluster beyond it. Default: 70."),
      text("thresholdScope")
          .any_of({"Cluster", "Node", "Both"})
          .doc("Of what the threshold is a share. Default: Cluster."),
      text("thresholdMode")
          .any_of({"WithCandidate", "Current"})
          .doc("Whether the job to be started counts already. Default: WithCandidate."),
      percent("adaptiveReservePercent")
          .doc("The threshold becomes 100 less this and less how much ordinary use varies, if that "
               "is lower. Default: off."),
      text("starvation")
          .any_of({"None", "Aging", "BackfillReservation"})
          .doc("Whether somebody who waits long gets ahead. Default: None."),
      positive_duration("agingEvery")
          .doc("Waiting so long counts as one interruption more. Default: 1h."),
      duration("reserveAfter")
          .doc("The first in turn gets nodes reserved when it has waited so long. Default: 10m."),
      boolean("respectPending").doc("Ordinary pods that fit nowhere count as use. Default: true."),
      object("fairShares", {boolean("enabled"), positive_duration("halfLife").doc("Default: 24h."),
                            map("weights", quantity("")).doc("By user. Default: 1 each.")})
          .doc("Who has used least goes first, then the usual order. Default: off."),
      integer("steps").at_least(1).at_most(100).doc(
          "In which a job that reports no checkpoints gains protection. Default: 3."),
      positive_duration("defaultDuration").doc("Of jobs that give none. Default: 30m."),
      positive_duration("windowMin").doc("Shorter durations protect as this one. Default: 15m."),
      positive_duration("windowMax").doc("Longer durations protect as this one. Default: 4h."),
      object("weights", {quantity("core"), quantity("gib"), quantity("gpu")})
          .doc("What a second of each is worth. Default: 1, 125m and 16."),
      duration("minRunMax").doc("A job's minRun counts as this one at most. Default: 1h."),
      positive_duration("graceMax")
          .doc("The longest terminationGracePeriodSeconds of pods of scavengers. Default: 5m."),
      positive_duration("startGrace")
          .doc("A start whose members are not placed by then is taken back. Default: 60s."),
      duration("maxNotice")
          .doc("The longest time that a job is asked to checkpoint before its end. Default: 0s."),
      text("containerSnapshots")
          .any_of({"Off", "On"})
          .doc("Whether the kubelet is asked to snapshot the containers of a job that has reported "
               "no checkpoint and has notice. Needs a right of its own: see berth install "
               "--container-snapshots. Default: Off."),
      text("scavengerPdbs")
          .any_of({"Ignore", "Honour"})
          .doc("Disruption budgets over scavengers' pods. Default: Ignore."),
      text("reclaim")
          .any_of({"Off", "On"})
          .doc("Whether the operator itself makes room for ordinary pods. Default: Off."),
      object("regulator", {boolean("enabled"), percent("upperPercent").doc("Default: 85.")})
          .doc("Ends work above upperPercent until use is back at the threshold. Default: off."),
      text("schedulerName")
          .pattern("^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
          .doc("Of scavengers' pods: a profile that packs them onto few nodes leaves the others to "
               "ordinary pods. Default: the scheduler of everybody."),
      boolean("defaultLimits")
          .doc("Where a job gives requests only, they become its limits. Default: true."),
  };
}

std::vector<Field> status() {
  return {
      percent("thresholdPercent").doc("That counts now."),
      integer("utilisationPercent").at_least(0).doc("Of the scarcest resource."),
      integer("ordinaryDeviationPercent").at_least(0),
      integer("running").at_least(0),
      integer("waiting").at_least(0),
      map("shares", integer("").at_least(0))
          .doc("Core-seconds by user at sharesAt, each worth half as much after a half-life; jobs "
               "that were deleted are in it."),
      time("sharesAt"),
      integer("observedGeneration"),
      time("observedAt"),
      conditions(),
  };
}

}  // namespace

KindSpec scavenger_policy_kind() {
  KindSpec kind("berth.dev", "v1alpha1", "ScavengerPolicy", "scavengerpolicies");
  kind.of_cluster()
      .short_name("sp")
      .doc(
          "How much is scavenged, and in which order. The object named default counts; without it "
          "every default does.")
      .spec(spec())
      .rule({.rule = "self.metadata.name == 'default'",
             .message = "only the ScavengerPolicy named default counts"})
      .status(status())
      .column("Threshold", "integer", ".status.thresholdPercent")
      .column("Use", "integer", ".status.utilisationPercent")
      .column("Running", "integer", ".status.running")
      .column("Waiting", "integer", ".status.waiting")
      .column("Age", "date", ".metadata.creationTimestamp");
  kind.spec_field().rule({.rule = "!has(self.windowMin) || !has(self.windowMax) || "
                                  "duration(self.windowMin) <= duration(self.windowMax)",
                          .message = "must not be less than windowMin",
                          .field_path = ".windowMax"});
  return kind;
}

}  // namespace berth::kube
