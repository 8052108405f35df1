// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/extensions/structural.h"

#include <algorithm>

#include "apiserver/kinds/extensions/formats.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

std::optional<double> number(Peek value) {
  if (value.value() == nullptr) return std::nullopt;
  if (value.value()->is_double()) return value.value()->get_double();
  if (const auto whole = value.integer()) return static_cast<double>(*whole);
  return std::nullopt;
}

std::vector<std::string> texts(Peek list) {
  std::vector<std::string> out;
  for (const json::Value& each : list.elements()) out.emplace_back(Peek(each).text());
  return out;
}

// Kept for longer than the arena that the document is in.
json::Value kept(const json::Value& value) {
  return json::Value(value, boost::json::storage_ptr());
}

std::vector<StructuralPtr> branches(Peek list) {
  std::vector<StructuralPtr> out;
  for (const json::Value& each : list.elements()) out.push_back(read_structural(Peek(each)));
  return out;
}

}  // namespace

StructuralPtr read_structural(Peek schema) {
  auto out = std::make_shared<Structural>();
  out->type = schema["type"].text();
  out->int_or_string = schema["x-kubernetes-int-or-string"].boolean();
  out->format = checked_format(schema["format"].text(), out->int_or_string ? "many" : out->type);
  out->nullable = schema["nullable"].boolean();
  if (const json::Value* preset = schema["default"].value()) out->preset = kept(*preset);

  for (const auto& member : schema["properties"].members())
    out->properties.emplace(sv(member.key()), read_structural(Peek(member.value())));
  for (const auto& [name, property] : out->properties)
    if (property->preset) out->preset_properties.push_back(name);
  const Peek others = schema["additionalProperties"];
  if (others.value() != nullptr && others.value()->is_bool()) {
    out->other_properties = others.boolean();
    out->no_other_properties = !others.boolean();
  } else if (others.value() != nullptr && others.value()->is_object()) {
    out->other_properties = true;
    out->others = read_structural(others);
  }
  if (const Peek items = schema["items"]; items.value() != nullptr && items.value()->is_object())
    out->items = read_structural(items);
  out->required = texts(schema["required"]);

  out->maximum = number(schema["maximum"]);
  out->minimum = number(schema["minimum"]);
  out->below_maximum = schema["exclusiveMaximum"].boolean();
  out->above_minimum = schema["exclusiveMinimum"].boolean();
  out->multiple_of = number(schema["multipleOf"]);
  out->max_length = schema["maxLength"].integer();
  out->min_length = schema["minLength"].integer();
  out->max_items = schema["maxItems"].integer();
  out->min_items = schema["minItems"].integer();
  out->max_properties = schema["maxProperties"].integer();
  out->min_properties = schema["minProperties"].integer();
  if (const std::string_view pattern = schema["pattern"].text(); !pattern.empty())
    if (Result<Pattern> compiled = Pattern::compile(pattern)) out->pattern = std::move(*compiled);
  for (const json::Value& each : schema["enum"].elements()) out->allowed.push_back(kept(each));

  out->all_of = branches(schema["allOf"]);
  out->any_of = branches(schema["anyOf"]);
  out->one_of = branches(schema["oneOf"]);
  if (const Peek negated = schema["not"]) out->negated = read_structural(negated);

  out->keeps_unknown = schema["x-kubernetes-preserve-unknown-fields"].boolean();
  out->embedded = schema["x-kubernetes-embedded-resource"].boolean();
  out->list_type = schema["x-kubernetes-list-type"].text();
  out->list_keys = texts(schema["x-kubernetes-list-map-keys"]);
  out->atomic_map = schema["x-kubernetes-map-type"].is("atomic");
  for (const json::Value& each : schema["x-kubernetes-validations"].elements()) {
    const Peek rule(each);
    out->rules.push_back({.rule = std::string(rule["rule"].text()),
                          .message = std::string(rule["message"].text()),
                          .message_expression = std::string(rule["messageExpression"].text()),
                          .reason = std::string(rule["reason"].text()),
                          .field_path = std::string(rule["fieldPath"].text()),
                          .has_reason = rule["reason"].present(),
                          .optional_old_self = rule["optionalOldSelf"].boolean()});
  }
  out->rules_below = !out->rules.empty();
  const auto look_below = [&](const StructuralPtr& part) {
    if (part == nullptr) return;
    out->rules_below |= part->rules_below;
    out->presets_below |= part->preset || part->presets_below;
  };
  look_below(out->items);
  look_below(out->others);
  for (const auto& [name, property] : out->properties) look_below(property);
  return out;
}

std::string go_json(const json::Value& value) {
  std::string out;
  if (value.is_object()) {
    std::map<std::string_view, const json::Value*> sorted;
    for (const auto& member : value.get_object()) sorted[sv(member.key())] = &member.value();
    out += '{';
    for (const auto& [key, each] : sorted) {
      if (out.size() > 1) out += ',';
      json::append_quoted(out, key);
      out += ':';
      out += go_json(*each);
    }
    return out + '}';
  }
  if (value.is_array()) {
    out += '[';
    for (const json::Value& each : value.get_array()) {
      if (out.size() > 1) out += ',';
      out += go_json(each);
    }
    return out + ']';
  }
  return json::print(value);
}

}  // namespace berth::apiserver
