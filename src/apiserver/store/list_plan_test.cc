// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/list_plan.h"

#include <gtest/gtest.h>

#include "apiserver/store/continue_token.h"

namespace berth::apiserver {
namespace {

using kube::VersionMatch;

TEST(ListPlan, SaysWhichStateIsWanted) {
  const std::string token = ContinueToken{7, "a/b"}.text();
  const std::string fresh = ContinueToken{-1, "a/b"}.text();
  struct Row {
    const char* name;
    kube::Options options;
    kube::Revision exactly, at_least;
    std::string start;
  };
  const Row rows[] = {
      {"nothing said: the newest", {}, 0, 0, ""},
      {"0: any, so the newest", {.resource_version = "0"}, 0, 0, ""},
      {"a revision: not older", {.resource_version = "5"}, 0, 5, ""},
      {"a revision and a limit: exactly", {.resource_version = "5", .limit = 3}, 5, 5, ""},
      {"0 and a limit: the newest", {.resource_version = "0", .limit = 3}, 0, 0, ""},
      {"not older, with a limit",
       {.resource_version = "5", .version_match = VersionMatch::kNotOlderThan, .limit = 3},
       0,
       5,
       ""},
      {"exactly", {.resource_version = "5", .version_match = VersionMatch::kExact}, 5, 5, ""},
      {"the next page", {.limit = 3, .continue_token = token}, 7, 0, "a/b"},
      {"the next page, 0", {.resource_version = "0", .continue_token = token}, 7, 0, "a/b"},
      {"the next page of what is now", {.continue_token = fresh}, 0, 0, "a/b"},
  };
  for (const Row& row : rows) {
    const Result<ListPlan> plan = plan_list(row.options);
    ASSERT_TRUE(plan.has_value()) << row.name << ": " << plan.error().message;
    EXPECT_EQ(plan->exactly, row.exactly) << row.name;
    EXPECT_EQ(plan->at_least, row.at_least) << row.name;
    EXPECT_EQ(plan->start, row.start) << row.name;
    EXPECT_EQ(plan->continued, !row.start.empty()) << row.name;
  }
}

TEST(ListPlan, RefusesWhatTheRealServerRefuses) {
  const std::string token = ContinueToken{7, "a/b"}.text();
  struct Row {
    kube::Options options;
    Reason reason;
    const char* says;
  };
  const Row rows[] = {
      {{.resource_version = "x"}, Reason::kBadRequest, "invalid resource version"},
      {{.resource_version = "99999999999999999999"}, Reason::kBadRequest, "value out of range"},
      {{.resource_version = "5", .continue_token = token},
       Reason::kBadRequest,
       "specifying resource version is not allowed when using continue"},
      {{.continue_token = "e30"}, Reason::kBadRequest, "invalid continue token"},
      {{.version_match = VersionMatch::kExact},
       Reason::kInvalid,
       "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
       "resourceVersionMatch is forbidden unless resourceVersion is provided"},
      {{.resource_version = "0", .version_match = VersionMatch::kExact},
       Reason::kInvalid,
       "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""},
      {{.version_match = VersionMatch::kExact, .continue_token = token},
       Reason::kInvalid,
       "is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless "
       "resourceVersion is provided, resourceVersionMatch: Forbidden: resourceVersionMatch is "
       "forbidden when continue is provided]"},
      {{.send_initial_events = true}, Reason::kInvalid, "sendInitialEvents is forbidden for list"},
  };
  for (const Row& row : rows) {
    const Result<ListPlan> plan = plan_list(row.options);
    ASSERT_FALSE(plan.has_value()) << row.says;
    EXPECT_EQ(plan.error().reason, row.reason);
    EXPECT_NE(plan.error().message.find(row.says), std::string::npos) << plan.error().message;
  }
}

TEST(ListPlan, ARevisionThatHasNotComeYetIsATimeoutToTryAgain) {
  const Error error = too_large_revision(9, 4);
  EXPECT_EQ(http_code_of(error.reason), 504);
  EXPECT_EQ(error.message, "Timeout: Too large resource version: 9, current: 4");
  EXPECT_EQ(error.retry_after, std::chrono::seconds(1));
  ASSERT_EQ(error.causes.size(), 1u);
  EXPECT_EQ(error.causes[0].reason, "ResourceVersionTooLarge");
}

}  // namespace
}  // namespace berth::apiserver
