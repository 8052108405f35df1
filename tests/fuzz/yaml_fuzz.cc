// SPDX-License-Identifier: Apache-2.0
// What YAML gives is good JSON, and written as YAML again it reads back as the same.
#include "base/check.h"
#include "json/cursor.h"
#include "json/value.h"
#include "json/yaml.h"

using namespace berth::json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const YamlLimits limits{.max_bytes = 1 << 20, .max_nodes = 20'000};
  yaml_line_of(text, 0, "spec.containers[0].image");
  const auto documents = yaml_to_json(text, limits);
  if (!documents) {
    BERTH_CHECK(documents.error().message.find('\n') == std::string::npos);
    return 0;
  }
  for (const YamlDocument& document : *documents) {
    Arena arena;
    BERTH_CHECK(check(document.json).has_value(), document.json);
    const auto first = parse(document.json, arena);
    if (!first) continue;  // a number beyond 64-bit floats
    const std::string json = print(parse_good(print(*first), arena));
    const auto again = yaml_document_to_json(json_to_yaml(json));
    BERTH_CHECK(again || json == "null", json);
    if (again) BERTH_CHECK(equal(parse_good(*again, arena), parse_good(json, arena)), json);
  }
  return 0;
}
