// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/extensions/schema_structure.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "apiserver/kinds/extensions/pattern.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {

void each_sorted(Peek members, const std::function<void(std::string_view, Peek)>& visit) {
  std::map<std::string_view, const json::Value*> sorted;
  for (const auto& member : members.members()) sorted[sv(member.key())] = &member.value();
  for (const auto& [key, value] : sorted) visit(key, Peek(value));
}

std::string why_unreadable(Peek s) {
  if (!s) return "";
  const auto refuse = [](std::string_view word) {
    return fmt::format("OpenAPIV3Schema '{}' is not supported", word);
  };
  if (!s["id"].text().empty()) return refuse("id");
  if (!s["$schema"].text().empty()) return refuse("schema");
  if (!s["$ref"].text().empty()) return refuse("$ref");
  if (s["patternProperties"].size() > 0) return refuse("patternProperties");
  if (s["dependencies"].size() > 0) return refuse("dependencies");
  if (s["additionalItems"]) return refuse("additionalItems");
  if (s["definitions"].size() > 0) return refuse("definitions");
  const json::Value* keeps = s["x-kubernetes-preserve-unknown-fields"].value();
  if (keeps != nullptr && keeps->is_bool() && !keeps->get_bool())
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  if (s["items"].elements().size() > 0)
    return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  for (const std::string_view word : {"items", "additionalProperties", "not"})
    if (s[word].value() != nullptr && s[word].value()->is_object())
      if (std::string why = why_unreadable(s[word]); !why.empty()) return why;
  for (const std::string_view word : {"allOf", "anyOf", "oneOf"})
    for (const json::Value& each : s[word].elements())
      if (std::string why = why_unreadable(Peek(each)); !why.empty()) return why;
  for (const auto& member : s["properties"].members())
    if (std::string why = why_unreadable(Peek(member.value())); !why.empty()) return why;
  return "";
}

namespace {

enum class Level { kRoot, kItem, kField };

std::string in(const std::string& at, std::string_view word) {
  return fmt::format("{}.{}", at, word);
}
std::string property_at(const std::string& at, std::string_view key) {
  return fmt::format("{}.properties[{}]", at, key);
}
Peek schema_in(Peek value) {
  return value.value() != nullptr && value.value()->is_object() ? value : Peek();
}

// [{type: integer}, {type: string}] and nothing else.
bool says_int_or_string(Peek any_of) {
  const auto only_type = [](Peek branch, std::string_view type) {
    return branch.size() == 1 && branch["type"].is(type);
  };
  return any_of.size() == 2 && only_type(any_of[std::size_t{0}], "integer") &&
         only_type(any_of[1], "string");
}

class Structure {
 public:
  Structure(Findings& findings, const std::string& root) : findings_(findings), root_(root) {}

  void invariants(Peek s, Level level, const std::string& at) {
    if (!s) return;
    const std::string_view type = s["type"].text();
    const bool embedded = s["x-kubernetes-embedded-resource"].boolean();
    const bool keeps = s["x-kubernetes-preserve-unknown-fields"].boolean();
    const bool int_or_string = s["x-kubernetes-int-or-string"].boolean();
    const Peek items = schema_in(s["items"]), others = s["additionalProperties"];
    if (type == "array" && !items) findings_.required(Path(in(at, "items")), "must be specified");
    invariants(items, Level::kItem, in(at, "items"));
    each_sorted(s["properties"], [&](std::string_view key, Peek property) {
      invariants(property, Level::kField, property_at(at, key));
    });
    if (others) {
      if (level == Level::kRoot)
        findings_.forbidden(Path(in(at, "additionalProperties")), "must not be used at the root");
      invariants(schema_in(others), Level::kField, in(at, "additionalProperties"));
    }
    if (int_or_string && keeps)
      findings_.invalid(Path(in(at, "x-kubernetes-preserve-unknown-fields")), true,
                        "must be false if x-kubernetes-int-or-string is true");
    if (int_or_string && embedded)
      findings_.invalid(Path(in(at, "x-kubernetes-embedded-resource")), true,
                        "must be false if x-kubernetes-int-or-string is true");
    validations(s, says_int_or_string(s["anyOf"]),
                says_int_or_string(s["allOf"][std::size_t{0}]["anyOf"]), at);

    if (embedded && type != "object") {
      constexpr std::string_view kWhy = "must be object if x-kubernetes-embedded-resource is true";
      if (type.empty())
        findings_.required(Path(in(at, "type")), kWhy);
      else
        findings_.invalid(Path(in(at, "type")), type, kWhy);
    } else if (type.empty() && !int_or_string && !keeps) {
      findings_.required(Path(in(at, "type")),
                         level == Level::kRoot   ? "must not be empty at the root"
                         : level == Level::kItem ? "must not be empty for specified array items"
                                                 : "must not be empty for specified object fields");
    }
    if (embedded && others)
      findings_.forbidden(Path(in(at, "additionalProperties")),
                          "must not be used if x-kubernetes-embedded-resource is set");
    if (level == Level::kRoot && !type.empty() && type != "object")
      findings_.invalid(Path(in(at, "type")), type, "must be object at the root");
    metadata(s, level, embedded, at);
    if (embedded && !keeps && s["properties"].size() == 0)
      findings_.required(Path(in(at, "properties")),
                         "must not be empty if x-kubernetes-embedded-resource is true without "
                         "x-kubernetes-preserve-unknown-fields");
  }

