// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kube/disruption_budget_view.h"
#include "kube/event_view.h"
#include "kube/job_view.h"
#include "kube/lease_view.h"
#include "kube/namespace_view.h"
#include "kube/priority_class_view.h"

namespace berth::kube {
namespace {

Object parsed(KindId kind, std::string_view json) {
  Result<Object> object = Object::parse(kind, json);
  EXPECT_TRUE(object) << (object ? "" : object.error().message);
  return object ? *object : Object();
}

TEST(LeaseView, TellsHolderAndTimes) {
  const LeaseView lease(parsed(kLease, R"({"spec":{"holderIdentity":"me","leaseDurationSeconds":15,
    "renewTime":"2026-01-02T03:04:05.000006Z","leaseTransitions":2}})"));
  EXPECT_EQ(lease.holder(), "me");
  EXPECT_EQ(lease.duration(), Duration(15s));
  EXPECT_EQ(lease.transitions(), 2);
  EXPECT_EQ(micro_time_text(*lease.renewed()), "2026-01-02T03:04:05.000006Z");
  EXPECT_FALSE(lease.acquired());
}

TEST(JobView, FinishesByCondition) {
  const JobView job(parsed(kJob, R"({"spec":{"completions":3,"ttlSecondsAfterFinished":60},
    "status":{"succeeded":3,"conditions":[{"type":"Failed","status":"False"},
      {"type":"Complete","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}]}})"));
  EXPECT_TRUE(job.complete());
  EXPECT_FALSE(job.has_failed());
  EXPECT_EQ(job.parallelism(), 1);
  EXPECT_EQ(job.completions(), 3);
  EXPECT_EQ(job.ttl(), Duration(60s));
  EXPECT_EQ(time_text(*job.finished_at()), "2026-01-02T03:04:05Z");
  const JobView fresh(parsed(kJob, R"({"spec":{}})"));
  EXPECT_FALSE(fresh.finished() || fresh.finished_at() || fresh.ttl() || fresh.completions());
}

TEST(DisruptionBudgetView, TellsItsLimits) {
  const DisruptionBudgetView budget(parsed(kPodDisruptionBudget, R"({"spec":{"minAvailable":"50%",
    "selector":{"matchLabels":{"app":"web"}}},"status":{"disruptionsAllowed":1,"currentHealthy":4}})"));
  EXPECT_EQ(budget.min_available()->value().scaled(7, true), 4);
  EXPECT_FALSE(budget.max_unavailable()->has_value());
  EXPECT_EQ(budget.selector()->text(), "app=web");
  EXPECT_EQ(budget.disruptions_allowed(), 1);
  EXPECT_EQ(budget.current_healthy(), 4);
  EXPECT_EQ(budget.expected_pods(), 0);
}

TEST(EventView, ReadsBothForms) {
  const EventView core(parsed(kCoreEvent, R"({"message":"m","reason":"R","type":"Warning","count":4,
    "involvedObject":{"kind":"Pod","name":"p"},"source":{"component":"c"},"lastTimestamp":"2026-01-02T03:04:05Z"})"));
  EXPECT_EQ(core.note(), "m");
  EXPECT_EQ(core.count(), 4);
  EXPECT_EQ(core.regarding()["name"].text(), "p");
  EXPECT_EQ(core.controller(), "c");
  EXPECT_EQ(time_text(*core.last_seen()), "2026-01-02T03:04:05Z");
  const EventView newer(parsed(kEvent, R"({"note":"n","reason":"R","regarding":{"name":"q"},
    "reportingController":"d","eventTime":"2026-01-02T03:04:05.000001Z",
    "series":{"count":9,"lastObservedTime":"2026-01-02T03:04:06.000000Z"}})"));
  EXPECT_EQ(newer.note(), "n");
  EXPECT_EQ(newer.count(), 9);
  EXPECT_EQ(newer.regarding()["name"].text(), "q");
  EXPECT_EQ(newer.controller(), "d");
  EXPECT_EQ(time_text(*newer.last_seen()), "2026-01-02T03:04:06Z");
}

TEST(PriorityClassView, TellsItsValue) {
  const PriorityClassView high(
      parsed(kPriorityClass, R"({"value":1000,"globalDefault":true,"preemptionPolicy":"Never"})"));
  EXPECT_EQ(high.value(), 1000);
  EXPECT_TRUE(high.global_default());
  EXPECT_TRUE(high.never_preempts());
}

TEST(NamespaceView, TellsWhetherItIsGoing) {
  EXPECT_TRUE(
      NamespaceView(parsed(kNamespace, R"({"status":{"phase":"Terminating"}})")).terminating());
  EXPECT_FALSE(NamespaceView(parsed(kNamespace, R"({"status":{"phase":"Active"}})")).terminating());
}

}  // namespace
}  // namespace berth::kube
