// SPDX-License-Identifier: Apache-2.0
// YAML as Kubernetes reads it (sigs.k8s.io/yaml: YAML 1.1 scalars as go-yaml resolves them, then
// JSON), and back.
#pragma once

#include <cstddef>
#include <optional>
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
// JSON come through too, unchanged. An error names line and column: "line 7, column 3: illegal map
// value". Duplicate keys are errors in YAML; in JSON they are left to whoever reads it.
Result<std::vector<YamlDocument>> yaml_to_json(std::string_view text, const YamlLimits& = {});
// Exactly one document.
Result<std::string> yaml_document_to_json(std::string_view text, const YamlLimits& = {});
// Block style, keys in the order given, strings quoted only where they would read back as something
// else.
std::string json_to_yaml(std::string_view good_json);

// The line on which "spec.containers[0].resources" stands in a document of a stream (documents
// count as yaml_to_json() gives them); the line of the nearest thing above it where it is missing.
// Members whose names have dots are written in brackets: metadata.labels[app.kubernetes.io/name].
std::optional<std::size_t> yaml_line_of(std::string_view text, std::size_t document_index,
                                        std::string_view path);

}  // namespace berth::json
