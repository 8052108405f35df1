// SPDX-License-Identifier: Apache-2.0
// The way from a decision to the API server, with everything that can go wrong on it.
#include <gmock/gmock.h>

#include "lab.h"

namespace berth::scheduler::stories {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kErrors =
    R"(scheduler_schedule_attempts_total{profile="default-scheduler",result="error"})";

// The first `times` binds meet this fate.
auto for_binds(Wire::Fate fate, int times = 1) {
  return [fate, times](const kube::ApiRequest& request) mutable {
    return is_bind(request) && times-- > 0 ? fate : Wire::Fate::kDeliver;
  };
}
auto refuse_binds(const Error& error, int times = 1) {
  return [error, times](const kube::ApiRequest& request) mutable -> std::optional<Error> {
    if (!is_bind(request) || times-- <= 0) return std::nullopt;
    return error;
  };
}

TEST(Binding, ThatIsSlowHoldsNobodyUp) {
  Lab lab;
  lab.replica.wire.delay = [](const kube::ApiRequest& request) {
    return is_bind(request) && request.name == "slow" ? Duration(20s) : Duration{};
  };
  lab.node("n1", "2");
  lab.pod("slow");
  lab.run();
  lab.pod("quick");
  lab.pod("none");
  lab.run();
  EXPECT_EQ(lab.node_of("quick"), "n1");
  EXPECT_EQ(lab.node_of("none"), "") << "the slow one's place is held";
  EXPECT_EQ(lab.scheduler().cluster().assumed_count(), 1u);
  lab.run(20s);
  EXPECT_EQ(lab.node_of("slow"), "n1");
  EXPECT_EQ(lab.scheduler().cluster().assumed_count(), 0u);
}

TEST(Binding, ALostReplyIsConfirmedAndNotRepeated) {
  Lab lab;
  lab.replica.wire.fate = for_binds(Wire::Fate::kLoseReply);
  lab.node("n1");
  lab.pod("web");
  lab.run(60s);
  EXPECT_EQ(lab.node_of("web"), "n1");
  EXPECT_THAT(lab.server.binds, ElementsAre("web n1"));
  EXPECT_THAT(lab.server.events_of("web"),
              ElementsAre("Scheduled: Successfully assigned default/web to n1"));
  EXPECT_EQ(lab.metric("berth_bind_unknown_total"), 0);
}

TEST(Binding, ALostRequestIsSentAgain) {
  Lab lab;
  lab.replica.wire.fate = for_binds(Wire::Fate::kLoseRequest, 2);
  lab.node("n1");
  lab.pod("web");
  lab.run(60s);
  EXPECT_EQ(lab.node_of("web"), "n1");
  EXPECT_THAT(lab.server.binds, ElementsAre("web n1"));
}

TEST(Binding, NobodyKnowingWhatBecameOfItIsCountedAndTriedAgain) {
  Lab lab;
  bool away = true;
  lab.replica.wire.fate = [&](const kube::ApiRequest& request) {
    return away && is_bind(request) ? Wire::Fate::kLoseRequest : Wire::Fate::kDeliver;
  };
  lab.replica.wire.refuse = [&](const kube::ApiRequest& request) -> std::optional<Error> {
    if (away && request.verb == kube::Verb::kGet && request.kind == kube::kPod)
      return Error{.reason = Reason::kForbidden, .message = "not now", .code = 403};
    return std::nullopt;
  };
  lab.node("n1");
  lab.pod("web");
  lab.run();
  EXPECT_EQ(lab.metric("berth_bind_unknown_total"), 1);
  EXPECT_EQ(lab.metric(kErrors), 1);
  EXPECT_EQ(lab.scheduler().cluster().assumed_count(), 0u);
  away = false;
  lab.run(20s);
  EXPECT_EQ(lab.node_of("web"), "n1");
}

TEST(Binding, ALostRaceIsCountedAndThePodIsNotTriedAgain) {
  Lab lab;
  lab.node("n1");
  lab.node("n2", "1");
  lab.replica.wire.delay = [&](const kube::ApiRequest& request) {
    return is_bind(request) ? Duration(5s) : Duration{};
  };
  lab.pod("web", "2");
  lab.run();
  lab.pod("web", "2", R"(,"nodeName":"n2")");  // somebody else was faster
  lab.run(60s);
  EXPECT_EQ(lab.node_of("web"), "n2");
  EXPECT_THAT(lab.server.binds, ElementsAre("web n1"));
  EXPECT_EQ(lab.metric("berth_bind_lost_race_total"), 1);
  EXPECT_THAT(lab.server.events_of("web"), IsEmpty());
  EXPECT_THAT(lab.server.patches, IsEmpty());
  const ClusterState& cluster = lab.scheduler().cluster();
  ASSERT_EQ(cluster.pod_count(), 1u);
  EXPECT_EQ(cluster.pod(lab.server.pod("web").uid())->node_name, "n2");
  EXPECT_EQ(cluster.recount(), "");
}

TEST(Binding, APodThatIsGoneIsForgotten) {
  Lab lab;
  lab.node("n1", "1");
  lab.replica.wire.delay = [&](const kube::ApiRequest& request) {
    return is_bind(request) && request.name == "web" ? Duration(5s) : Duration{};
  };
  lab.pod("web");
  lab.run();
  lab.pod("other");
  lab.run();
  lab.remove_pod("web");
  lab.run(2s);
  EXPECT_EQ(lab.node_of("other"), "n1") << "before the bind of the first is answered";
  lab.run(20s);
  EXPECT_THAT(lab.server.binds, ElementsAre("other n1", "web n1"));
  EXPECT_THAT(lab.server.events_of("web"), IsEmpty());
  EXPECT_EQ(lab.scheduler().binding(), 0u);
  EXPECT_EQ(lab.scheduler().cluster().pod_count(), 1u);
  EXPECT_EQ(lab.scheduler().cluster().recount(), "");
}

TEST(Binding, AServerErrorIsToldAndTriedAgainAfterAWhile) {
  for (const Error& error :
       {Error{.reason = Reason::kInternalError, .message = "etcd is away", .code = 500},
        Error{.reason = Reason::kForbidden, .message = "etcd is away", .code = 403}}) {
    Lab lab;
    lab.replica.wire.refuse = refuse_binds(error);
    lab.node("n1");
    lab.pod("web");
    lab.run(500ms);
    EXPECT_EQ(lab.node_of("web"), "");
    EXPECT_EQ(lab.metric(kErrors), 1);
    EXPECT_THAT(
        lab.server.events_of("web"),
        ElementsAre("FailedScheduling: running Bind plugin \"DefaultBinder\": etcd is away"));
    ASSERT_THAT(lab.server.patches, SizeIs(1));
    EXPECT_THAT(lab.server.patches[0], HasSubstr(R"("reason":"SchedulerError")"));
    lab.run(10s);
    EXPECT_EQ(lab.node_of("web"), "n1");
  }
}

TEST(Binding, ItsNodeMayVanishMeanwhile) {
  Lab lab;
  lab.node("n1");
  lab.replica.wire.delay = [&](const kube::ApiRequest& request) {
    return is_bind(request) ? Duration(5s) : Duration{};
  };
  lab.pod("web");
  lab.run();
  lab.server.objects.remove(kube::kNode, {"", "n1"});
  lab.run(10s);
  EXPECT_EQ(lab.node_of("web"), "n1") << "the API server decides, as for kube-scheduler";
  EXPECT_EQ(lab.scheduler().cluster().recount(), "");
}

TEST(Preparing, ThatTakesTimeTellsTheNodeAndThenBinds) {
  Lab lab;
  std::vector<Done<Status>> open;
  tester.pre_bind = [&](const Pod&, Done<Status> done) { open.push_back(std::move(done)); };
  lab.node("n1", "1");
  lab.pod("web");
  lab.run(10s);
  ASSERT_THAT(open, SizeIs(1));
  EXPECT_THAT(lab.server.patches.at(0), HasSubstr(R"("nominatedNodeName":"n1")"));
  EXPECT_THAT(lab.server.binds, IsEmpty());
  open[0](Status{});
  lab.run();
  EXPECT_EQ(lab.node_of("web"), "n1");
  open.clear();
}

TEST(Preparing, ThatFailsFreesThePlaceAndIsTriedAgain) {
  Lab lab;
  int tries = 0, undone = 0;
  tester.pre_bind = [&](const Pod&, Done<Status> done) {
    done(++tries == 1 ? Status::error("disk on fire") : Status{});
  };
  tester.unreserve = [&](const Pod&) { ++undone; };
  lab.node("n1");
  lab.pod("web");
  lab.run(20s);
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(undone, 1);
  EXPECT_EQ(lab.node_of("web"), "n1");
  EXPECT_THAT(lab.server.events_of("web"),
              Contains("FailedScheduling: running PreBind plugin \"Tester\": disk on fire"));
}

TEST(Preparing, IsCancelledByPreemptionWithoutDeletingThePod) {
  Lab lab;
  std::vector<Done<Status>> open;
  tester.pre_bind = [&](const Pod& pod, Done<Status> done) {
    if (pod.name == "web")
      open.push_back(std::move(done));
    else
      done(Status{});
  };
  lab.node("n1", "1");
  lab.pod("web");
  lab.run();
  lab.pod("high", "1", R"(,"priority":100)");
  lab.run();
  const std::string uid(lab.server.pod("web").uid());
  EXPECT_TRUE(tester.services->pre_bind_cancelled(uid));
  open.at(0)(Status{});
  lab.run(10s);
  EXPECT_EQ(lab.node_of("high"), "n1");
  EXPECT_EQ(lab.node_of("web"), "");
  EXPECT_THAT(lab.server.binds, ElementsAre("high n1"));
  EXPECT_THAT(lab.server.events_of("web"),
              Contains("FailedScheduling: preempted by DefaultPreemption"));
  open.clear();
}

}  // namespace
}  // namespace berth::scheduler::stories
