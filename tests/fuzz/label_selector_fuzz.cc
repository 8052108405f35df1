// SPDX-License-Identifier: Apache-2.0
// Text and JSON selectors: the canonical text of one that is good is good and stays the same.
#include <string>

#include "base/check.h"
#include "json/cursor.h"
#include "kube/label_selector.h"

using namespace berth;
using kube::LabelSelector;

namespace {

void check(const LabelSelector& selector) {
  const kube::LabelMap labels = {{"app", "web"}, {"n", "7"}, {"e", ""}};
  constexpr std::string_view kLabels = R"({"app":"web","n":"7","e":""})";
  BERTH_CHECK(selector.matches(labels) == selector.matches(json::Slice(kLabels)));
  if (selector.matches_nothing()) return;
  const auto again = LabelSelector::parse(selector.text());
  BERTH_CHECK(again.has_value(), selector.text());
  BERTH_CHECK(again->text() == LabelSelector::parse(again->text())->text());
  BERTH_CHECK(again->matches(labels) == selector.matches(labels));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto selector = LabelSelector::parse(input)) check(*selector);
  if (json::check(input))
    if (const auto selector = LabelSelector::from_json(json::Slice(input))) check(*selector);
  return 0;
}
