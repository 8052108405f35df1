// SPDX-License-Identifier: Apache-2.0
// SlotLedger: the one place where it is written who has a slot. The schema itself refuses a slot
// that is given twice, even by a writer that is wrong.
#include "kube/ours/ours.h"

namespace berth::kube {

KindSpec slot_ledger_kind() {
  KindSpec kind("berth.dev", "v1alpha1", "SlotLedger", "slotledgers");
  kind.short_name("sl")
      .doc("Which run holds which slot of a Testbed. Written by the allocator only.")
      .spec({
          object("owner", {text("uid").max(128).required(), text("name").max(253).required(),
                           text("namespace").max(63).required()})
              .doc("The Scheduling that has the Testbed for itself."),
          list("blocks",
               object("", {text("class").max(63).required(), integer("base").at_least(0).required(),
                           integer("perNode").at_least(0).required(),
                           list("nodes", text("").max(253)).atomic().required()}))
              .keyed_by({"base"})
              .doc("Slot base + row * nodes + rank is row of nodes[rank]."),
          list("grants", object("", {text("id").max(32).required(), text("job").max(317).required(),
                                     text("scheduling").max(317), time("since")}))
              .keyed_by({"id"}),
          list("slots", object("", {integer("slot").at_least(0).required(),
                                    text("grant").max(32).required()}))
              .keyed_by({"slot"})
              .doc("A free slot is absent."),
      })
      .column("Owner", "string", ".spec.owner.name")
      .column("Age", "date", ".metadata.creationTimestamp");
  return kind;
}

}  // namespace berth::kube