  // What is said in a junctor must be about something that the schema itself has.
  void completeness(Peek validations_of, Peek s, const std::string& at, const std::string& where) {
    const auto nested = [&](Peek v, const std::string& place) {
      if (v) nested_completeness(v, s, at, place);
    };
    nested(validations_of["not"], in(where, "not"));
    for (const std::string_view word : {"allOf", "anyOf", "oneOf"}) {
      std::size_t i = 0;
      for (const json::Value& each : validations_of[word].elements())
        nested(Peek(each), fmt::format("{}.{}[{}]", where, word, i++));
    }
  }

 private:
  void metadata(Peek s, Level level, bool embedded, const std::string& at) {
    const bool checked = level == Level::kRoot || embedded;
    for (const std::string_view word : {"kind", "apiVersion"})
      if (const Peek own = s["properties"][word]; own && checked && !own["type"].is("string"))
        findings_.invalid(Path(in(property_at(at, word), "type")), own["type"].text(),
                          "must be string");
    const Peek own = s["properties"]["metadata"];
    if (!own) return;
    const std::string place = property_at(at, "metadata");
    if (checked && !own["type"].is("object"))
      findings_.invalid(Path(in(place, "type")), own["type"].text(), "must be object");
    if (level != Level::kRoot) return;
    bool other = false;
    for (const auto& member : own.members()) {
      const std::string_view word = sv(member.key());
      if (word == "type" || word == "default") continue;
      if (word == "properties") {
        for (const auto& property : Peek(member.value()).members())
          other |= !one_of(sv(property.key()), {"name", "generateName"});
        continue;
      }
      other = true;
    }
    if (other)
      findings_.forbidden(Path(place),
                          "must not specify anything other than name and generateName, but "
                          "metadata is implicitly specified");
  }

  void validations(Peek v, bool skip_any_of, bool skip_first, const std::string& at) {
    const auto each = [&](std::string_view word, bool skip_inner_first) {
      std::size_t i = 0;
      for (const json::Value& branch : v[word].elements()) {
        nested(Peek(branch), skip_inner_first && i == 0, fmt::format("{}.{}[{}]", at, word, i));
        ++i;
      }
    };
    if (!skip_any_of) each("anyOf", false);
    each("allOf", skip_first);
    each("oneOf", false);
    if (const Peek negated = v["not"]) nested(negated, false, in(at, "not"));
    if (const std::string_view text = v["pattern"].text(); !text.empty()) pattern(text, at);
  }

  // Compiling takes time and memory, so there is an end to it.
  void pattern(std::string_view text, const std::string& at) {
    constexpr std::size_t kMostInstructions = 1'000'000;  // some 16 MB
    if (instructions_ > kMostInstructions) return;
    const Result<Pattern> compiled = Pattern::compile(text);
    if (!compiled)
      return findings_.invalid(Path(in(at, "pattern")), text,
                               fmt::format("must be a valid regular expression, but isn't: {}",
                                           compiled.error().message));
    instructions_ += compiled->size();
    if (instructions_ > kMostInstructions)
      findings_.forbidden(Path(root_), "its patterns are too large together");
  }

  void nested(Peek v, bool skip_any_of, const std::string& at) {
    validations(v, skip_any_of, false, at);
    if (const Peek items = schema_in(v["items"])) nested(items, false, in(at, "items"));
    each_sorted(v["properties"], [&](std::string_view key, Peek property) {
      nested(property, false, property_at(at, key));
    });
    const auto empty = [&](std::string_view word, std::string_view must) {
      findings_.forbidden(Path(in(at, word)), fmt::format("must be {} to be structural", must));
    };
    if (!v["type"].text().empty()) empty("type", "empty");
    if (v["additionalProperties"]) {
      const Peek others = v["additionalProperties"];
      if (schema_in(others) || others.boolean()) empty("additionalProperties", "undefined");
    }
    if (v["default"].value() != nullptr) empty("default", "undefined");
    if (!v["title"].text().empty()) empty("title", "empty");
    if (!v["description"].text().empty()) empty("description", "empty");
    if (v["nullable"].boolean()) empty("nullable", "false");
    for (const std::string_view word :
         {"x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource",
          "x-kubernetes-int-or-string"})
      if (v[word].boolean()) empty(word, "false");
    if (v["x-kubernetes-list-map-keys"].size() > 0) empty("x-kubernetes-list-map-keys", "empty");
    if (v["x-kubernetes-list-type"]) empty("x-kubernetes-list-type", "undefined");
    if (v["x-kubernetes-map-type"]) empty("x-kubernetes-map-type", "undefined");
    if (v["x-kubernetes-validations"].size() > 0) empty("x-kubernetes-validations", "empty");
    if (v["properties"]["metadata"])
      findings_.forbidden(Path(property_at(at, "metadata")),
                          "must not be specified in a nested context");
  }

  void nested_completeness(Peek v, Peek s, const std::string& at, const std::string& where) {
    if (!s) {
      findings_.required(Path(at), fmt::format("because it is defined in {}", where));
      return;
    }
    completeness(v, s, at, where);
    if (const Peek items = schema_in(v["items"]))
      nested_completeness(items, schema_in(s["items"]), in(at, "items"), in(where, "items"));
    each_sorted(v["properties"], [&](std::string_view key, Peek property) {
      nested_completeness(property, s["properties"][key], property_at(at, key),
                          property_at(where, key));
    });
  }

  Findings& findings_;
  const std::string& root_;
  std::size_t instructions_ = 0;  // of all patterns so far
};

}  // namespace

void check_structure(Peek schema, const std::string& at, Findings& findings) {
  Findings own;
  Structure structure(own, at);
  structure.invariants(schema, Level::kRoot, at);
  structure.completeness(schema, schema, at, at);
  findings.add(own.sorted());
}

}  // namespace berth::apiserver
