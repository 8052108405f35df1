// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/findings.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

void fill_namespace(Edit& edit) {
  const std::string name(Peek(edit.metadata())["name"].text());
  if (!name.empty()) make_dict(edit.metadata(), "labels")["kubernetes.io/metadata.name"] = name;
  if (edit.status().is_null()) edit.status() = json::Dict(edit.arena().storage());
  if (edit.status().is_object()) set_default(edit.status().as_object(), "phase", "Active");
}

// Every namespace is held by "kubernetes" until its content is gone.
void new_namespace(Edit& edit) {
  edit.status() = {{"phase", "Active"}};
  json::Dict& spec = make_dict(edit.body(), "spec");
  json::Value& finalizers = spec["finalizers"];
  if (!finalizers.is_array()) finalizers.emplace_array();
  for (const json::Value& each : finalizers.as_array())
    if (Peek(each).is("kubernetes")) return;
  finalizers.as_array().emplace_back("kubernetes");
  fill_namespace(edit);
}

// Finalizers go by the finalize subresource alone.
void keep_finalizers(Edit& edit) {
  json::Dict& spec = make_dict(edit.body(), "spec");
  json::erase(spec, "finalizers");
  if (const json::Value* was = edit.was_body()["spec"]["finalizers"].value())
    spec["finalizers"] = *was;
}

void check_finalizer_names(Edit& edit, Findings& findings) {
  const Path at = Path("spec") / "finalizers";
  for (const json::Value& each : Peek(edit.body())["spec"]["finalizers"].elements()) {
    const std::string_view name = Peek(each).text();
    must_be(&kube::check_qualified_name, name, at, findings);
    if (name.find('/') == std::string_view::npos &&
        !one_of(name, {"kubernetes", "orphan", "foregroundDeletion"}))
      findings.invalid(at, name,
                       "name is neither a standard finalizer name nor is it fully qualified");
  }
}

}  // namespace

KindRow namespace_() {
  return Kind("v1", "Namespace", "namespaces")
      .cluster_scoped()
      .short_name("ns")
      .without("deletecollection")
      .named_by(&kube::check_dns_label)
      .status()
      .subresource({.name = "finalize", .kind = "Namespace", .verbs = {"update"}})
      .name_column()
      .column("Status", text("status.phase"))
      .age_column()
      .selectable("status.phase")
      .fill(&fill_namespace)
      .on_create(&new_namespace)
      .on_update(&keep_finalizers)
      .check_create(&check_finalizer_names);
}

}  // namespace berth::apiserver
