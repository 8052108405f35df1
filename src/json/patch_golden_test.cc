// SPDX-License-Identifier: Apache-2.0
// Random patches with the answers of the real code: apimachinery v0.36.4's StrategicMergePatch (for
// corev1.Pod) and evanphx/json-patch v4.13.0, the one that kube-apiserver 1.36 uses. An answer that
// depended on the order of a Go map was left out.
#include <fstream>

#include <gtest/gtest.h>

#include "json/patch.h"
#include "json/slice.h"
#include "json/test_schema.h"
#include "json/value.h"

namespace berth::json {
namespace {

Result<std::string> apply(const Slice& row) {
  const std::string kind = row["kind"].text();
  const std::string_view original = row["original"].raw();
  const std::string_view patch = row["patch"].raw();
  if (kind == "jsonPatch") return json_patch(original, patch);
  if (kind == "mergePatch") return merge_patch(original, patch);
  return strategic_merge_patch(original, patch, test::kPod);
}

TEST(Patches, AgreeWithTheRealCode) {
  std::ifstream file("src/json/testdata/patches.jsonl");
  int rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    const Slice row(line);
    const Result<std::string> result = apply(row);
    ASSERT_EQ(result.has_value(), row["valid"].boolean()) << line;
    if (!result) continue;
    Arena arena;
    EXPECT_TRUE(equal(parse_good(*result, arena), parse_good(row["result"].raw(), arena)))
        << line << "\ngives " << *result;
  }
  EXPECT_GT(rows, 300);
}

}  // namespace
}  // namespace berth::json
