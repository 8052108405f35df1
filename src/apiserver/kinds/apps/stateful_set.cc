// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/apps/workload_check.h"
#include "apiserver/kinds/apps/workload_row.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/core/pod_fill.h"
#include "apiserver/kinds/object_meta.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

void fill_stateful_set(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  set_default(*spec, "podManagementPolicy", "OrderedReady");
  json::Dict& strategy = make_dict(*spec, "updateStrategy");
  if (Peek(strategy)["type"].text().empty()) {
    strategy["type"] = "RollingUpdate";
    make_dict(strategy, "rollingUpdate");
  }
  if (json::Dict* rolling = dict_in(strategy, "rollingUpdate")) {
    if (Peek(strategy)["type"].is("RollingUpdate")) set_default(*rolling, "partition", 0);
    json::erase(*rolling, "maxUnavailable");  // the feature is off
  }
  json::Dict& retention = make_dict(*spec, "persistentVolumeClaimRetentionPolicy");
  set_default(retention, "whenDeleted", "Retain");
  set_default(retention, "whenScaled", "Retain");
  set_default(*spec, "replicas", 1);
  set_default(*spec, "revisionHistoryLimit", 10);
  if (json::Dict* pod_template = dict_in(*spec, "template")) fill_pod_template(*pod_template);
  each_dict(*spec, "volumeClaimTemplates", [](json::Dict& claim) {
    claim["apiVersion"] = "v1";
    claim["kind"] = "PersistentVolumeClaim";
    if (json::Dict* claim_spec = dict_in(claim, "spec")) fill_claim_spec(*claim_spec);
    set_default(make_dict(claim, "status"), "phase", "Pending");
  });
}

void check_update_strategy(Peek strategy, const Path& at, Findings& findings) {
  const Peek rolling = strategy["rollingUpdate"];
  if (strategy["type"].text().empty()) return findings.required(at);
  if (strategy["type"].is("OnDelete")) {
    if (rolling)
      findings.invalid(at / "rollingUpdate",
                       go_struct({{"Partition", rolling["partition"]}, {"MaxUnavailable", {}}}),
                       "only allowed for updateStrategy 'RollingUpdate'");
  } else if (strategy["type"].is("RollingUpdate")) {
    must_not_be_negative(rolling["partition"].integer_or(0), at / "rollingUpdate" / "partition",
                         findings);
  } else {
    findings.invalid(at, go_struct({{"Type", strategy["type"]}, {"RollingUpdate", rolling}}),
                     "must be 'RollingUpdate' or 'OnDelete'");
  }
}

// The template as the pods will have it: with the volumes of its claims, and without the names that
// the set gives.
json::Value template_of_pods(Peek spec, json::Arena& arena) {
  json::Value pod_template(spec["template"].members(), arena.storage());
  json::Dict* pod = dict_in(pod_template.as_object(), "spec");
  if (pod == nullptr) return pod_template;
  json::erase(*pod, "subdomain");
  json::erase(*pod, "hostname");
  const Peek claims = spec["volumeClaimTemplates"];
  if (claims.size() == 0) return pod_template;
  json::List volumes(arena.storage());
  for (const json::Value& each : claims.elements()) {
    const boost::json::string_view name = bj(Peek(each)["metadata"]["name"].text());
    volumes.push_back({{"name", name}, {"persistentVolumeClaim", {{"claimName", name}}}});
  }
  for (const json::Value& volume : Peek(*pod)["volumes"].elements()) {
    bool replaced = false;
    for (const json::Value& each : claims.elements())
      replaced |= Peek(each)["metadata"]["name"].text() == Peek(volume)["name"].text();
    if (!replaced) volumes.push_back(volume);
  }
  (*pod)["volumes"] = std::move(volumes);
  return pod_template;
}

void check_stateful_set(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"];
  const Path at("spec");
  const std::string_view policy = spec["podManagementPolicy"].text();
  if (!one_of(policy, {"OrderedReady", "Parallel"}))
    findings.invalid(at / "podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'");
  check_update_strategy(spec["updateStrategy"], at / "updateStrategy", findings);
  for (const std::string_view when : {"whenDeleted", "whenScaled"}) {
    const std::string_view what = spec["persistentVolumeClaimRetentionPolicy"][when].text();
    if (!one_of(what, {"Retain", "Delete"}))
      findings.not_supported(at / "persistentVolumeClaimRetentionPolicy" / when, what,
                             {"Retain", "Delete"});
  }
  if (!edit.from().valid())
    for (std::size_t i = 0; i < spec["volumeClaimTemplates"].size(); ++i)
      check_claim_spec(spec["volumeClaimTemplates"][i]["spec"],
                       (at / "volumeClaimTemplates")[i] / "spec", findings);
  must_not_be_negative(spec["replicas"].integer_or(0), at / "replicas", findings);
  must_not_be_negative(spec["minReadySeconds"].integer_or(0), at / "minReadySeconds", findings);
  must_not_be_negative(spec["ordinals"]["start"].integer_or(0), at / "ordinals.start", findings);
  if (!edit.from().valid() && !spec["serviceName"].text().empty())
    must_be(&kube::check_dns_label, spec["serviceName"].text(), at / "serviceName", findings);
  check_selector(spec["selector"], "statefulset", at / "selector", findings);
  if (!is_readable(spec["selector"])) {
    findings.invalid(at / "selector", shown_selector(spec["selector"]), "");
    return check_always_restarts(spec["template"], "StatefulSet", at / "template", findings);
  }
  const json::Value made = template_of_pods(spec, edit.arena());
  const Peek pod_template(made), selector = spec["selector"];
  const Peek labels = pod_template["metadata"]["labels"];
  const bool empty = selector["matchLabels"].size() + selector["matchExpressions"].size() == 0;
  const Path template_at = at / "template";
  if ((!selector || !empty) && !selects(selector, labels))
    findings.invalid(template_at / "metadata" / "labels", shown_map(labels),
                     "`selector` does not match template `labels`");
  check_pod_template(pod_template, template_at, findings);
  // k8s 1.36: looked at a second time, and told twice.
  check_labels(labels, template_at / "labels", findings);
  check_annotations(pod_template["metadata"]["annotations"], template_at / "annotations", findings);
  check_always_restarts(spec["template"], "StatefulSet", template_at, findings);
}

void check_stateful_set_update(Edit& edit, Findings& findings) {
  const Peek now = Peek(edit.body())["spec"], was = edit.was_body()["spec"];
  json::Value munged(now.members(), edit.arena().storage());
  json::Dict& fields = munged.as_object();
  for (const std::string_view field :
       {"replicas", "template", "updateStrategy", "minReadySeconds", "ordinals",
        "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy"}) {
    json::erase(fields, field);
    if (was[field]) fields[bj(field)] = *was[field].value();
  }
  if (!same(Peek(munged), was))
    findings.forbidden(Path("spec"),
                       "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                       "'template', 'updateStrategy', 'revisionHistoryLimit', "
                       "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
                       "forbidden");
}

}  // namespace

KindRow stateful_set() {
  Kind kind("apps/v1", "StatefulSet", "statefulsets");
  kind.short_name("sts")
      .category("all")
      .named_by(&kube::check_dns_label)
      .generation()
      .status()
      .scale()
      .name_column()
      .column("Ready", ready_of_wanted())
      .age_column();
  return wide_template_columns(kind)
      .fill(&fill_stateful_set)
      .check(&check_stateful_set)
      .check_update(&check_stateful_set_update);
}

}  // namespace berth::apiserver
