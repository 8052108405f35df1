// SPDX-License-Identifier: Apache-2.0
// The paths that a CRD's columns and selectable fields are written in: kubectl's JSONPath without
// its templates. .spec.replicas, .metadata.labels['a.b/c'], .status.conditions[?(@.type=="Ready")]
// .status, [0], [-1], [1:3], [*], ..name
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "json/slice.h"
#include "kube/object.h"

namespace berth::apiserver {

// Immutable, thread-safe.
class JsonPath {
 public:
  static Result<JsonPath> parse(std::string_view);
  // The values it leads to, in document order; views into the object.
  std::vector<json::Slice> find(const kube::Object&) const;

 private:
  struct Field {
    std::string name;
  };
  struct Range {
    std::optional<std::int64_t> from, to;
    std::int64_t step = 1;
    bool single = false;
  };
  struct All {};
  struct Deep {  // this name at any depth
    std::string name;
  };
  struct Filter {
    std::vector<std::string> left;  // fields below each element
    std::string op;                 // "": it is there
    std::string right;              // as JSON
  };
  using Step = std::variant<Field, Range, All, Deep, Filter>;

  static void take(json::Slice, const Step&, std::vector<json::Slice>& out);
  static bool holds(json::Slice, const Filter&);
  static Result<Step> parse_brackets(std::string_view inside);

  std::vector<Step> steps_;
};

}  // namespace berth::apiserver
