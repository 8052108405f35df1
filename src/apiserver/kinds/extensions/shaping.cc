// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/extensions/shaping.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "apiserver/edit/conform.h"
#include "apiserver/kinds/object_meta.h"
#include "base/lower.h"
#include "kube/names.h"
#include "kube/schema.h"

namespace berth::apiserver {
namespace {

using json::Dict;
using json::Value;

bool is_meta(std::string_view key) {
  return key == "apiVersion" || key == "kind" || key == "metadata";
}

std::string child(const std::string& at, std::string_view key) {
  return at.empty() ? std::string(key) : fmt::format("{}.{}", at, key);
}

class Pruner {
 public:
  std::vector<std::string> unknown;

  void prune(Value& value, const Structural* schema, const std::string& at, bool embedded) {
    const bool keeps = schema != nullptr && schema->keeps_unknown;
    if (value.is_array()) {
      const Structural* items = schema == nullptr ? nullptr : schema->items.get();
      if (keeps && items == nullptr) return;
      std::size_t i = 0;
      for (Value& each : value.get_array()) {
        const std::string below = fmt::format("{}[{}]", at, i++);
        // What keeps the unknown keeps it in its elements as far as they say nothing else.
        if (keeps)
          skip(each, *items, below);
        else
          prune(each, items, below, items != nullptr && items->embedded);
      }
      return;
    }
    if (!value.is_object()) return;
    if (keeps) return skip(value, *schema, at, embedded);
    Dict& dict = value.get_object();
    std::vector<std::string> gone;
    for (auto& member : dict) {
      const std::string_view key = sv(member.key());
      if (schema != nullptr && embedded && is_meta(key)) continue;
      const Structural* property = schema == nullptr ? nullptr : schema->property(key);
      if (property != nullptr) {
        prune(member.value(), property, child(at, key), property->embedded);
      } else if (schema != nullptr && (schema->other_properties || schema->no_other_properties)) {
        prune(member.value(), schema->others.get(), child(at, key),
              schema->others != nullptr && schema->others->embedded);
      } else {
        if (!is_meta(key) || !at.empty()) unknown.push_back(child(at, key));
        gone.emplace_back(key);
      }
    }
    for (const std::string& key : gone) json::erase(dict, key);
  }

 private:
  void skip(Value& value, const Structural& schema, const std::string& at) {
    skip(value, schema, at, schema.embedded);
  }
  void skip(Value& value, const Structural& schema, const std::string& at, bool embedded) {
    if (value.is_array()) {
      std::size_t i = 0;
      if (schema.items != nullptr)
        for (Value& each : value.get_array())
          skip(each, *schema.items, fmt::format("{}[{}]", at, i++));
      return;
    }
    if (!value.is_object()) return;
    for (auto& member : value.get_object()) {
      const std::string_view key = sv(member.key());
      if (embedded && is_meta(key)) continue;
      if (const Structural* property = schema.property(key))
        prune(member.value(), property, child(at, key), property->embedded);
      else if (schema.other_properties || schema.no_other_properties)
        prune(member.value(), schema.others.get(), child(at, key),
              schema.others != nullptr && schema.others->embedded);
    }
  }
};

const Structural* schema_of_member(const Structural& schema, std::string_view key) {
  if (const Structural* property = schema.property(key)) return property;
  return schema.others.get();
}

}  // namespace

std::vector<std::string> prune(Value& value, const Structural& schema, bool top) {
  Pruner pruner;
  pruner.prune(value, &schema, "", top || schema.embedded);
  std::sort(pruner.unknown.begin(), pruner.unknown.end());
  return std::move(pruner.unknown);
}

void prune_nulls(Value& value, const Structural& schema) {
  if (value.is_object()) {
    Dict& dict = value.get_object();
    std::vector<std::string> gone;
    for (auto& member : dict) {
      const Structural* below = schema_of_member(schema, sv(member.key()));
      if (below == nullptr) continue;
      if (member.value().is_null() && !below->nullable && !below->preset)
        gone.emplace_back(sv(member.key()));
      else
        prune_nulls(member.value(), *below);
    }
    for (const std::string& key : gone) json::erase(dict, key);
  } else if (value.is_array() && schema.items != nullptr) {
    for (Value& each : value.get_array()) prune_nulls(each, *schema.items);
  }
}

namespace {

std::size_t bytes_in(const Value& value) {
  constexpr std::size_t kFrame = 4;
  std::size_t bytes = kFrame;
  if (value.is_string()) bytes += value.get_string().size();
  if (value.is_array())
    for (const Value& each : value.get_array()) bytes += bytes_in(each);
  if (value.is_object())
    for (const auto& member : value.get_object())
      bytes += member.key().size() + bytes_in(member.value());
  return bytes;
}

// A small body and a long default for every element of a list could make any amount of memory. What
// has grown beyond all that can be stored is not filled any further; it will be refused.
class Filler {
 public:
  void fill(Value& value, const Structural& schema) {
    if (filled_ > kMost) return;
    if (value.is_object()) {
      Dict& dict = value.get_object();
      for (const std::string& key : schema.preset_properties) {
        const Structural* property = schema.property(key);
        const Value* found = dict.if_contains(bj(key));
        if (found == nullptr || unwanted_null(*found, property))
          dict[bj(key)] = copied(*property->preset, dict.storage());
      }
      for (auto& member : dict) {
        if (const Structural* property = schema.property(sv(member.key()))) {
          fill(member.value(), *property);
        } else if (schema.others != nullptr) {
          if (unwanted_null(member.value(), schema.others.get()) && schema.others->preset)
            member.value() = copied(*schema.others->preset, dict.storage());
          fill(member.value(), *schema.others);
        }
      }
    } else if (value.is_array() && schema.items != nullptr) {
      for (Value& each : value.get_array()) {
        if (unwanted_null(each, schema.items.get()) && schema.items->preset)
          each = copied(*schema.items->preset, each.storage());
        fill(each, *schema.items);
      }
    }
  }

