// SPDX-License-Identifier: Apache-2.0
#include "apiserver/crd/custom_layout.h"

#include "kube/schema.h"

namespace berth::apiserver {
namespace {

using LayoutPtr = std::shared_ptr<const Layout>;

LayoutPtr text_layout() {
  auto out = std::make_shared<Layout>();
  out->scalar = true;
  out->scalar_type = ScalarType::kText;
  return out;
}

LayoutPtr metadata_layout() {
  auto out = std::make_shared<Layout>();
  out->message = kube::find_message("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  return out;
}

void add_meta(Layout& layout) {
  layout.members["apiVersion"] = {text_layout()};
  layout.members["kind"] = {text_layout()};
  layout.members["metadata"] = {metadata_layout()};
}

LayoutPtr laid_out(const Structural& schema, bool keeps_unknown, bool root);

void as_map(const Structural& schema, bool keeps_unknown, bool root, Layout& out) {
  out.map = true;
  out.atomic_map = schema.atomic_map;
  for (const auto& [name, property] : schema.properties)
    out.members[name] = {laid_out(*property, keeps_unknown, false),
                         property->preset ? json::print(*property->preset) : std::string()};
  if (root || schema.embedded) add_meta(out);
  if (schema.no_other_properties) return;
  if (schema.other_properties) {
    out.other_members = true;
    if (schema.others != nullptr) out.others = laid_out(*schema.others, keeps_unknown, false);
    return;
  }
  // What has no fields at all is free.
  out.other_members = keeps_unknown || out.members.empty();
}

void as_list(const Structural& schema, bool keeps_unknown, Layout& out) {
  out.list = true;
  out.list_type = schema.list_type == "set"   ? json::ListType::kSet
                  : schema.list_type == "map" ? json::ListType::kMap
                                              : json::ListType::kAtomic;
  out.list_keys = schema.list_keys;
  if (schema.items != nullptr) out.items = laid_out(*schema.items, keeps_unknown, false);
}

LayoutPtr laid_out(const Structural& schema, bool keeps_unknown, bool root) {
  auto out = std::make_shared<Layout>();
  keeps_unknown |= schema.keeps_unknown;
  if (schema.type == "object") {
    as_map(schema, keeps_unknown, root, *out);
  } else if (schema.type == "array") {
    as_list(schema, keeps_unknown, *out);
  } else if (schema.type.empty()) {
    out->scalar = true;
    as_list(schema, keeps_unknown, *out);
    as_map(schema, keeps_unknown, root, *out);
  } else {
    out->scalar = true;
    if (schema.type == "boolean")
      out->scalar_type = ScalarType::kBool;
    else if (schema.type == "integer" || schema.type == "number")
      out->scalar_type = ScalarType::kNumber;
    else if (schema.format.empty() || schema.format == "byte")
      out->scalar_type = ScalarType::kText;
  }
  return out;
}

}  // namespace

std::shared_ptr<const Layout> custom_layout(const Structural& schema) {
  return laid_out(schema, false, true);
}

}  // namespace berth::apiserver
