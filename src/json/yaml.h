// SPDX-License-Identifier: Apache-2.0
// YAML as Kubernetes reads it (sigs.k8s.io/yaml: YAML 1.1 scalars as go-yaml resolves them, then
// JSON), and back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/limits.h"

namespace berth::json {

struct YamlLimits {
  std::size_t max_bytes = std::size_t{16} << 20;
  unsigned max_depth = 100;
  std::size_t max_nodes =
      1'000'000;  // counted after anchors are expanded, so a "billion laughs" file is refused early
};

// One document of a stream, as JSON text, with the line it starts at.
struct YamlDocument {
  std::string json;
  std::size_t line = 1;
};

// Every document of a stream; empty ones are left out. JSON is YAML, so JSON files and concatenated
// JSON come through too. An error names line and column: "line 7, column 3: a mapping value is not
// allowed here". Duplicate keys are errors.
Result<std::vector<YamlDocument>> yaml_to_json(std::string_view text, const YamlLimits& = {});
// Exactly one document.
Result<std::string> yaml_document_to_json(std::string_view text, const YamlLimits& = {});
// Block style, keys in the order given, strings quoted only where they would read back as something
// else.
std::string json_to_yaml(std::string_view good_json);

}  // namespace berth::json
