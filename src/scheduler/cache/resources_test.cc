// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

using testing::ElementsAre;
using testing::Pair;

Resources from(std::string_view json) {
  return Resources::from(*kube::parse_resource_list(json::Slice(json), "list"));
}

TEST(Resources, KnowWhichNamesCount) {
  struct Row {
    const char* name;
    bool extended, scalar;
  };
  const Row rows[] = {
      {"example.com/gpu", true, true},
      {"nvidia.com/gpu", true, true},
      {"hugepages-2Mi", false, true},
      {"attachable-volumes-aws-ebs", false, true},
      {"kubernetes.io/batch-cpu", false, true},
      {"x.kubernetes.io/dev", false, true},
      {"requests.example.com/gpu", false, false},
      {"cpu", false, false},
      {"pods", false, false},
      {"gpu", false, false},
      {"example.com/", false, false},
      {"example.com/a b", false, false},
      {"a/b/c", false, false},
      {"deviceclass.resource.kubernetes.io/gpu", false, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(is_extended_resource(row.name), row.extended);
    EXPECT_EQ(is_scalar_resource(row.name), row.scalar);
  }
}

TEST(Resources, RoundUpToWholeUnits) {
  const Resources r = from(
      R"({"cpu":"1500u","memory":"1.5","ephemeral-storage":"1Ki","example.com/x":"100m","pods":"9"})");
  EXPECT_EQ(r.millicores, 2);
  EXPECT_EQ(r.memory, 2);
  EXPECT_EQ(r.disk, 1024);
  EXPECT_THAT(r.scalars, ElementsAre(Pair("example.com/x", 1)));
}

TEST(Resources, TellAskedForNoneFromDidNotAsk) {
  EXPECT_TRUE(from("{}").nothing());
  EXPECT_TRUE(from(R"({"cpu":"0"})").nothing());
  const Resources none = from(R"({"example.com/x":"0"})");
  EXPECT_FALSE(none.nothing());
  EXPECT_EQ(none.scalar("example.com/x"), 0);
  EXPECT_FALSE(none == from("{}"));
}

TEST(Resources, AreFoundByName) {
  const Resources r{1, 2, 3, {{"a/b", 4}}};
  EXPECT_EQ(r.of("cpu"), 1);
  EXPECT_EQ(r.of("memory"), 2);
  EXPECT_EQ(r.of("ephemeral-storage"), 3);
  EXPECT_EQ(r.of("a/b"), 4);
  EXPECT_EQ(r.of("a/c"), 0);
}

}  // namespace
}  // namespace berth::scheduler
