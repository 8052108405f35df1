// SPDX-License-Identifier: Apache-2.0
#include "controllers/job/backoff.h"

#include <gtest/gtest.h>

#include "kube/time.h"

namespace berth::controllers {
namespace {

const WallTime kStart = *kube::parse_time("2026-01-01T00:00:00Z");

TEST(JobBackoff, DoublesUpToTenMinutes) {
  EXPECT_EQ(backoff_left(0, kStart, kStart), 0s);
  const Duration waits[] = {10s, 20s, 40s, 80s, 160s, 320s, 600s, 600s};
  std::int64_t failures = 0;
  for (const Duration wait : waits) EXPECT_EQ(backoff_left(++failures, kStart, kStart), wait);
  EXPECT_EQ(backoff_left(1'000'000, kStart, kStart), 10min);
  EXPECT_EQ(backoff_left(2, kStart, kStart + 15s), 5s);
  EXPECT_EQ(backoff_left(2, kStart, kStart + 1h), 0s);
}

TEST(JobBackoff, FailuresCountFromTheLastSuccess) {
  FailureHistory history("");
  EXPECT_EQ(history.text(), "");
  history.failed("a", kStart);
  history.failed("b", kStart + 1s);
  history.failed("a", kStart);
  EXPECT_EQ(history.left(kStart + 1s), 20s);
  history.succeeded(kStart);
  EXPECT_EQ(history.left(kStart + 1s), 10s);
  history.succeeded(kStart + 5s);
  EXPECT_EQ(history.left(kStart + 5s), 0s);
}

TEST(JobBackoff, IsRememberedAsAText) {
  FailureHistory history("");
  for (int i = 0; i < 20; ++i) history.failed(std::to_string(i), kStart + i * 1s);
  history.succeeded(kStart + 16s);
  FailureHistory again(history.text());
  EXPECT_EQ(again.text(), history.text());
  EXPECT_EQ(again.left(kStart + 19s), 40s);
  again.failed("3", kStart + 3s);  // seen once more; older than the success
  EXPECT_EQ(again.left(kStart + 19s), 40s);
  for (const char* bad : {"x", "- a", "- a=", "  ", "- =1 b=c"})
    EXPECT_LE(FailureHistory(bad).left(kStart), 10s) << bad;
}

TEST(JobBackoff, BelievesContainersThenTheConditionThenTheDeletion) {
  struct Row {
    const char* pod;
    const char* ended;
  };
  const char* kCreated = R"("creationTimestamp":"2026-01-01T00:00:01Z")";
  for (
      const Row& row : {
          Row{R"({"metadata":{@}})", "2026-01-01T00:00:01Z"},
          {R"({"metadata":{@,"deletionTimestamp":"2026-01-01T00:00:40Z","deletionGracePeriodSeconds":30}})",
           "2026-01-01T00:00:10Z"},
          {R"({"metadata":{@,"deletionTimestamp":"2026-01-01T00:00:40Z"},"status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T00:00:07Z"}]}})",
           "2026-01-01T00:00:07Z"},
          {R"({"metadata":{@},"status":{"containerStatuses":[{"name":"a","state":{"terminated":{"finishedAt":"2026-01-01T00:00:03Z"}}},{"name":"b","state":{"terminated":{"finishedAt":"2026-01-01T00:00:02Z"}}}]}})",
           "2026-01-01T00:00:03Z"},
          {R"({"metadata":{@},"status":{"containerStatuses":[{"name":"a","state":{"terminated":{"finishedAt":"2026-01-01T00:00:03Z"}}},{"name":"b","state":{"running":{}}}]}})",
           "2026-01-01T00:00:01Z"},
          {R"({"metadata":{@},"spec":{"initContainers":[{"name":"s","restartPolicy":"Always"},{"name":"i"}]},"status":{"containerStatuses":[{"name":"a","state":{"terminated":{"finishedAt":"2026-01-01T00:00:03Z"}}}],"initContainerStatuses":[{"name":"s","state":{"terminated":{"finishedAt":"2026-01-01T00:00:05Z"}}},{"name":"i","state":{"terminated":{"finishedAt":"2026-01-01T00:00:09Z"}}}]}})",
           "2026-01-01T00:00:05Z"},
      }) {
    std::string text = row.pod;
    text.replace(text.find('@'), 1, kCreated);
    EXPECT_EQ(kube::time_text(ended_at(*kube::Object::parse(kube::kPod, text))), row.ended) << text;
  }
}

}  // namespace
}  // namespace berth::controllers
