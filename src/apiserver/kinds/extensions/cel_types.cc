// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/extensions/cel_types.h"

namespace berth::apiserver {
namespace {

using cel::Kind;

cel::TypePtr text_type(const Structural& schema) {
  if (schema.format == "byte") return cel::simple(Kind::kBytes);
  if (schema.format == "duration") return cel::simple(Kind::kDuration);
  if (schema.format == "date" || schema.format == "date-time" || schema.format == "datetime")
    return cel::simple(Kind::kTimestamp);
  return cel::simple(Kind::kString);
}

cel::TypePtr members_type(const Structural& schema, bool object) {
  cel::Type out{.kind = Kind::kObject};
  const auto add = [&](const std::string& key, cel::TypePtr type) {
    const std::string name = cel::member_name(key);
    if (type != nullptr && !name.empty())
      out.members.insert_or_assign(name, cel::Type::Member{key, std::move(type)});
  };
  for (const auto& [key, property] : schema.properties) add(key, cel_type_of(*property, false));
  if (object) {
    // k8s 1.36: of an object's metadata rules see its names alone.
    cel::Type metadata{.kind = Kind::kObject};
    for (const char* key : {"name", "generateName"})
      metadata.members[key] = {key, cel::simple(Kind::kString)};
    add("metadata", std::make_shared<const cel::Type>(std::move(metadata)));
    add("apiVersion", cel::simple(Kind::kString));
    add("kind", cel::simple(Kind::kString));
  }
  return std::make_shared<const cel::Type>(std::move(out));
}

}  // namespace

cel::TypePtr cel_type_of(const Structural& schema, bool object) {
  if (schema.int_or_string) return cel::simple(Kind::kDyn);
  if (schema.type == "string") return text_type(schema);
  if (schema.type == "boolean") return cel::simple(Kind::kBool);
  if (schema.type == "integer") return cel::simple(Kind::kInt);
  if (schema.type == "number") return cel::simple(Kind::kDouble);
  if (schema.type == "array") {
    cel::TypePtr element =
        schema.items == nullptr ? nullptr : cel_type_of(*schema.items, schema.items->embedded);
    if (element == nullptr) return nullptr;
    return cel::list_of(std::move(element), schema.list_type == "set" || schema.list_type == "map");
  }
  if (schema.type != "object") return nullptr;
  if (schema.other_properties) {
    cel::TypePtr values =
        schema.others == nullptr ? nullptr : cel_type_of(*schema.others, schema.others->embedded);
    return values == nullptr ? nullptr : cel::map_of(std::move(values));
  }
  return members_type(schema, object || schema.embedded);
}

}  // namespace berth::apiserver
