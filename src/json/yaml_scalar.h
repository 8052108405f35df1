// SPDX-License-Identifier: Apache-2.0
// What a YAML scalar means to Kubernetes: go-yaml v2 under sigs.k8s.io/yaml, a reading of YAML 1.1.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::json {

struct YamlScalar {
  enum class Kind : unsigned char { kNull, kBool, kInteger, kFloat, kString };
  Kind kind = Kind::kString;
  std::string json;  // the value as JSON text; for strings the string itself. Empty: not a number
                     // that JSON can write (.inf, .nan)
  double real = 0;   // of a float
};

// An unquoted scalar without a tag.
YamlScalar resolve_plain(std::string_view text);
// Any scalar with a tag ("tag:yaml.org,2002:int"); nothing when the text is none of that kind.
std::optional<YamlScalar> resolve_tagged(std::string_view text, std::string_view tag);

// The scalar as a key of a JSON object; nothing for what cannot be one (null, numbers beyond
// int64).
std::optional<std::string> key_text(const YamlScalar&);

// Does the text have the form of a date, or of a date and time?
bool looks_like_timestamp(std::string_view text);

}  // namespace berth::json
