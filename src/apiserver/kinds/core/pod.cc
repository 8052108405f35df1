// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/pod_cells.h"
#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/core/pod_fill.h"
#include "apiserver/kinds/core/pod_update.h"
#include "apiserver/kinds/core/qos.h"
#include "apiserver/kinds/object_meta.h"
#include "apiserver/kinds/rules.h"
#include "apiserver/kinds/strategy.h"

namespace berth::apiserver {
namespace {

void fill_pod(Edit& edit) {
  // k8s 1.36: annotations of the time before init containers.
  if (json::Dict* annotations = dict_in(edit.metadata(), "annotations"))
    for (const std::string_view stage : {"beta", "alpha"})
      for (const std::string_view what : {"init-containers", "init-container-statuses"})
        json::erase(*annotations,
                    "pod." + std::string(stage) + ".kubernetes.io/" + std::string(what));
  if (json::Dict* spec = dict_in(edit.body(), "spec")) {
    fill_pod_spec(*spec);
    fill_only_pods(*spec);
  }
}

// Labels named by keys become conditions of the selector beside them.
void apply_label_keys(json::Dict& term, Peek labels) {
  json::Dict* selector = dict_in(term, "labelSelector");
  if (selector == nullptr) return;
  const auto apply = [&](std::string_view keys, std::string_view op) {
    for (const json::Value& key : Peek(term)[keys].elements()) {
      const Peek value = labels[Peek(key).text()];
      if (!value) continue;
      json::Value& expressions = (*selector)["matchExpressions"];
      if (!expressions.is_array()) expressions.emplace_array();
      expressions.as_array().push_back(
          {{"key", key}, {"operator", bj(op)}, {"values", {*value.value()}}});
    }
  };
  apply("matchLabelKeys", "In");
  apply("mismatchLabelKeys", "NotIn");
}

void new_pod(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  json::Value& status = edit.status();
  status = json::Dict(edit.arena().storage());
  json::Dict& fields = status.as_object();
  fields["phase"] = "Pending";
  fields["qosClass"] = bj(qos_class(spec == nullptr ? Peek() : Peek(*spec)));
  if (spec == nullptr) return;
  if (Peek(*spec)["schedulingGates"].size() > 0)
    fields["conditions"] = {
        {{"type", "PodScheduled"},
         {"status", "False"},
         {"lastProbeTime", nullptr},
         {"lastTransitionTime", *Peek(edit.metadata())["creationTimestamp"].value()},
         {"reason", "SchedulingGated"},
         {"message", "Scheduling is blocked due to non-empty scheduling gates"}}};
  const Peek labels = Peek(edit.metadata())["labels"];
  if (json::Dict* affinity = dict_in(*spec, "affinity"))
    for (const std::string_view kind : {"podAffinity", "podAntiAffinity"})
      if (json::Dict* terms = dict_in(*affinity, kind)) {
        each_dict(*terms, "requiredDuringSchedulingIgnoredDuringExecution",
                  [&](json::Dict& term) { apply_label_keys(term, labels); });
        each_dict(*terms, "preferredDuringSchedulingIgnoredDuringExecution", [&](json::Dict& each) {
          if (json::Dict* term = dict_in(each, "podAffinityTerm")) apply_label_keys(*term, labels);
        });
      }
  each_dict(*spec, "topologySpreadConstraints",
            [&](json::Dict& constraint) { apply_label_keys(constraint, labels); });
}

void keep_from_status_writers(Edit& edit) {
  json::erase(edit.metadata(), "ownerReferences");
  if (const json::Value* owners = edit.was_metadata()["ownerReferences"].value())
    edit.metadata()["ownerReferences"] = *owners;
  if (!edit.status().is_object()) return;
  json::Dict& status = edit.status().as_object();
  const Peek was = edit.was_status();
  if (was["qosClass"]) set_default(status, "qosClass", *was["qosClass"].value());
  if (was["observedGeneration"])
    set_default(status, "observedGeneration", *was["observedGeneration"].value());
}

void check_pod(Edit& edit, Findings& findings) {
  const Peek metadata(edit.metadata()), spec = Peek(edit.body())["spec"];
  const Path at("spec");
  // k8s 1.36: on updates this is looked at once more, and told once more.
  if (edit.from().valid()) {
    check_metadata(metadata, true, &kube::check_dns_subdomain, Path("metadata"), findings);
    check_finalizers(metadata["finalizers"], Path("metadata") / "finalizers", findings);
  }
  check_pod_annotations(metadata["annotations"], spec, Path("metadata") / "annotations", findings);
  check_pod_spec(spec, metadata, true, at, findings);
  if (spec["serviceAccountName"].text().empty())
    for (std::size_t v = 0; v < spec["volumes"].size(); ++v) {
      const Peek sources = spec["volumes"][v]["projected"]["sources"];
      for (std::size_t s = 0; s < sources.size(); ++s)
        if (sources[s]["serviceAccountToken"])
          findings.forbidden(
              ((at / "volumes")[v] / "projected" / "sources")[s] / "serviceAccountToken",
              "must not be specified when serviceAccountName is not set");
    }
  for (const std::string_view list : {"containers", "initContainers"})
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      const std::string_view image = spec[list][i]["image"].text();
      if (!image.empty() && (image.front() == ' ' || image.back() == ' ' ||
                             image.find_first_of("\t\n\r") != std::string_view::npos))
        findings.invalid((at / list)[i] / "image", image,
                         "must not have leading or trailing whitespace");
    }
}

void check_new_pod(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"];
  const Path at("spec");
  if (spec["ephemeralContainers"].size() > 0)
    findings.forbidden(at / "ephemeralContainers", "cannot be set on create");
  if (!spec["nodeName"].text().empty() && spec["schedulingGates"].size() > 0)
    findings.forbidden(at / "nodeName",
                       "cannot be set until all schedulingGates have been cleared");
}

std::string pod_ip(const kube::Object& pod) {
  return pod.status()["podIPs"][std::size_t{0}]["ip"].text();
}

std::string pod_ips(const kube::Object& pod) {
  std::string out;
  for (const json::Slice ip : pod.status()["podIPs"].elements())
    out += (out.empty() ? "" : ",") + ip["ip"].text();
  return out;
}

std::string host_network(const kube::Object& pod) {
  return pod.member("spec")["hostNetwork"].boolean() ? "true" : "false";
}

}  // namespace

