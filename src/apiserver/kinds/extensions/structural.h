// SPDX-License-Identifier: Apache-2.0
// What a CRD says about the values of a kind: its OpenAPI schema, read once and kept. "Structural",
// as Kubernetes calls it: every part of a document has one place here that tells its type.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/extensions/pattern.h"
#include "json/value.h"

namespace berth::apiserver {

struct Structural;
using StructuralPtr = std::shared_ptr<const Structural>;

// One of x-kubernetes-validations, as it stands.
struct WrittenRule {
  std::string rule, message, message_expression, reason, field_path;
  bool has_reason = false, optional_old_self = false;
};

// Immutable once made.
struct Structural {
  std::string type;    // "": any, or told by int_or_string
  std::string format;  // only one that is checked for the type
  bool nullable = false;
  std::optional<json::Value> preset = {};  // its default

  std::map<std::string, StructuralPtr, std::less<>> properties = {};
  std::vector<std::string> preset_properties = {};  // those that have a default
  bool other_properties = false;                    // additionalProperties is a schema or true
  bool no_other_properties = false;                 // additionalProperties is false
  StructuralPtr others = {};                        // its schema
  StructuralPtr items = {};
  std::vector<std::string> required = {};

  std::optional<double> maximum = {}, minimum = {}, multiple_of = {};
  bool above_minimum = false, below_maximum = false;  // exclusive
  std::optional<std::int64_t> max_length = {}, min_length = {}, max_items = {}, min_items = {},
                              max_properties = {}, min_properties = {};
  std::optional<Pattern> pattern = {};
  std::vector<json::Value> allowed = {};  // enum

  std::vector<StructuralPtr> all_of = {}, any_of = {}, one_of = {};
  StructuralPtr negated = {};  // not

  bool keeps_unknown = false, embedded = false, int_or_string = false;
  std::string list_type = {};
  std::vector<std::string> list_keys = {};
  bool atomic_map = false;
  std::vector<WrittenRule> rules = {};
  bool rules_below = false;    // here, or in a part of it
  bool presets_below = false;  // in a part of it

  const Structural* property(std::string_view name) const {
    const auto found = properties.find(name);
    return found == properties.end() ? nullptr : found->second.get();
  }
};

// Of an openAPIV3Schema that has been checked; what is not supported is left out.
StructuralPtr read_structural(Peek schema);

// A value with its members in order, as Go prints it.
std::string go_json(const json::Value&);

}  // namespace berth::apiserver
