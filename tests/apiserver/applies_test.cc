// SPDX-License-Identifier: Apache-2.0
// The same sequences of applies and updates by several managers, ours against what the real server
// made of them: the object, who manages what in it, and how conflicts are told.
#include <gtest/gtest.h>

#include "apiserver/kinds/kinds.h"
#include "bench.h"
#include "golden_file.h"

namespace berth::apiserver {
namespace {

TEST(AppliesGoldens, ObjectsManagersAndConflictsAreThoseOfTheRealServer) {
  const std::map<std::string, std::string> known = known_differences();
  std::size_t sequences = 0;
  for (const std::string& text : golden_lines("applies")) {
    const json::Slice line(text);
    const std::string name = line["name"].text();
    const auto id = kube::find_kind(line["apiVersion"].text(), line["kind"].text());
    ASSERT_TRUE(id) << name;
    const std::string why = replay(*find_built_in(*id), line);
    ++sequences;
    if (known.contains("apply " + name))
      EXPECT_NE(why, "") << name << " is right now; take it out of differences.txt";
    else
      EXPECT_EQ(why, "") << name;
  }
  EXPECT_GE(sequences, 60U);
}

}  // namespace
}  // namespace berth::apiserver
