// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/references.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::controllers {
namespace {

using json::Slice;

constexpr Duration kPatience = 5s;  // where the server does not answer

class Collected {
 public:
  void add(kube::KindId kind, Slice name, Slice optional = {}) {
    Reference one{kind, name.text()};
    if (one.name.empty() || optional.boolean()) return;
    if (std::find(all_.begin(), all_.end(), one) == all_.end()) all_.push_back(std::move(one));
  }
  std::vector<Reference> take() { return std::move(all_); }

 private:
  std::vector<Reference> all_;
};

void collect_sources(Collected& all, Slice source) {
  all.add(kube::kConfigMap, source["configMap"]["name"], source["configMap"]["optional"]);
  const Slice secret = source["secret"];
  all.add(kube::kSecret, secret["secretName"], secret["optional"]);
  all.add(kube::kSecret, secret["name"], secret["optional"]);  // of a projected volume
}

void collect_pod(Collected& all, Slice pod) {
  for (const Slice volume : pod["volumes"].elements()) {
    all.add(kube::kPersistentVolumeClaim, volume["persistentVolumeClaim"]["claimName"]);
    collect_sources(all, volume);
    for (const Slice source : volume["projected"]["sources"].elements())
      collect_sources(all, source);
  }
  for (const char* list : {"initContainers", "containers"})
    for (const Slice container : pod[list].elements()) {
      for (const Slice from : container["envFrom"].elements()) {
        all.add(kube::kConfigMap, from["configMapRef"]["name"], from["configMapRef"]["optional"]);
        all.add(kube::kSecret, from["secretRef"]["name"], from["secretRef"]["optional"]);
      }
      for (const Slice one : container["env"].elements()) {
        const Slice map = one["valueFrom"]["configMapKeyRef"],
                    secret = one["valueFrom"]["secretKeyRef"];
        all.add(kube::kConfigMap, map["name"], map["optional"]);
        all.add(kube::kSecret, secret["name"], secret["optional"]);
      }
    }
}

std::string question(const Reference& one) {
  return fmt::format("{} {}", kube::kind_of(one.kind).kind, one.name);
}

// "" where it may be mounted.
std::string wrong_with(const Reference& one, const runtime::Answer& answer) {
  if (answer.error) return fmt::format("{} is not there", question(one));
  if (answer.objects.empty() || one.kind != kube::kPersistentVolumeClaim) return {};
  const kube::Object& claim = answer.objects.front();
  if (claim.deleting()) return fmt::format("{} is being deleted", question(one));
  if (claim.status()["phase"].equals("Lost"))
    return fmt::format("{} has lost its volume", question(one));
  return {};
}

}  // namespace

std::vector<Reference> references_of(const kube::ScavengerJobView& job) {
  Collected all;
  if (job.has_job()) collect_pod(all, job.spec()["job"]["template"]["spec"]);
  for (const auto& [list, kind] :
       {std::pair{"persistentVolumeClaims", kube::kPersistentVolumeClaim},
        {"configMaps", kube::kConfigMap},
        {"secrets", kube::kSecret}})
    for (const Slice one : job.spec()[list].elements()) all.add(kind, one["name"]);
  return all.take();
}

ReferenceCheck check_references(const runtime::View& view, const kube::ScavengerJobView& job,
                                runtime::Plan& plan, WallTime now) {
  ReferenceCheck check;
  const std::vector<Reference> all = references_of(job);
  // Answers are there for one run only, so all are asked at once.
  for (const Reference& one : all) {
    const runtime::Answer* answer = view.answer(question(one));
    if (answer == nullptr) {
      check.known = false;
    } else if (answer->error && answer->error->reason != Reason::kNotFound) {
      check.known = false;
      plan.again_at(now + kPatience);
      return check;
    } else if (std::string wrong = wrong_with(one, *answer);
               !wrong.empty() && check.missing.empty()) {
      check.missing = std::move(wrong);
    }
  }
  if (check.known) return check;
  for (const Reference& one : all) {
    kube::ApiRequest get;
    get.verb = kube::Verb::kGet;
    get.kind = one.kind;
    get.ns = job.object().ns();
    get.name = one.name;
    plan.ask(question(one), std::move(get));
  }
  return check;
}

}  // namespace berth::controllers
