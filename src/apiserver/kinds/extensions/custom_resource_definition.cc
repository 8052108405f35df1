// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/extensions/definition_check.h"
#include "base/lower.h"

namespace berth::apiserver {

namespace {

void fill_definition(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec == nullptr) return;
  if (json::Dict* names = dict_in(*spec, "names")) {
    const std::string kind{Peek(*names)["kind"].text()};
    set_default(*names, "singular", lower(kind));
    if (!kind.empty()) set_default(*names, "listKind", kind + "List");
  }
  if (!Peek(*spec)["conversion"]) (*spec)["conversion"] = {{"strategy", "None"}};
}

// The version that is stored is noted from the start, so that it is never dropped unseen.
void note_stored_version(Edit& edit) {
  if (!edit.status().is_object()) return;
  json::Dict& status = edit.status().as_object();
  json::Value& stored = status["storedVersions"];
  if (!stored.is_array()) stored.emplace_array();
  for (const json::Value& version : Peek(edit.body())["spec"]["versions"].elements()) {
    if (!Peek(version)["storage"].boolean()) continue;
    bool known = false;
    for (const json::Value& each : stored.as_array())
      known |= Peek(each).text() == Peek(version)["name"].text();
    if (!known) stored.as_array().push_back(*Peek(version)["name"].value());
  }
}

}  // namespace

KindRow custom_resource_definition() {
  return Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions")
      .cluster_scoped()
      .short_name("crd")
      .short_name("crds")
      .category("api-extensions")
      .generation()
      .conditional_update()
      .status()
      .name_column()
      .column("Created At", text("metadata.creationTimestamp"), "date")
      .fill(&fill_definition)
      .on_create(&note_stored_version)
      .on_update(&note_stored_version)
      .check_create(&check_definition)
      .check_update(&check_definition_update);
}

}  // namespace berth::apiserver
