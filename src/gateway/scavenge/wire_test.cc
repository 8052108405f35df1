// SPDX-License-Identifier: Apache-2.0
#include "gateway/scavenge/wire.h"

#include <fstream>

#include <gmock/gmock.h>

#include "gateway/scavenge/job_for_test.h"
#include "kube/resource_list.h"

namespace berth::gateway {
namespace {

using testing::HasSubstr;
using testing::Not;

kube::ResourceList amounts(const std::string& json) {
  return kube::parse_resource_list(json::Slice(json), "x").value();
}

TEST(ScavengerRow, TellsFromTheStatusWhatAJobDoes) {
  EXPECT_EQ(does(TestJob("a").waiting(kNoon).view()), ScavengerDoes::kWaits);
  EXPECT_EQ(does(TestJob("a").phase("Pending").with("attempt", "1").view()),
            ScavengerDoes::kStarts);
  EXPECT_EQ(does(TestJob("a").running(kNoon).view()), ScavengerDoes::kRuns);
  EXPECT_EQ(does(TestJob("a").running(kNoon).with("reclaim", R"({"asked":"x"})").view()),
            ScavengerDoes::kIsReclaimed);
  EXPECT_EQ(does(TestJob("a").phase("Completed").view()), ScavengerDoes::kHasEnded);
}

TEST(ScavengerRow, CarriesTheParametersOfTheCostAndNotTheCost) {
  const std::string row = row_json(TestJob("a").running(kNoon).view(), {.cores_milli = 4000});
  const json::Slice said(row);
  EXPECT_EQ(said["state"].text(), "running");
  EXPECT_EQ(said["since"].integer(), kNoon.unix_nanos / 1'000'000);
  EXPECT_EQ(said["cost"]["rate"].integer(), 4000);
  EXPECT_EQ(said["cost"]["window"].integer(), 1'800'000);
  EXPECT_EQ(said["cost"]["reported"].raw(), "false");
  EXPECT_FALSE(said["waits"]);
}

TEST(ScavengerRow, SaysWhatIsMissingUnderTheThreshold) {
  scavenge::AdmitQuestion question;
  question.nodes = {{"n1", amounts(R"({"cpu":"100","memory":"64Gi"})"),
                     amounts(R"({"cpu":"60","memory":"44Gi"})")}};
  question.in_flight = amounts(R"({"cpu":"4"})");
  const scavenge::Waiting wants{.member = amounts(R"({"cpu":"4","memory":"1Gi"})"), .members = 3};
  const Shortage lacks = shortage(question, 70, wants);
  EXPECT_EQ(lacks.resource, "cpu") << "memory is short, too";
  EXPECT_EQ(lacks.amount, 6000);
  EXPECT_EQ(free_cores(question, 70), 6000);
  EXPECT_EQ(shortage(question, 70, {.member = amounts(R"({"memory":"1Gi"})")}).resource, "memory");
  EXPECT_EQ(shortage(question, 90, wants).resource, "");
  const scavenge::Wait wait{
      .uid = "u-a", .reason = scavenge::WaitReason::kThreshold, .message = "m", .turn = 2};
  const std::string row =
      row_json(TestJob("a").waiting(kNoon).view(), {.waits = {.wait = &wait, .shortage = lacks}});
  EXPECT_THAT(row,
              HasSubstr(R"("waits":{"turn":2,"reason":"Threshold","message":"m","short":6000})"));
  EXPECT_THAT(row, Not(HasSubstr(R"("cost")")));
}

// ui/src/scavengers/cost.ts works out the same figures from the same file.
TEST(ScavengerRow, ThePageCountsAsThePolicyDoes) {
  std::ifstream in("ui/fixtures/scavenger_costs.json");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  int cases = 0;
  for (const json::Slice one : json::Slice(text).elements()) {
    const json::Slice from = one["basis"];
    const scavenge::CostBasis basis{
        .since = {from["since"].integer().value() * 1'000'000},
        .rate_milli = from["rate"].integer().value(),
        .window = std::chrono::milliseconds(from["window"].integer().value()),
        .steps = static_cast<int>(from["steps"].integer().value()),
        .reported = from["reported"].boolean(),
        .restart = from["restart"].integer().value(),
        .interval = std::chrono::milliseconds(from["interval"].integer().value_or(0))};
    for (const json::Slice at : one["at"].elements()) {
      const WallTime now{at[std::size_t{0}].integer().value() * 1'000'000};
      EXPECT_EQ(scavenge::cost_at(basis, now), at[1].integer()) << one.raw();
      ++cases;
    }
  }
  EXPECT_GE(cases, 12);
}

}  // namespace
}  // namespace berth::gateway
