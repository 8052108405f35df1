// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/batch/job_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/kind.h"

namespace berth::apiserver {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kComplete =
    R"({"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"})";

std::string document(std::string_view status) {
  return R"({"metadata":{"name":"j","namespace":"n","uid":"u"},"spec":{"completions":3},"status":)" +
         std::string(status) + "}";
}

// Each finding as "field: message".
std::vector<std::string> found(std::string_view was, std::string_view now) {
  json::Arena arena;
  const kube::Object before =
      Edit(kube::kJob, json::parse_good(document(was), arena), arena).commit(7).value();
  Edit edit(before, arena);
  edit.replace(json::parse_good(document(now), arena));
  Findings findings;
  check_job_status(edit, findings);
  std::vector<std::string> out;
  for (const Cause& cause : findings.causes()) out.push_back(cause.field + ": " + cause.message);
  return out;
}

TEST(JobStatus, CountsAreNeverNegativeAndReadyPodsAreActive) {
  EXPECT_THAT(found("{}", R"({"active":2,"ready":1})"), IsEmpty());
  EXPECT_THAT(
      found(R"({"ready":0})", R"({"active":-1,"ready":0})"),
      ElementsAre("status.active: Invalid value: -1: must be greater than or equal to 0",
                  "status.ready: Invalid value: 0: cannot set more ready pods than active"));
  EXPECT_THAT(found(R"({"failed":2})", R"({"failed":1})"),
              ElementsAre("status.failed: Invalid value: 1: cannot decrease the failed counter"));
}

TEST(JobStatus, AnEndIsWholeAndStays) {
  const std::string times =
      R"("startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:00:05Z")";
  const std::string complete = "{" + times + R"(,"conditions":[)" + std::string(kComplete) + "]}";
  EXPECT_THAT(found(R"({"startTime":"2026-01-01T00:00:00Z"})", complete), IsEmpty());
  EXPECT_THAT(
      found("{}", R"({"conditions":[)" + std::string(kComplete) + "]}"),
      ElementsAre(
          "status.completionTime: Required value: completionTime is required for Complete jobs",
          "status.startTime: Required value: startTime is required for finished job"));
  EXPECT_THAT(
      found(complete, R"({"startTime":"2026-01-01T00:00:00Z"})"),
      ElementsAre("status.conditions: Invalid value: cannot disable the terminal Complete=True "
                  "condition",
                  "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True "
                  "condition"));
}

TEST(JobStatus, IndexesAreOfIndexedJobsOnly) {
  EXPECT_THAT(found("{}", R"({"completedIndexes":"0-5"})"),
              ElementsAre("status.completedIndexes: Invalid value: \"0-5\": error parsing "
                          "completedIndexes: too large index: \"5\"",
                          "status.completedIndexes: Invalid value: \"0-5\": cannot set non-empty "
                          "completedIndexes when non-indexed completion mode"));
}

}  // namespace
}  // namespace berth::apiserver
