// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/reserved.h"

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/ours/ours.h"
#include "policy/admission/findings.h"
#include "policy/admission/ordinary_priority.h"

namespace berth::admission {
namespace {

constexpr ReservedAnnotation kReserved[] = {
    {kube::kCheckpointRequestedAnnotation, "the operator asks for checkpoints"},
    {"berth.dev/cost",
     "what an interruption costs stands in the ScavengerJob's status and is worked out by the "
     "operator; report checkpoints with berth.dev/checkpoint"},
    {kube::kDecidedAtAnnotation, "it says on which state of the cluster a start was decided"},
    {kube::kReclaimAnnotation, "schedulers ask for room with it"},
    {"berth.dev/running-priority",
     "it is worked out by the operator, see the ScavengerJob's status"},
    {kube::kSlotAnnotation, "it is written when a pod is bound to its slot"},
};

struct Owner {
  std::string group, kind;
};
Owner controller_of(json::Slice object) {
  for (const json::Slice each : object["metadata"]["ownerReferences"].elements())
    if (each["controller"].boolean()) {
      const std::string version = each["apiVersion"].text();
      const std::size_t slash = version.find('/');
      return {slash == std::string::npos ? std::string() : version.substr(0, slash),
              each["kind"].text()};
    }
  return {};
}
bool is_scavenger_job(const Owner& owner) {
  return owner.kind == "ScavengerJob" &&
         (owner.group == "berth.dev" || owner.group == "core.cerit.cz");
}
bool is_job(const Owner& owner) { return owner.kind == "Job" && owner.group == "batch"; }
bool is_mpi_job(const Owner& owner) {
  return owner.kind == "MPIJob" && owner.group == "kubeflow.org";
}

enum class What : std::uint8_t { kPod, kJob, kMpiJob, kScavengerJob, kOther };
What what_of(const Review& review) {
  const std::string& resource = review.resource;
  if (!review.subresource.empty()) return What::kOther;
  if (resource == "pods" && review.group.empty()) return What::kPod;
  if (resource == "jobs" && review.group == "batch") return What::kJob;
  if (resource == "mpijobs" && review.group == "kubeflow.org") return What::kMpiJob;
  if (resource == "scavengerjobs" &&
      (review.group == "berth.dev" || review.group == "core.cerit.cz"))
    return What::kScavengerJob;
  return What::kOther;
}

// One review.
class Look {
 public:
  Look(const Review& review, const Reserved& reserved)
      : review_(review),
        accounts_(reserved.accounts),
        reserved_(reserved),
        what_(what_of(review)),
        owner_(controller_of(review.object)) {}

  Verdict verdict() && {
    if (what_ == What::kOther || (!review_.creates() && !review_.updates())) return {};
    classes();
    annotations();
    Verdict out{.refusals = std::move(findings_.all())};
    return out;
  }

 private:
  void classes() {
    const At spec = At("spec");
    const auto class_in = [](json::Slice document) { return document["priorityClassName"]; };
    if (what_ == What::kPod)
      look(spec / "priorityClassName", class_in(review_.object["spec"]),
           class_in(review_.old_object["spec"]));
    if (what_ == What::kJob)
      look(spec / "template.spec.priorityClassName",
           class_in(review_.object["spec"]["template"]["spec"]),
           class_in(review_.old_object["spec"]["template"]["spec"]));
    if (what_ != What::kMpiJob) return;
    const json::Slice old = review_.old_object["spec"];
    const json::Slice replicas = review_.object["spec"]["mpiReplicaSpecs"];
    for (auto at = replicas.members().begin(); at != nullptr; ++at)
      look(spec / "mpiReplicaSpecs" / (*at).key / "template.spec.priorityClassName",
           class_in((*at).value["template"]["spec"]),
           class_in(old["mpiReplicaSpecs"][(*at).key]["template"]["spec"]));
    look(spec / "runPolicy.schedulingPolicy.priorityClass",
         review_.object["spec"]["runPolicy"]["schedulingPolicy"]["priorityClass"],
         old["runPolicy"]["schedulingPolicy"]["priorityClass"]);
  }

  void look(const At& at, json::Slice now, json::Slice before) {
    const std::string name = now.text();
    if (!is_reserved_class(name) || (review_.updates() && before.equals(name))) return;
    if (is_scavenger_class(name)) {
      if (may_scavenge()) return;
      return findings_.forbidden(
          at, fmt::format("the class {} is given to what the operator makes of a ScavengerJob, and "
                          "{} asked for it; create a ScavengerJob with this work in spec.job, or "
                          "name no class",
                          json::quoted(name), shown_user()));
    }
    if (accounts_.is_ours(review_.user)) return;
    if (name == kube::kExecutorClass) return executor(at);
    findings_.forbidden(
        at, fmt::format("the class {} is Berth's own, and {} asked for it; name another class",
                        json::quoted(name), shown_user()));
  }

  // A Job or an MPIJob comes from us, and what is made of it from those who make pods.
  bool may_scavenge() const {
    if (what_ == What::kPod)
      return accounts_.makes_pods(review_.user) && (is_job(owner_) || is_mpi_job(owner_));
    if (what_ == What::kJob && accounts_.makes_pods(review_.user)) return is_mpi_job(owner_);
    return accounts_.is_ours(review_.user) && is_scavenger_job(owner_);
  }

  // Executors are made by the drivers of applications, whoever they run as.
  void executor(const At& at) {
    const json::Slice metadata = what_ == What::kPod
                                     ? review_.object["metadata"]
                                     : review_.object["spec"]["template"]["metadata"];
    const std::string grant = metadata["labels"][kube::kGrantLabel].text();
    if (!grant.empty() && (!reserved_.granted || reserved_.granted(review_.ns, grant))) return;
    findings_.forbidden(
        at, fmt::format(
                "the class {} is for executors of a BatchJob that holds slots, and {}; submit a "
                "Scheduling, or name another class",
                json::quoted(kube::kExecutorClass),
                grant.empty() ? fmt::format("there is no label {}", kube::kGrantLabel)
                              : fmt::format("no run in this namespace has the grant {}",
                                            json::quoted(grant))));
  }

  void annotations() {
    if (accounts_.is_ours(review_.user)) return;
    // What a template has, its pods have.
    if (what_ == What::kPod && accounts_.makes_pods(review_.user) && review_.creates() &&
        (is_job(owner_) || is_mpi_job(owner_)))
      return;
    reserved_in(At("metadata") / "annotations", review_.object["metadata"]["annotations"],
                review_.old_object["metadata"]["annotations"]);
    if (what_ == What::kJob)
      reserved_in(At("spec.template.metadata.annotations"),
                  review_.object["spec"]["template"]["metadata"]["annotations"],
                  review_.old_object["spec"]["template"]["metadata"]["annotations"]);
  }
  void reserved_in(const At& at, json::Slice now, json::Slice before) {
    for (const ReservedAnnotation& one : kReserved) {
      const json::Slice is = now[one.key], was = before[one.key];
      if (is.text() == was.text() && is.present() == was.present()) continue;
      findings_.forbidden(
          at[one.key],
          fmt::format("only Berth writes this, and {} asked for it: {}", shown_user(), one.why));
    }
  }

  std::string shown_user() const { return json::quoted(review_.user); }

  const Review& review_;
  const Accounts& accounts_;
  const Reserved& reserved_;
  What what_;
  Owner owner_;
  Findings findings_;
};

}  // namespace

std::span<const ReservedAnnotation> reserved_annotations() { return kReserved; }

Verdict reserved_to_us(const Review& review, const Reserved& reserved) {
  return Look(review, reserved).verdict();
}

}  // namespace berth::admission
