// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/watch_plan.h"

#include <gtest/gtest.h>

namespace berth::apiserver {
namespace {

using kube::VersionMatch;

TEST(WatchPlan, SaysWhereAWatchBegins) {
  constexpr VersionMatch kNotOlder = VersionMatch::kNotOlderThan;
  struct Row {
    const char* name;
    kube::Options options;
    WatchPlan plan;
  };
  const Row rows[] = {
      {"nothing said: with what there is", {}, {.initial_events = true}},
      {"0: the same", {.resource_version = "0"}, {.initial_events = true}},
      {"a revision: what comes after it",
       {.resource_version = "5", .bookmarks = true},
       {.at_least = 5, .after = 5, .bookmarks = true}},
      {"initial events, as informers ask for them",
       {.resource_version = "",
        .version_match = kNotOlder,
        .bookmarks = true,
        .send_initial_events = true},
       {.initial_events = true, .initial_bookmark = true, .bookmarks = true}},
      {"initial events of no older state",
       {.resource_version = "7",
        .version_match = kNotOlder,
        .bookmarks = true,
        .send_initial_events = true},
       {.at_least = 7, .initial_events = true, .initial_bookmark = true, .bookmarks = true}},
      {"initial events without bookmarks",
       {.version_match = kNotOlder, .send_initial_events = true},
       {.initial_events = true}},
  };
  for (const Row& row : rows) {
    const Result<WatchPlan> plan = plan_watch(row.options);
    ASSERT_TRUE(plan.has_value()) << row.name << ": " << plan.error().message;
    EXPECT_EQ(plan->at_least, row.plan.at_least) << row.name;
    EXPECT_EQ(plan->after, row.plan.after) << row.name;
    EXPECT_EQ(plan->initial_events, row.plan.initial_events) << row.name;
    EXPECT_EQ(plan->initial_bookmark, row.plan.initial_bookmark) << row.name;
    EXPECT_EQ(plan->bookmarks, row.plan.bookmarks) << row.name;
  }
}

TEST(WatchPlan, RefusesWhatTheRealServerRefuses) {
  struct Row {
    kube::Options options;
    Reason reason;
    const char* says;
  };
  const Row rows[] = {
      {{.send_initial_events = true},
       Reason::kInvalid,
       "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"},
      {{.version_match = VersionMatch::kNotOlderThan},
       Reason::kInvalid,
       "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"},
      {{.version_match = VersionMatch::kExact, .send_initial_events = true},
       Reason::kInvalid,
       R"(Unsupported value: "Exact": supported values: "NotOlderThan")"},
      {{.resource_version = "abc"}, Reason::kBadRequest, "invalid resource version"},
  };
  for (const Row& row : rows) {
    const Result<WatchPlan> plan = plan_watch(row.options);
    ASSERT_FALSE(plan.has_value()) << row.says;
    EXPECT_EQ(plan.error().reason, row.reason);
    EXPECT_NE(plan.error().message.find(row.says), std::string::npos) << plan.error().message;
  }
}

}  // namespace
}  // namespace berth::apiserver
