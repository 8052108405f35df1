// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/extensions/schema_check.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "apiserver/kinds/extensions/cel_rules.h"
#include "apiserver/kinds/extensions/schema_structure.h"
#include "apiserver/kinds/extensions/shaping.h"
#include "apiserver/kinds/extensions/structural.h"
#include "apiserver/kinds/extensions/value_check.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

// With the member at "a.b"; the texts live as long as the expression they are used in.
std::string in(const std::string& at, std::string_view word) {
  return fmt::format("{}.{}", at, word);
}
std::string keyed(const std::string& at, std::string_view word, std::string_view key) {
  return fmt::format("{}.{}[{}]", at, word, key);
}

struct Where {
  std::string no_presets = {};  // why there may be no defaults; "": there may
  bool in_meta = false;
};

// What no schema may have, and what goes together.
class Rules {
 public:
  explicit Rules(Findings& findings) : findings_(findings) {}

  void check(Peek s, const std::string& at, bool root, const Where& where) {
    if (!s) return;
    forbidden_words(s, at, where);
    if (s["uniqueItems"].boolean())
      findings_.forbidden(Path(in(at, "uniqueItems")),
                          "uniqueItems cannot be set to true since the runtime complexity becomes "
                          "quadratic");
    const Peek others = s["additionalProperties"];
    const bool schema_of_others = others.value() != nullptr && others.value()->is_object();
    if (others.present()) {
      if (s["properties"].size() > 0 && (schema_of_others || !others.boolean()))
        findings_.forbidden(Path(in(at, "additionalProperties")),
                            "additionalProperties and properties are mutual exclusive");
      Where below = where;
      if (where.in_meta)
        below.no_presets = "inside additionalProperties applying to object metadata";
      if (schema_of_others) check(others, in(at, "additionalProperties"), false, below);
    }
    each_sorted(s["properties"], [&](std::string_view key, Peek property) {
      Where below = where;
      if ((root || s["x-kubernetes-embedded-resource"].boolean()) &&
          one_of(key, {"metadata", "kind", "apiVersion"})) {
        below.in_meta = true;
        if (root) below.no_presets = fmt::format("in top-level {}", key);
      }
      check(property, keyed(at, "properties", key), false, below);
    });
    check(s["not"], in(at, "not"), false, where);
    for (const std::string_view junctor : {"allOf", "oneOf", "anyOf"}) {
      std::size_t i = 0;
      for (const json::Value& each : s[junctor].elements())
        check(Peek(each), fmt::format("{}.{}[{}]", at, junctor, i++), false, where);
    }
    if (const Peek items = s["items"]; items.value() != nullptr && items.value()->is_object())
      check(items, in(at, "items"), false, where);
    extensions(s, at);
    lists(s, at);
  }

 private:
  void forbidden_words(Peek s, const std::string& at, const Where& where) {
    const std::string_view type = s["type"].text();
    if (!type.empty() &&
        !one_of(type, {"array", "boolean", "integer", "number", "object", "string"}))
      findings_.not_supported(Path(in(at, "type")), type,
                              {"array", "boolean", "integer", "number", "object", "string"});
    if (s["default"].value() != nullptr && !where.no_presets.empty())
      findings_.forbidden(Path(in(at, "default")), "must not be set " + where.no_presets);
    const auto refuse = [&](std::string_view word) {
      findings_.forbidden(Path(in(at, word)), fmt::format("{} is not supported", word));
    };
    if (!s["id"].text().empty()) refuse("id");
    if (s["additionalItems"]) refuse("additionalItems");
    if (s["patternProperties"].size() > 0) refuse("patternProperties");
    if (s["definitions"].size() > 0) refuse("definitions");
    if (s["dependencies"]) refuse("dependencies");
    if (s["$ref"]) refuse("$ref");
    if (type == "null")
      findings_.forbidden(Path(in(at, "type")),
                          "type cannot be set to null, use nullable as an alternative");
    if (s["items"].elements().size() > 0)
      findings_.forbidden(Path(in(at, "items")), "items must be a schema object and not an array");
    if (where.in_meta && s["x-kubernetes-embedded-resource"].boolean())
      findings_.forbidden(Path(in(at, "x-kubernetes-embedded-resource")),
                          "must not be used inside of resource meta");
  }

  void must_be(Peek s, const std::string& at, std::string_view wanted, std::string_view why) {
    const std::string_view type = s["type"].text();
    if (type == wanted) return;
    const std::string detail = fmt::format("must be {} if {} is specified", wanted, why);
    if (type.empty())
      findings_.required(Path(in(at, "type")), detail);
    else
      findings_.invalid(Path(in(at, "type")), type, detail);
  }

