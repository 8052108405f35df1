// SPDX-License-Identifier: Apache-2.0
// Sets of fields from outside: what is read is written and read again as the same, and the
// operations on sets agree with each other.
#include <cstdint>
#include <string_view>

#include "apiserver/apply/field_set.h"
#include "base/check.h"
#include "two_parts.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [first, second] = two_parts(data, size);
  json::Arena arena;
  const auto read = [&](std::string_view text) -> apiserver::FieldSet {
    const Result<json::Value> value = json::parse(text, arena);
    if (!value) return {};
    return apiserver::FieldSet::parse(*value).value_or(apiserver::FieldSet());
  };
  const apiserver::FieldSet a = read(first), b = read(second);
  BERTH_CHECK(read(a.json()) == a, a.json());
  BERTH_CHECK(((a - b) | (a & b)) == a, a.json());
  BERTH_CHECK(((a | b) - b) == (a - b), a.json());
  BERTH_CHECK(a.without_trees(b).size() <= a.size(), a.json());
  return 0;
}
