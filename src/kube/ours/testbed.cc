// SPDX-License-Identifier: Apache-2.0
// Testbed: room that is held on labelled nodes, in slots of equal size a class.
#include "kube/ours/ours.h"

namespace berth::kube {
namespace {

constexpr std::int64_t kMostSlotsPerNode = 1'000;

Field resources(std::string name) {
  return map(std::move(name), quantity(""))
      .doc("What one slot holds: cpu and memory, and whatever else a node has.");
}

std::vector<Field> spec() {
  return {
      text("nodeLabel")
          .min(1)
          .max(316)
          .required()
          .doc("Nodes that have this label belong to the Testbed; its value, an integer, orders "
               "them."),
      integer("slotsPerNode").at_least(0).at_most(kMostSlotsPerNode),
      resources("resourcesPerSlot"),
      list("classes",
           object("",
                  {text("name").min(1).max(63).required(),
                   integer("slotsPerNode").at_least(0).at_most(kMostSlotsPerNode).required(),
                   resources("resourcesPerSlot").required(),
                   text("nodeLabel")
                       .max(316)
                       .doc("Of the Testbed's nodes only those with this label have such slots.")}))
          .keyed_by({"name"})
          .max(32)
          .doc("Further kinds of slots; those above are the class \"default\"."),
      text("sharing")
          .any_of({"Exclusive", "Shared"})
          .otherwise("\"Exclusive\"")
          .doc("Exclusive: one Scheduling at a time. Shared: those that want different slots run "
               "beside each other."),
      object("idlePolicy", {text("after")
                                .pattern("^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$")
                                .required()
                                .doc("How long nothing wants the Testbed before it shrinks: 10m."),
                            integer("shrinkTo").at_least(0).otherwise("0"),
                            text("regrow").any_of({"onScheduling"}).otherwise("\"onScheduling\"")}),
      list("quotas",
           object("", {text("namespace")
                           .min(1)
                           .max(63)
                           .required()
                           .doc("Of BatchJobs; * stands for every other one."),
                       integer("maxSlots").at_least(0), integer("maxGrants").at_least(0)}))
          .keyed_by({"namespace"}),
  };
}

Field slot() {
  return object(
      "", {integer("position").at_least(0).required(), text("nodeName").required(),
           integer("nodeId").required(), integer("slotPositionOnNode").at_least(0).required(),
           text("state").any_of({"FREE", "RESERVED", "OCCUPIED", "ERROR"}).required(),
           text("class").required(), text("reservedFor").required(), text("podName").required(),
           text("podUId").required(), boolean("draining"), text("problem")});
}

std::vector<Field> status() {
  return {
      text("state").any_of({"INITIAL", "SUCCESS", "RUNNING", "IN_PROGRESS", "ERROR"}),
      integer("observedGeneration"),
      integer("size").doc("Slots in all."),
      integer("nodes"),
      object("slotCounts",
             {integer("free"), integer("reserved"), integer("occupied"), integer("error")}),
      list("slots", slot()).keyed_by({"position"}),
      boolean("slotsOmitted").doc("There are too many to list them; the gateway serves them."),
      map("nodeProblems", list("", text("")).atomic()),
      list("problems", text("")).atomic(),
      time("schedulingInProgressTimestamp"),
      time("idleSince"),
      integer("held").doc("Where it is idle-shrunk: how many slots are held."),
      conditions(),
  };
}

}  // namespace

KindSpec testbed_kind() {
  KindSpec kind(std::string(kThesisGroup), "v1alpha1", "Testbed", "testbeds");
  kind.short_name("tb")
      .doc("Slots of guaranteed room for jobs that an external scheduler places.")
      .spec(spec())
      .status(status())
      .column("State", "string", ".status.state")
      .column("Slots", "integer", ".status.size")
      .column("Free", "integer", ".status.slotCounts.free")
      .column("Age", "date", ".metadata.creationTimestamp");
  kind.spec_field().at_least_one({{"slotsPerNode", "resourcesPerSlot"}, {"classes"}});
  return kind;
}

}  // namespace berth::kube