  void extensions(Peek s, const std::string& at) {
    const json::Value* keeps = s["x-kubernetes-preserve-unknown-fields"].value();
    if (keeps != nullptr && keeps->is_bool() && !keeps->get_bool())
      findings_.invalid(Path(in(at, "x-kubernetes-preserve-unknown-fields")), false,
                        "must be true or undefined");
    const std::string_view map_type = s["x-kubernetes-map-type"].text();
    if (s["x-kubernetes-map-type"]) {
      must_be(s, at, "object", "x-kubernetes-map-type");
      if (!one_of(map_type, {"atomic", "granular"}))
        findings_.not_supported(Path(in(at, "x-kubernetes-map-type")), map_type,
                                {"atomic", "granular"});
    }
  }

  void lists(Peek s, const std::string& at) {
    const Peek type = s["x-kubernetes-list-type"], keys = s["x-kubernetes-list-map-keys"];
    const Peek items = s["items"];
    const bool one_schema = items.value() != nullptr && items.value()->is_object();
    if (type && s["type"].text() != "array") {
      must_be(s, at, "array", "x-kubernetes-list-type");
    } else if (type.is("set") && one_schema) {
      const std::string below = in(at, "items");
      constexpr std::string_view kAtomic =
          "must be atomic as item of a list with x-kubernetes-list-type=set";
      const Peek inner = items["x-kubernetes-list-type"];
      if (items["type"].is("array") && inner && !inner.is("atomic"))
        findings_.invalid(Path(in(below, "x-kubernetes-list-type")), inner.text(), kAtomic);
      if (items["type"].is("object") && !items["x-kubernetes-map-type"].is("atomic"))
        // k8s 1.36: the value shown is that of the list type.
        findings_.invalid(Path(in(below, "x-kubernetes-map-type")),
                          inner ? Shown(inner.text()) : Shown::raw("null"), kAtomic);
    }
    if (type && !one_of(type.text(), {"atomic", "set", "map"}))
      findings_.not_supported(Path(in(at, "x-kubernetes-list-type")), type.text(),
                              {"atomic", "set", "map"});
    if (keys.size() > 0 && !type.is("map")) {
      constexpr std::string_view kWhy = "must be map if x-kubernetes-list-map-keys is non-empty";
      if (!type)
        findings_.required(Path(in(at, "x-kubernetes-list-type")), kWhy);
      else
        findings_.invalid(Path(in(at, "x-kubernetes-list-type")), type.text(), kWhy);
    }
    if (type.is("map")) map_list(s, keys, items, one_schema, at);
    if (one_schema && (type.is("set") || type.is("map"))) unique_items(items, keys, type, at);
  }

  void map_list(Peek, Peek keys, Peek items, bool one_schema, const std::string& at) {
    if (keys.size() == 0)
      findings_.required(Path(in(at, "x-kubernetes-list-map-keys")),
                         "must not be empty if x-kubernetes-list-type is map");
    if (!items)
      findings_.required(Path(in(at, "items")),
                         "must have a schema if x-kubernetes-list-type is map");
    if (!one_schema) return;
    const std::string below = in(at, "items");
    if (!items["type"].is("object")) {
      findings_.invalid(Path(in(below, "type")), items["type"].text(),
                        "must be object if parent array's x-kubernetes-list-type is map");
      return;
    }
    std::set<std::string_view> seen;
    const Shown all = Shown::raw(keys ? go_json(*keys.value()) : "null");
    const std::string place = in(at, "x-kubernetes-list-map-keys");
    for (const json::Value& each : keys.elements()) {
      const std::string_view key = Peek(each).text();
      const Peek property = items["properties"][key];
      if (!property)
        findings_.invalid(Path(place), all, "entries must all be names of item properties");
      else if (one_of(property["type"].text(), {"array", "object"}))
        findings_.invalid(Path(keyed(below, "properties", key) + ".type"), items["type"].text(),
                          "must be a scalar type if parent array's x-kubernetes-list-type is map");
      if (!seen.insert(key).second)
        findings_.invalid(Path(place), all, "must not contain duplicate entries");
    }
  }

