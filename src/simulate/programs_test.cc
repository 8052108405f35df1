// SPDX-License-Identifier: Apache-2.0
#include "simulate/programs.h"

#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/world.h"
#include "client/local_transport.h"
#include "kube/time.h"

namespace berth::simulate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Program program(int members = 1) {
  return {.name = "scav-00000",
          .members = members,
          .cpu_milli = 2000,
          .memory_mib = 1,
          .work = 25min,
          .checkpoint_every = 10min,
          .checkpoint_takes = 30s,
          .restore = 20s,
          .window = 30min,
          .reports = true};
}

// An API server that notes what annotations it is asked for, and pods that the test makes up.
class Stage : private kube::ApiHandler {
 public:
  explicit Stage(Program of)
      : scope(world.loop("user"), "user"),
        transport(world.loop("user"), *this, {}),
        api(scope, transport, Random(1)),
        programs(scope, api, {std::move(of)}, Random(2)) {}
  ~Stage() override {
    scope.close(0s, [] {});
    world.run_for(1s);
  }

  void pod(std::string_view uid, std::string_view phase, bool deleting = false, bool gone = false) {
    const std::string running =
        fmt::format(R"("containerStatuses":[{{"state":{{"running":{{"startedAt":"{}"}}}}}}],)",
                    kube::time_text(world.clock().wall()));
    programs.on_pod(
        *kube::Object::parse(fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"scav-00000-1-{0}","namespace":"d","uid":"{0}"{1}}},"spec":{{}},"status":{{{2}"phase":"{3}"}}}})",
            uid, deleting ? R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")" : "",
            phase == "Running" ? running : "", phase)),
        gone);
    world.run_for(1ms);
  }

  World world{1};
  std::vector<std::string> asked;  // "scav-00000-1-a {…}"
  Scope scope;
  client::LocalTransport transport;
  client::Api api;
  Programs programs;

 private:
  void handle(kube::ApiRequest request, Done<kube::ApiReply> done) override {
    asked.push_back(fmt::format("{} {}", request.name, *request.body.bytes));
    done(fail(Reason::kNotFound, "no such pod"));
  }
};

TEST(Programs, TakeWhatIsLeftAndTheirCheckpoints) {
  Random random(1);
  const auto takes = [&](Duration done) {
    return time_of_run(program(), done, stretches_of(program(), done, random).size());
  };
  EXPECT_EQ(takes(0s), 20s + 25min + 2 * 30s);
  EXPECT_EQ(takes(9min + 30s), 20s + 15min + 30s + 30s);
  EXPECT_EQ(takes(25min), 20s);
  EXPECT_EQ(takes(15min + 30s), 20s + 9min + 30s) << "none at its very end";
}

TEST(Programs, WriteTheirCheckpointsAboutWhenTheyPlanned) {
  Program one = program();
  one.work = 1000min;
  one.irregular = 0.1;
  Random random(1);
  const std::vector<Duration> stretches = stretches_of(one, 0s, random);
  EXPECT_THAT(stretches, testing::SizeIs(testing::AllOf(testing::Ge(95U), testing::Le(116U))));
  EXPECT_THAT(stretches,
              testing::Each(testing::AllOf(testing::Ge(8min + 30s), testing::Le(10min + 30s))));
  EXPECT_NE(stretches.front(), stretches.back());
  EXPECT_LT(std::accumulate(stretches.begin(), stretches.end(), Duration{}), one.work);
  EXPECT_NE(stretches, stretches_of(one, 0s, random)) << "another run";
}

TEST(Programs, LoseWhatTheyDidSinceTheirLastCheckpoint) {
  Stage stage(program());
  stage.pod("a", "Pending");
  stage.pod("a", "Running");
  ASSERT_EQ(stage.asked.size(), 1u);
  EXPECT_THAT(
      stage.asked[0],
      StartsWith(R"(scav-00000-1-a {"metadata":{"annotations":{"berth.dev/duration":"26m20)"));
  stage.world.run_for(13min + 20s);  // a checkpoint at 10:20
  ASSERT_EQ(stage.asked.size(), 2u);
  EXPECT_THAT(stage.asked[1], HasSubstr(R"("berth.dev/checkpoint":"2026-)"));
  stage.pod("a", "Running", true);
  EXPECT_EQ(stage.programs.account().interruptions, 1);
  EXPECT_NEAR(stage.programs.account().lost_core_seconds, 2 * 180, 0.1);
  EXPECT_NEAR(stage.programs.account().useful_core_seconds, 2 * 570, 0.1);
  stage.pod("a", "Failed", true);
  stage.pod("a", "Failed", true, true);
  EXPECT_EQ(stage.programs.account().interruptions, 1) << "once";

  stage.pod("b", "Running");
  EXPECT_THAT(stage.asked.back(), HasSubstr(R"("berth.dev/duration":"16m20)"));
  stage.world.run_for(20min);
  stage.pod("b", "Succeeded");
  EXPECT_EQ(stage.programs.account().completed, 1);
  EXPECT_NEAR(stage.programs.account().useful_core_seconds, 2 * 25 * 60, 0.1);
  stage.pod("b", "Succeeded", true, true);
  EXPECT_EQ(stage.programs.account().interruptions, 1);
}

TEST(Programs, RunOnlyWhileAllOfTheirMembersDo) {
  Stage stage(program(2));
  stage.pod("a", "Running");
  stage.world.run_for(5min);
  EXPECT_EQ(stage.programs.account().started, 0);
  stage.pod("b", "Running");
  EXPECT_EQ(stage.programs.account().started, 1);
  // The older member has to go on for longer than it has been there.
  EXPECT_THAT(stage.asked, ElementsAre(HasSubstr("31m20"), HasSubstr("26m20")));
  stage.world.run_for(1min);
  stage.pod("a", "Failed");
  stage.pod("b", "Running", true);
  EXPECT_EQ(stage.programs.account().interruptions, 1);
  EXPECT_NEAR(stage.programs.account().lost_core_seconds, 4 * 60, 0.1);
}

TEST(Programs, AreNotFinishedBeforeTheLastMemberIs) {
  Stage stage(program(2));
  stage.pod("a", "Running");
  stage.pod("b", "Running");
  stage.world.run_for(30min);
  stage.pod("a", "Succeeded");
  EXPECT_EQ(stage.programs.account().completed, 0);
  stage.pod("b", "Succeeded");
  EXPECT_EQ(stage.programs.account().completed, 1);
  EXPECT_EQ(stage.programs.account().interruptions, 0);
}

}  // namespace
}  // namespace berth::simulate
