// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/framework/extension_point.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/reasons.h"

namespace berth::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Status, SaysWhatItIs) {
  EXPECT_TRUE(Status{}.ok());
  EXPECT_TRUE(Status::skip().skipped());
  EXPECT_TRUE(Status::unresolvable("no").rejected());
  EXPECT_TRUE(Status{Code::kPending}.rejected());
  EXPECT_FALSE(Status::error("no").rejected());
  EXPECT_EQ((Status{Code::kUnschedulable, {"a", "b"}}.message()), "a, b");
  EXPECT_EQ(Status{}.message(), "");
  EXPECT_EQ(name_of(Code::kUnresolvable), "UnschedulableAndUnresolvable");
  EXPECT_EQ(name_of(Code::kSuccess), "Success");
}

TEST(ReasonTable, GivesEqualVerdictsOneNumber) {
  ReasonTable table;
  const auto plugin = static_cast<PluginId>(3);
  const ReasonId a = table.id(plugin, Code::kUnschedulable, {"x", "y"});
  EXPECT_EQ(a, table.id(plugin, Code::kUnschedulable, {"x", "y"}));
  EXPECT_NE(a, table.id(plugin, Code::kUnresolvable, {"x", "y"}));
  EXPECT_NE(a, table.id(plugin, Code::kUnschedulable, {"x"}));
  EXPECT_NE(a, table.id(PluginId{4}, Code::kUnschedulable, {"x", "y"}));
  EXPECT_EQ(table.status(a).message(), "x, y");
  EXPECT_EQ(table.status(a).plugin, plugin);
  EXPECT_TRUE(table.status(ReasonId::kNone).ok());
  Rejections why(table, 2);
  why.reject(1, a);
  EXPECT_TRUE(why.status(0).ok());
  EXPECT_EQ(why.status(1).code, Code::kUnschedulable);
}

TEST(Point, HasTwoNames) {
  EXPECT_EQ(name_of(Point::kPreEnqueue), "PreEnqueue");
  EXPECT_EQ(config_name_of(Point::kPostBind), "postBind");
  for (int i = 0; i < kPoints; ++i) {
    std::string name(name_of(static_cast<Point>(i)));
    name[0] = static_cast<char>(name[0] - 'A' + 'a');
    EXPECT_EQ(name, config_name_of(static_cast<Point>(i)));
  }
}

std::vector<std::int64_t> normalized(std::vector<std::int64_t> scores, bool reverse) {
  default_normalize(scores, reverse);
  return scores;
}

TEST(DefaultNormalize, ScalesToAHundred) {
  EXPECT_THAT(normalized({1, 2, 3}, false), ElementsAre(33, 66, 100));
  EXPECT_THAT(normalized({1, 2, 3}, true), ElementsAre(67, 34, 0));
  EXPECT_THAT(normalized({0, 0}, false), ElementsAre(0, 0));
  EXPECT_THAT(normalized({0, 0}, true), ElementsAre(100, 100));
  EXPECT_THAT(normalized({-5, -1}, false), ElementsAre(-5, -1));
  EXPECT_THAT(normalized({}, true), IsEmpty());
}

}  // namespace
}  // namespace berth::scheduler
