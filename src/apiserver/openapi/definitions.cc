// SPDX-License-Identifier: Apache-2.0
#include "apiserver/openapi/definitions.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "apiserver/openapi/custom.h"
#include "json/writer.h"
#include "kube/schema.h"
#include "kube/schema/messages.h"
#include "kube/schema/required.h"

namespace berth::apiserver {
namespace {

using json::Field;
using json::FieldType;
using json::Message;
using json::Shape;

constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";

void write_kind(json::Writer& w, std::string_view group, std::string_view version,
                std::string_view kind) {
  w.object().member("group").string(group).member("kind").string(kind);
  w.member("version").string(version).end();
}

// Of the documents among the messages: which kinds they are.
void write_kinds(json::Writer& w, const Message& type) {
  bool any = false;
  for (const kube::schema::KindRow& row : kube::schema::kKinds) {
    if (row.message != &type) continue;
    if (!std::exchange(any, true)) w.member("x-kubernetes-group-version-kind").array();
    write_kind(w, row.group, row.version, row.kind);
  }
  if (any) w.end();
}

// Names, separated by commas.
void write_names(json::Writer& w, std::string_view member, std::string_view names) {
  if (names.empty()) return;
  w.member(member).array();
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    w.string(name);
  }
  w.end();
}

std::string_view required_of(const Message& type) {
  const auto at =
      std::lower_bound(kube::schema::kRequired.begin(), kube::schema::kRequired.end(), type.name,
                       [](const kube::schema::Required& row, std::string_view name) {
                         return row.message->name < name;
                       });
  return at != kube::schema::kRequired.end() && at->message == &type ? at->fields : "";
}

std::string_view list_type_name(json::ListType type) {
  switch (type) {
    case json::ListType::kAtomic:
      return "atomic";
    case json::ListType::kSet:
      return "set";
    case json::ListType::kMap:
      return "map";
    case json::ListType::kUnstated:
      break;
  }
  return "";
}

void write_merging(json::Writer& w, const Field& field) {
  const std::string_view type = list_type_name(field.list_type);
  if (field.shape == Shape::kList) {
    write_names(w, "x-kubernetes-list-map-keys", field.list_map_keys);
    if (!type.empty()) w.member("x-kubernetes-list-type").string(type);
  } else if (!type.empty()) {
    w.member("x-kubernetes-map-type").string(type);
  }
  if (!field.merge_key.empty()) w.member("x-kubernetes-patch-merge-key").string(field.merge_key);
  std::string strategy;
  for (const auto& [has, name] :
       {std::pair(field.patch_replace, "replace"), std::pair(field.patch_merge, "merge"),
        std::pair(field.patch_retain_keys, "retainKeys")})
    if (has) strategy += fmt::format("{}{}", strategy.empty() ? "" : ",", name);
  if (!strategy.empty()) w.member("x-kubernetes-patch-strategy").string(strategy);
}

// Messages that JSON shows as one of several things.
bool is_either(const Message& type) {
  return type.name.find("JSONSchemaPropsOr") != std::string_view::npos;
}
// And those that are only a list.
bool is_list(const Message& type) {
  return type.fields.size() == 1 && type.fields[0].name == "items";
}

}  // namespace

std::string custom_name(const kube::Kind& kind) {
  std::string out;
  std::string_view rest = kind.group;
  while (!rest.empty()) {
    const std::size_t dot = rest.rfind('.');
    out += rest.substr(dot == std::string_view::npos ? 0 : dot + 1);
    out += '.';
    rest = dot == std::string_view::npos ? "" : rest.substr(0, dot);
  }
  return fmt::format("{}{}.{}", out, kind.version, kind.kind);
}

std::string Definitions::ref(std::string_view name) const {
  return fmt::format(R"({{"$ref":"#/{}/{}"}})",
                     version_ == OpenApiVersion::kV2 ? "definitions" : "components/schemas", name);
}

std::string Definitions::held(std::string_view name, bool optional) const {
  if (version_ == OpenApiVersion::kV2) return ref(name);
  return fmt::format(R"({{"allOf":[{}]{}}})", ref(name), optional ? "" : R"(,"default":{})");
}

std::string Definitions::special(std::string_view name, std::string_view schema) {
  schemas_.try_emplace(std::string(name), schema);
  return held(name, true);
}

