// SPDX-License-Identifier: Apache-2.0
// Two documents, one a line: the second as a patch of the first, and the way from one to the other.
#include "base/check.h"
#include "json/cursor.h"
#include "json/patch.h"
#include "json/value.h"
#include "two_parts.h"

using namespace berth::json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [from, to] = two_parts(data, size);
  if (const auto merged = merge_patch(from, to)) {
    BERTH_CHECK(check(*merged).has_value());
    BERTH_CHECK(merge_patch(*merged, to).has_value());
  }
  // A merge patch cannot set a member to null, so the target goes without.
  const auto target = merge_patch("{}", to);
  const auto patch = target ? merge_patch_between(from, *target) : target;
  if (!patch) return 0;
  const auto result = merge_patch(from, *patch);
  Arena arena;
  BERTH_CHECK(result && equal(parse_good(*result, arena), parse_good(*target, arena)), *patch);
  return 0;
}