  void unique_items(Peek items, Peek keys, Peek type, const std::string& at) {
    const std::string below = in(at, "items");
    if (items["nullable"].boolean())
      findings_.forbidden(
          Path(in(below, "nullable")),
          fmt::format("cannot be nullable when x-kubernetes-list-type is {}", type.text()));
    if (!type.is("map")) return;
    for (const json::Value& each : keys.elements()) {
      const std::string_view key = Peek(each).text();
      const Peek property = items["properties"][key];
      if (!property) continue;
      bool required = false;
      for (const json::Value& name : items["required"].elements())
        required |= Peek(name).text() == key;
      const std::string place = keyed(below, "properties", key);
      if (!required && property["default"].value() == nullptr)
        findings_.required(Path(in(place, "default")),
                           "this property is in x-kubernetes-list-map-keys, so it must have a "
                           "default or be a required property");
      if (property["nullable"].boolean())
        findings_.forbidden(Path(in(place, "nullable")),
                            "this property is in x-kubernetes-list-map-keys, so it cannot be "
                            "nullable");
    }
  }

  Findings& findings_;
};

// Defaults are values that the schema itself accepts.
void check_presets(const StructuralPtr& schema_ptr, const std::string& at, bool in_meta,
                   Findings& findings) {
  const Structural& schema = *schema_ptr;
  if (schema.preset && !in_meta) {
    const std::string place = in(at, "default");
    json::Value pruned(*schema.preset);
    prune(pruned, schema, schema.embedded);
    if (!json::equal(pruned, *schema.preset))
      findings.invalid(Path(place), Shown::raw(go_json(*schema.preset)),
                       "must not have unknown fields");
    Findings inner;
    json::Value copy(*schema.preset);
    if (const auto coerced = coerce_embedded(copy, schema, schema.embedded); !coerced)
      inner.invalid(Path(place), Shown::raw(go_json(*schema.preset)), coerced.error().message);
    if (inner.empty()) check_embedded(*schema.preset, schema, place, inner);
    if (inner.empty()) check_value(*schema.preset, schema, place, inner);
    // k8s 1.36: rules about the default itself hold for it, too.
    if (inner.empty())
      if (const RuleTreePtr rules = compile_rules(schema_ptr, false))
        check_rules(*schema.preset, *rules, place, inner, nullptr);
    findings.add(inner);
  }
  if (schema.items != nullptr) check_presets(schema.items, in(at, "items"), in_meta, findings);
  for (const auto& [key, property] : schema.properties)
    check_presets(property, keyed(at, "properties", key),
                  in_meta || (schema.embedded && one_of(key, {"metadata", "apiVersion", "kind"})),
                  findings);
}

// With a status of its own, the schema of the status must be a part that can be taken out.
void check_root(Peek schema, const std::string& at, Findings& findings) {
  if (const std::string_view type = schema["type"].text(); !type.empty() && type != "object")
    return findings.invalid(Path(in(at, "type")), type,
                            "only \"object\" is allowed as the type at the root of the schema if "
                            "the status subresource is enabled");
  for (const std::string_view word : {"$ref",
                                      "$schema",
                                      "id",
                                      "additionalItems",
                                      "additionalProperties",
                                      "allOf",
                                      "anyOf",
                                      "default",
                                      "definitions",
                                      "dependencies",
                                      "enum",
                                      "maxProperties",
                                      "minProperties",
                                      "not",
                                      "nullable",
                                      "oneOf",
                                      "patternProperties",
                                      "x-kubernetes-embedded-resource",
                                      "x-kubernetes-int-or-string",
                                      "x-kubernetes-list-map-keys",
                                      "x-kubernetes-list-type",
                                      "x-kubernetes-map-type"})
    if (schema[word].value() != nullptr)
      return findings.invalid(
          Path(at), Shown::raw(go_json(*schema.value())),
          "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum "
          "MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items "
          "Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed "
          "at the root of the schema if the status subresource is enabled");
}

}  // namespace

void check_schema(Peek schema, const std::string& at, bool has_status, Findings& findings) {
  Findings own;
  if (has_status) check_root(schema, at, own);
  if (schema["nullable"].boolean())
    own.forbidden(Path(in(at, "nullable")), "nullable cannot be true at the root");
  if (const std::string why = why_unreadable(schema); why.empty()) {
    Findings structure;
    StructuralPtr read;
    check_structure(schema, at, structure);
    if (structure.empty()) {
      read = read_structural(schema);
      check_presets(read, at, false, structure);
    }
    own.add(structure);
    Rules(own).check(schema, at, true, {});
    if (read != nullptr) check_rule_texts(read, at, own);
  } else {
    Findings rules;
    Rules(rules).check(schema, at, true, {});
    if (own.empty() && rules.empty()) own.invalid(Path(at), "", why);
    own.add(rules);
  }
  findings.add(own);
}

}  // namespace berth::apiserver