 private:
  static constexpr std::size_t kMost = std::size_t{4} << 20;

  static bool unwanted_null(const Value& v, const Structural* s) {
    return v.is_null() && s != nullptr && !s->nullable;
  }
  Value copied(const Value& preset, const boost::json::storage_ptr& storage) {
    filled_ += bytes_in(preset);
    return Value(preset, storage);
  }

  std::size_t filled_ = 0;
};

}  // namespace

void fill_presets(Value& value, const Structural& schema) { Filler().fill(value, schema); }

namespace {

const json::Message& object_meta() {
  static const json::Message& message =
      *kube::find_message("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  return message;
}

class Coercer {
 public:
  std::vector<std::string> unknown;
  std::string problem;

  void coerce(Value& value, const Structural& schema, const std::string& at, bool embedded) {
    if (!problem.empty()) return;
    if (value.is_array()) {
      std::size_t i = 0;
      if (schema.items != nullptr)
        for (Value& each : value.get_array())
          coerce(each, *schema.items, fmt::format("{}[{}]", at, i++), schema.items->embedded);
      return;
    }
    if (!value.is_object()) return;
    for (auto& member : value.get_object()) {
      const std::string_view key = sv(member.key());
      if (embedded) meta(key, member.value(), at);
      if (!problem.empty()) return;
      if (const Structural* below = schema_of_member(schema, key))
        coerce(member.value(), *below, child(at, key), below->embedded);
    }
  }

 private:
  void meta(std::string_view key, Value& value, const std::string& at) {
    if (key == "apiVersion" || key == "kind") {
      if (!value.is_string())
        problem =
            fmt::format("{}: Invalid value: {}: must be a string", child(at, key), go_json(value));
      return;
    }
    if (key != "metadata") return;
    if (value.is_null()) {
      value = Dict(value.storage());
      return;
    }
    const std::string shown = go_json(value);
    const Result<Conformed> done = conform(value, object_meta());
    if (!done) {
      problem =
          fmt::format("{}: Invalid value: {}: {}", child(at, key), shown, done.error().message);
      return;
    }
    for (const std::string& each : done->unknown)
      unknown.push_back(fmt::format("{}.{}", child(at, key), each));
  }
};

}  // namespace

Result<std::vector<std::string>> coerce_embedded(Value& value, const Structural& schema, bool top) {
  Coercer coercer;
  coercer.coerce(value, schema, "", top);
  if (!coercer.problem.empty()) return invalid(coercer.problem);
  std::sort(coercer.unknown.begin(), coercer.unknown.end());
  return std::move(coercer.unknown);
}

namespace {

void check_inner_object(const Dict& dict, const std::string& at, Findings& findings) {
  const Peek object(dict);
  for (const std::string_view key : {"apiVersion", "kind"}) {
    const std::string place = child(at, key);
    const Value* value = dict.if_contains(bj(key));
    if (value == nullptr) {
      findings.required(Path(place));
    } else if (!value->is_string()) {
      findings.invalid(Path(place), Shown::raw(go_json(*value)), "must be a string");
    } else if (const std::string_view text = sv(value->get_string()); text.empty()) {
      findings.invalid(Path(place), text, "must not be empty");
    } else if (key == "apiVersion") {
      if (std::count(text.begin(), text.end(), '/') > 1)
        findings.invalid(Path(place), text,
                         fmt::format("unexpected GroupVersion string: {}", text));
    } else if (const kube::Complaints wrong = kube::check_dns_1035_label(lower(text));
               !wrong.empty()) {
      findings.invalid(Path(place), text,
                       fmt::format("may have mixed case, but should otherwise match: {}",
                                   fmt::join(wrong, ",")));
    }
  }
  if (const Value* metadata = dict.if_contains("metadata"); metadata && metadata->is_object()) {
    Value copy(*metadata, boost::json::storage_ptr());
    if (Peek(copy)["name"].text().empty()) copy.as_object()["name"] = "fakename";
    const std::string place = child(at, "metadata");
    check_metadata(Peek(copy), !Peek(copy)["namespace"].text().empty(), &check_path_segment,
                   Path(place), findings);
  }
}

void check_embedded_below(const Value& value, const Structural& schema, const std::string& at,
                          bool embedded, Findings& findings) {
  if (value.is_array()) {
    std::size_t i = 0;
    if (schema.items != nullptr)
      for (const Value& each : value.get_array())
        check_embedded_below(each, *schema.items, fmt::format("{}[{}]", at, i++),
                             schema.items->embedded, findings);
    return;
  }
  if (!value.is_object()) return;
  if (embedded) check_inner_object(value.get_object(), at, findings);
  for (const auto& member : value.get_object()) {
    const std::string_view key = sv(member.key());
    if (const Structural* property = schema.property(key))
      check_embedded_below(member.value(), *property, child(at, key), property->embedded, findings);
    else if (schema.others != nullptr)
      check_embedded_below(member.value(), *schema.others, fmt::format("{}[{}]", at, key),
                           schema.others->embedded, findings);
  }
}

// Each element that appears a second time, and only then.
std::vector<std::size_t> repeated(const std::vector<std::string>& keys) {
  std::map<std::string_view, int> seen;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (++seen[keys[i]] == 2) out.push_back(i);
  return out;
}

void check_list(const json::List& list, const Structural& schema, const std::string& at,
                Findings& findings) {
  std::vector<std::string> keys;
  if (schema.list_type == "set") {
    for (const Value& each : list) keys.push_back(go_json(each));
  } else if (schema.list_type == "map") {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].is_object() && !list[i].is_null())
        return findings.invalid(Path(fmt::format("{}[{}]", at, i)), Shown::raw(go_json(list[i])),
                                "must be an object for an array of list-type map");
      Dict key;
      for (const std::string& name : schema.list_keys)
        if (const Value* part = Peek(list[i])[name].value()) key[bj(name)] = *part;
      keys.push_back(go_json(Value(std::move(key))));
    }
  }
  for (const std::size_t i : repeated(keys)) {
    const std::string place = fmt::format("{}[{}]", at, i);
    findings.duplicate(Path(place), Shown::raw(keys[i]));
  }
}

}  // namespace

void check_embedded(const Value& value, const Structural& schema, const std::string& at,
                    Findings& findings) {
  check_embedded_below(value, schema, at, schema.embedded, findings);
}

void check_lists(const Value& value, const Structural& schema, const std::string& at,
                 Findings& findings) {
  if (value.is_array()) {
    check_list(value.get_array(), schema, at, findings);
    std::size_t i = 0;
    if (schema.items != nullptr)
      for (const Value& each : value.get_array())
        check_lists(each, *schema.items, fmt::format("{}[{}]", at, i++), findings);
  } else if (value.is_object()) {
    for (const auto& member : value.get_object()) {
      const std::string_view key = sv(member.key());
      if (const Structural* property = schema.property(key))
        check_lists(member.value(), *property, child(at, key), findings);
      else if (schema.others != nullptr)
        check_lists(member.value(), *schema.others, fmt::format("{}[{}]", at, key), findings);
    }
  }
}

}  // namespace berth::apiserver
