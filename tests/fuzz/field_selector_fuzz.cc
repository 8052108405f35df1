// SPDX-License-Identifier: Apache-2.0
// The text of a selector that is good reads back as the same terms, except where the field itself
// has characters that only values may escape.
#include <string>

#include "base/check.h"
#include "kube/field_selector.h"

using berth::kube::FieldSelector;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto selector = FieldSelector::parse(input);
  if (!selector) return 0;
  bool plain = true;
  for (const auto& term : selector->terms())
    plain = plain && term.field.find_first_of("\\,=!") == std::string::npos;
  const auto value_of = [](std::string_view field) { return std::string(field); };
  const bool matches = selector->matches(value_of);
  if (!plain) return 0;
  const auto again = FieldSelector::parse(selector->text());
  BERTH_CHECK(again.has_value(), selector->text());
  BERTH_CHECK(again->terms().size() == selector->terms().size());
  BERTH_CHECK(again->matches(value_of) == matches);
  return 0;
}
