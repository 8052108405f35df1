// SPDX-License-Identifier: Apache-2.0
#include "apiserver/openapi/custom.h"

#include <algorithm>

#include "apiserver/edit/peek.h"
#include "json/value.h"

namespace berth::apiserver {
namespace {

using json::Dict;
using json::List;
using json::Value;

bool is_true(const Dict& schema, std::string_view key) { return Peek(schema)[key].boolean(); }

void not_required(Dict& schema, std::string_view name) {
  List* required = list_in(schema, "required");
  if (required == nullptr) return;
  required->erase(std::remove_if(required->begin(), required->end(),
                                 [&](const Value& each) { return Peek(each).is(name); }),
                  required->end());
  if (required->empty()) json::erase(schema, "required");
}

// k8s 1.36: what the real server leaves out of version 2, and why: kubectl before 1.25 refuses
// objects because of it.
void simplify(Value& value) {
  if (!value.is_object()) return;
  Dict& schema = value.get_object();
  for (const char* junctor : {"allOf", "oneOf", "anyOf", "not"}) json::erase(schema, junctor);
  const bool open = is_true(schema, "x-kubernetes-preserve-unknown-fields");
  const bool nullable = is_true(schema, "nullable");
  json::erase(schema, "nullable");
  if (Dict* properties = dict_in(schema, "properties"))
    for (const auto& member : *properties)
      if (Peek(member.value())["nullable"].boolean()) not_required(schema, sv(member.key()));
  if (nullable) json::erase(schema, "type");
  if (nullable || open) {
    json::erase(schema, "items");
    json::erase(schema, "properties");
  }
  const Peek type = Peek(schema)["type"];
  if ((type.is("array") && !schema.contains("items")) || (type.is("object") && open))
    json::erase(schema, "type");
  if (is_true(schema, "x-kubernetes-int-or-string")) json::erase(schema, "type");
  for (const char* inside : {"items", "additionalProperties"})
    if (Value* found = schema.if_contains(inside)) simplify(*found);
  if (Dict* properties = dict_in(schema, "properties"))
    for (auto& member : *properties) simplify(member.value());
}

}  // namespace

std::string custom_schema(const KindRow& row, OpenApiVersion version, std::string_view metadata) {
  json::Arena arena;
  Result<Value> parsed = json::parse(row.open_api, arena);
  Value value = parsed && parsed->is_object() ? std::move(*parsed) : Value(Dict(arena.storage()));
  Dict& schema = value.get_object();
  if (schema.empty()) {
    schema["type"] = "object";
    schema["x-kubernetes-preserve-unknown-fields"] = true;
  }
  if (version == OpenApiVersion::kV2) simplify(value);
  // An object that is open at the top has no properties to be said in version 2.
  if (version == OpenApiVersion::kV3 || schema.contains("properties") ||
      !is_true(schema, "x-kubernetes-preserve-unknown-fields")) {
    Dict& properties = make_dict(schema, "properties");
    properties["apiVersion"] = json::parse_good(R"({"type":"string"})", arena);
    properties["kind"] = json::parse_good(R"({"type":"string"})", arena);
    properties["metadata"] = json::parse_good(metadata, arena);
  }
  List kinds(arena.storage());
  Dict kind(arena.storage());
  kind["group"] = bj(row.kind.group);
  kind["kind"] = bj(row.kind.kind);
  kind["version"] = bj(row.kind.version);
  kinds.push_back(std::move(kind));
  schema["x-kubernetes-group-version-kind"] = std::move(kinds);
  return json::print(value);
}

}  // namespace berth::apiserver
