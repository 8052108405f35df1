// SPDX-License-Identifier: Apache-2.0
// Taking over, leaving in good order, and leaving at once.
#include <gmock/gmock.h>

#include "lab.h"

namespace berth::scheduler::stories {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

void elect(SchedulerConfig& config) { config.leader_election.leader_elect = true; }
std::string holder(Lab& lab) {
  const auto& leases = lab.server.objects.all(kube::kLease);
  return leases.empty() ? "(none)" : leases.begin()->second.member("spec")["holderIdentity"].text();
}

TEST(Leaving, BindsUnderWayEndAndTheLeaseIsReleasedLast) {
  Lab lab(elect);
  lab.replica.wire.delay = [](const kube::ApiRequest& request) {
    return is_bind(request) ? Duration(3s) : Duration{};
  };
  lab.node("n1");
  lab.pod("web");
  lab.run();
  lab.replica.scope.close(5s, [&] { lab.replica.closed = true; });
  lab.run(100ms);
  lab.pod("late");
  lab.run(1s);
  EXPECT_EQ(holder(lab), "scheduler") << "a bind is under way";
  lab.run(5s);
  EXPECT_TRUE(lab.replica.closed);
  EXPECT_EQ(lab.node_of("web"), "n1");
  EXPECT_EQ(lab.node_of("late"), "");
  EXPECT_EQ(holder(lab), "");
  EXPECT_THAT(lab.server.binds, ElementsAre("web n1"));
  EXPECT_THAT(lab.server.events_of("web"),
              ElementsAre("Scheduled: Successfully assigned default/web to n1"));
  EXPECT_FALSE(lab.replica.failure);
}

TEST(Leaving, WaitingPodsAreRefusedAndPreparedOnesAreNotBound) {
  Lab lab(elect);
  std::vector<Done<Status>> open;
  tester.permit = [](const Pod& pod) {
    return pod.name == "waits" ? PermitResult{Status{Code::kWait}, 10min} : PermitResult{};
  };
  tester.pre_bind = [&](const Pod&, Done<Status> done) { open.push_back(std::move(done)); };
  lab.node("n1");
  lab.pod("waits");
  lab.pod("prepared");
  lab.run();
  ASSERT_THAT(open, SizeIs(1));
  lab.replica.scope.close(5s, [&] { lab.replica.closed = true; });
  lab.run(100ms);
  open[0](Status{});
  lab.run(6s);
  open.clear();
  EXPECT_TRUE(lab.replica.closed);
  EXPECT_THAT(lab.server.binds, IsEmpty());
  EXPECT_THAT(lab.server.events_of("waits"),
              Contains("FailedScheduling: 0/1 nodes are available: 1 scheduler stopping."));
  EXPECT_EQ(lab.scheduler().binding(), 0u);
}

TEST(Leading, AnotherTakesOverAndBindsWhatIsLeft) {
  Lab lab(elect);
  Replica second(lab.world, lab.server, "second", elect);
  lab.node("n1");
  lab.pod("first");
  lab.run(5s);
  EXPECT_EQ(lab.node_of("first"), "n1");
  EXPECT_EQ(second.app->scheduler(), nullptr) << "it waits";
  lab.replica.close();
  lab.pod("left");
  lab.run(30s);
  EXPECT_EQ(holder(lab), "second");
  EXPECT_EQ(lab.node_of("left"), "n1");
  EXPECT_EQ(second.app->scheduler()->cluster().pod_count(), 2u);
  EXPECT_THAT(lab.server.binds, ElementsAre("first n1", "left n1"));
}

TEST(Leading, WhoLosesTheLeaseFailsAtOnceAndSendsNothingMore) {
  Lab lab(elect);
  lab.node("n1");
  lab.run();
  ASSERT_EQ(holder(lab), "scheduler");
  bool away = true;
  lab.replica.wire.refuse = [&](const kube::ApiRequest& request) -> std::optional<Error> {
    if (!away || request.kind != kube::kLease) return std::nullopt;
    return Error{.reason = Reason::kInternalError, .message = "etcd is away", .code = 500};
  };
  lab.run(20s);
  ASSERT_TRUE(lab.replica.failure.has_value());
  lab.pod("web");
  lab.run(20s);
  EXPECT_THAT(lab.server.binds, IsEmpty());
}

TEST(Leading, ObjectsMayBeReadOnlyOnceItLeads) {
  Lab lab([](SchedulerConfig& config) {
    elect(config);
    config.delay_cache_until_active = true;
  });
  Replica second(lab.world, lab.server, "second", [](SchedulerConfig& config) {
    elect(config);
    config.delay_cache_until_active = true;
  });
  lab.node("n1");
  lab.pod("web");
  lab.run(5s);
  EXPECT_EQ(lab.node_of("web"), "n1");
  EXPECT_FALSE(second.app->synced());
  lab.replica.close();
  lab.pod("left");
  lab.run(30s);
  EXPECT_EQ(lab.node_of("left"), "n1");
}

}  // namespace
}  // namespace berth::scheduler::stories