KindRow pod() {
  const std::vector<std::string_view> connect = {"create", "get"};
  const std::vector<std::string_view> change = {"get", "patch", "update"};
  return Kind("v1", "Pod", "pods")
      .short_name("po")
      .category("all")
      .generation()
      .status()
      .subresource({.name = "attach", .kind = "PodAttachOptions", .verbs = connect})
      .subresource({.name = "binding", .kind = "Binding", .verbs = {"create"}})
      .subresource({.name = "ephemeralcontainers", .kind = "Pod", .verbs = change})
      .subresource({.name = "eviction",
                    .kind = "Eviction",
                    .group = "policy",
                    .version = "v1",
                    .verbs = {"create"}})
      .subresource({.name = "exec", .kind = "PodExecOptions", .verbs = connect})
      .subresource({.name = "log", .kind = "Pod", .verbs = {"get"}})
      .subresource({.name = "portforward", .kind = "PodPortForwardOptions", .verbs = connect})
      .subresource({.name = "proxy",
                    .kind = "PodProxyOptions",
                    .verbs = {"create", "delete", "get", "patch", "update"}})
      .subresource({.name = "resize", .kind = "Pod", .verbs = change})
      .name_column()
      .column("Ready", shown(&pod_ready))
      .column("Status", shown(&pod_status))
      .column("Restarts", shown_at(&pod_restarts))
      .age_column()
      .wide("IP", shown([](const kube::Object& o) {
              const std::string ip = pod_ip(o);
              return ip.empty() ? "<none>" : ip;
            }))
      .wide("Node", text("spec.nodeName", "<none>"))
      .wide("Nominated Node", text("status.nominatedNodeName", "<none>"))
      .wide("Readiness Gates", shown(&pod_gates))
      .selectable("spec.nodeName")
      .selectable("spec.restartPolicy")
      .selectable("spec.schedulerName")
      .selectable("spec.serviceAccountName")
      .selectable("spec.hostNetwork", &host_network)
      .selectable("status.phase")
      .selectable("status.podIP", &pod_ip)
      .selectable("status.podIPs", &pod_ips)
      .selectable("status.nominatedNodeName")
      .fill(&fill_pod)
      .on_create(&new_pod)
      .on_status_update(&keep_from_status_writers)
      .check(&check_pod)
      .check_create(&check_new_pod)
      .check_update(&check_pod_update)
      .check_status(&check_pod_status);
}

}  // namespace berth::apiserver
