// SPDX-License-Identifier: Apache-2.0
// ScavengerQuota: how much a namespace may scavenge.
#include "kube/ours/ours.h"

namespace berth::kube {
namespace {

// gpu stands for every resource whose name ends in /gpu.
std::vector<Field> amounts() { return {quantity("cpu"), quantity("memory"), quantity("gpu")}; }

}  // namespace

KindSpec scavenger_quota_kind() {
  KindSpec kind("berth.dev", "v1alpha1", "ScavengerQuota", "scavengerquotas");
  kind.short_name("sq")
      .doc("What the scavenger jobs of a namespace may have at a time; those beyond it wait.")
      .spec({
          integer("maxJobs").at_least(0).doc("That run at a time."),
          object("hard", amounts()).doc("Of all that run; gpu counts every kind of them."),
          quantity("weight").doc("Of the namespace, where shares are fair. Default: 1."),
      })
      .status({
          object("used", {integer("jobs"), quantity("cpu"), quantity("memory"), quantity("gpu")}),
          integer("waiting").doc("Jobs that wait because of it."),
          integer("observedGeneration"),
      })
      .column("Jobs", "integer", ".status.used.jobs")
      .column("Max", "integer", ".spec.maxJobs")
      .column("CPU", "string", ".status.used.cpu")
      .column("Waiting", "integer", ".status.waiting")
      .column("Age", "date", ".metadata.creationTimestamp");
  return kind;
}

}  // namespace berth::kube
