// SPDX-License-Identifier: Apache-2.0
// The structural schema of a built-in message, made from the same tables that everything else
// reads.
#include <algorithm>

#include "json/writer.h"
#include "kube/ours/kind_spec.h"
#include "kube/schema/messages.h"
#include "kube/schema/required.h"

namespace berth::kube {
namespace {

std::vector<std::string> words(std::string_view commas) {
  std::vector<std::string> out;
  while (!commas.empty()) {
    const std::size_t comma = std::min(commas.find(','), commas.size());
    out.emplace_back(commas.substr(0, comma));
    commas.remove_prefix(std::min(comma + 1, commas.size()));
  }
  return out;
}

bool has(const std::vector<std::string>& all, std::string_view word) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

std::vector<std::string> required_of(const json::Message& message) {
  for (const schema::Required& row : schema::kRequired)
    if (row.message == &message) return words(row.fields);
  return {};
}

// What a template may say of the objects that are made from it. Who manages which field belongs to
// objects alone; it has no fixed shape.
Field template_metadata(std::string name) {
  // k8s 1.36: clients print a creation time of null into templates.
  return object(std::move(name),
                {map("annotations", text("")), time("creationTimestamp").nullable(),
                 list("finalizers", text("")).as_set(), text("generateName"),
                 map("labels", text("")), text("name"), text("namespace")});
}

Field one(std::string name, const json::Field& field) {
  switch (field.type) {
    case json::FieldType::kString:
      return text(std::move(name));
    case json::FieldType::kBytes:
      return text(std::move(name)).format("byte");
    case json::FieldType::kBool:
      return boolean(std::move(name));
    case json::FieldType::kInteger:
      return Field(std::move(name), "integer").format(field.go_type == "int64" ? "int64" : "int32");
    case json::FieldType::kNumber:
      return {std::move(name), "number"};
    case json::FieldType::kMessage:
      return field.message == &schema::kMetaV1ObjectMeta
                 ? template_metadata(std::move(name))
                 : built_in(std::move(name), *field.message);
    case json::FieldType::kQuantity:
      return quantity(std::move(name));
    case json::FieldType::kIntOrString:
      return int_or_string(std::move(name));
    case json::FieldType::kTime:
    case json::FieldType::kMicroTime:
      return time(std::move(name));
    case json::FieldType::kDuration:
      return duration(std::move(name));
    case json::FieldType::kAny:
    case json::FieldType::kFieldsV1:
      break;
  }
  return anything(std::move(name));
}

}  // namespace

Field built_in(std::string name, const json::Message& message) {
  std::vector<Field> members;
  const std::vector<std::string> required = required_of(message);
  for (const json::Field& each : message.fields) {
    Field field("", "");
    switch (each.shape) {
      case json::Shape::kSingle:
        field = one(std::string(each.name), each);
        break;
      case json::Shape::kMap:
        field = map(std::string(each.name), one("", each));
        break;
      case json::Shape::kList:
        field = list(std::string(each.name), one("", each));
        break;
    }
    const std::vector<std::string> keys = words(each.list_map_keys);
    if (each.shape == json::Shape::kList) {
      // Elements are told apart by keys only where every one has them.
      const std::vector<std::string> given =
          each.message == nullptr ? std::vector<std::string>() : required_of(*each.message);
      for (const std::string& key : keys)
        if (!has(given, key))
          field.items_.at(0).at(key).otherwise(key == "protocol" ? "\"TCP\"" : "\"\"");
      if (each.list_type == json::ListType::kMap && !keys.empty()) field.keyed_by(keys);
      if (each.list_type == json::ListType::kSet) field.as_set();
      if (each.list_type == json::ListType::kAtomic) field.atomic();
    } else if (each.list_type == json::ListType::kAtomic) {
      field.fact("x-kubernetes-map-type", "\"atomic\"");
    }
    if (has(required, each.name)) field.required();
    members.push_back(std::move(field));
  }
  return object(std::move(name), std::move(members));
}

}  // namespace berth::kube