std::string Definitions::element(const Message& of, const Field& field) {
  const bool v2 = version_ == OpenApiVersion::kV2;
  switch (field.type) {
    case FieldType::kString:
      return R"({"type":"string"})";
    case FieldType::kBytes:
      return R"({"type":"string","format":"byte"})";
    case FieldType::kBool:
      return R"({"type":"boolean"})";
    case FieldType::kInteger:
      return field.go_type == "int64" ? R"({"type":"integer","format":"int64"})"
                                      : R"({"type":"integer","format":"int32"})";
    case FieldType::kNumber:
      return R"({"type":"number","format":"double"})";
    case FieldType::kMessage:
      return held(add(*field.message), field.optional);
    case FieldType::kQuantity:
      return special(
          "io.k8s.apimachinery.pkg.api.resource.Quantity",
          v2 ? R"({"type":"string"})" : R"({"oneOf":[{"type":"string"},{"type":"number"}]})");
    case FieldType::kIntOrString:
      return special(
          "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
          v2 ? R"({"type":"string","format":"int-or-string"})"
             : R"({"format":"int-or-string","oneOf":[{"type":"integer"},{"type":"string"}]})");
    case FieldType::kTime:
      return special(fmt::format("{}Time", kMeta), R"({"type":"string","format":"date-time"})");
    case FieldType::kMicroTime:
      return special(fmt::format("{}MicroTime", kMeta),
                     R"({"type":"string","format":"date-time"})");
    case FieldType::kDuration:
      return special(fmt::format("{}Duration", kMeta), R"({"type":"string"})");
    case FieldType::kFieldsV1:
      return special(fmt::format("{}FieldsV1", kMeta), R"({"type":"object"})");
    case FieldType::kAny:
      break;
  }
  if (field.message != nullptr && is_list(*field.message))
    return R"({"type":"array","items":{"type":"string"}})";
  if (field.message != nullptr) return special(field.message->name, "{}");
  if (of.name.starts_with("io.k8s.apiextensions-apiserver."))
    return special("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON", "{}");
  return special("io.k8s.apimachinery.pkg.runtime.RawExtension", R"({"type":"object"})");
}

// The schema of a field: that of its elements, inside of a list or map, and how patches merge it.
std::string Definitions::property(const Message& of, const Field& field) {
  json::Writer w;
  w.object();
  std::string inner = element(of, field);
  if (field.shape == Shape::kSingle) {
    inner = inner.substr(1, inner.size() - 2);
  } else if (field.shape == Shape::kList) {
    inner = fmt::format(R"("type":"array","items":{})", inner);
  } else {
    inner = fmt::format(R"("type":"object","additionalProperties":{})", inner);
  }
  write_merging(w, field);
  w.end();
  const std::string merging = w.take();
  if (merging == "{}") return "{" + inner + "}";
  return inner.empty() ? merging : "{" + inner + "," + merging.substr(1);
}

std::string Definitions::add(const Message& type) {
  std::string name(type.name);
  const auto [entry, fresh] = schemas_.try_emplace(name);
  if (!fresh) return name;
  if (is_either(type)) {
    entry->second = "{}";
    return name;
  }
  json::Writer w;
  w.object().member("type").string("object");
  write_names(w, "required", required_of(type));
  if (!type.fields.empty()) {
    w.member("properties").object();
    for (const Field& field : type.fields) w.member(field.name).raw(property(type, field));
    w.end();
  }
  write_kinds(w, type);
  w.end();
  schemas_[name] = w.take();
  return name;
}

std::string Definitions::add(std::string_view group, std::string_view version,
                             std::string_view kind) {
  for (const kube::schema::KindRow& row : kube::schema::kKinds)
    if (row.group == group && row.version == version && row.kind == kind) return add(*row.message);
  return "";
}

std::string Definitions::add_object(std::string_view name) {
  schemas_.try_emplace(std::string(name), R"({"type":"object"})");
  return std::string(name);
}

std::string Definitions::add(const KindRow& row) {
  if (row.schema != nullptr) return add(*row.schema);
  std::string name = custom_name(row.kind);
  if (schemas_.contains(name)) return name;
  const std::string metadata =
      held(add(*kube::find_message(fmt::format("{}ObjectMeta", kMeta))), true);
  schemas_[name] = custom_schema(row, version_, metadata);
  return name;
}

std::string Definitions::add_list(const KindRow& row) {
  const std::string own = add(row);
  std::string name = own + "List";
  if (row.custom) name = own.substr(0, own.size() - row.kind.kind.size()) + row.kind_of_lists();
  if (const Message* list = kube::find_message(name)) return add(*list);
  const std::string metadata =
      held(add(*kube::find_message(fmt::format("{}ListMeta", kMeta))), true);
  json::Writer w;
  w.object().member("type").string("object").member("required").array().string("items").end();
  w.member("properties").object();
  w.member("apiVersion").object().member("type").string("string").end();
  w.member("items")
      .object()
      .member("type")
      .string("array")
      .member("items")
      .raw(held(own, true))
      .end();
  w.member("kind").object().member("type").string("string").end();
  w.member("metadata").raw(metadata).end();
  w.member("x-kubernetes-group-version-kind").array();
  write_kind(w, row.kind.group, row.kind.version, row.kind_of_lists());
  w.end().end();
  schemas_[name] = w.take();
  return name;
}

}  // namespace berth::apiserver
