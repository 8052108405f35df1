// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "controllers/registry.h"
#include "kube/time.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

struct Row {
  const char* name;
  const char* metadata;
  const char* spec;
  const char* conditions;
  const char* plan;
};

constexpr const char* kComplete =
    R"([{"type":"Complete","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}])";

TEST(TtlAfterFinished, DecidesByTtlAndTheTimeOfTheEnd) {
  const auto controllers = *make_controllers({"ttl-after-finished-controller"});
  const WallTime now = *kube::parse_time("2026-01-01T00:01:00Z");
  const Row rows[] = {
      {"no ttl", "", "{}", kComplete, ""},
      {"not finished", "", R"({"ttlSecondsAfterFinished":0})", "[]", ""},
      {"half finished", "", R"({"ttlSecondsAfterFinished":0})",
       R"([{"type":"SuccessCriteriaMet","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}])",
       ""},
      {"later", "", R"({"ttlSecondsAfterFinished":61})", kComplete,
       "again at 2026-01-01T00:01:01Z\n"},
      {"now", "", R"({"ttlSecondsAfterFinished":60})", kComplete, "erase jobs default/job\n"},
      {"failed long ago", "", R"({"ttlSecondsAfterFinished":0})",
       R"([{"type":"Failed","status":"True","lastTransitionTime":"2025-01-01T00:00:00Z"}])",
       "erase jobs default/job\n"},
      {"on its way already", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")",
       R"({"ttlSecondsAfterFinished":0})", kComplete, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    runtime::Objects objects(*controllers[0]);
    objects.add(
        kube::kJob,
        fmt::format(
            R"({{"metadata":{{"name":"job","namespace":"default"{}}},"spec":{},"status":{{"conditions":{}}}}})",
            row.metadata, row.spec, row.conditions));
    EXPECT_EQ(objects.reconcile({"default", "job"}, now).text(), row.plan);
  }
}

TEST(TtlAfterFinished, LeavesAJobThatIsGoneAlone) {
  const auto controllers = *make_controllers({"ttl-after-finished-controller"});
  EXPECT_TRUE(runtime::Objects(*controllers[0]).reconcile({"default", "job"}).empty());
}

TEST(TtlAfterFinished, InsistsOnTheVersionItJudged) {
  const auto controllers = *make_controllers({"ttl-after-finished-controller"});
  runtime::Objects objects(*controllers[0]);
  objects.add(
      kube::kJob,
      fmt::format(
          R"({{"metadata":{{"name":"job","namespace":"default","uid":"u","resourceVersion":"7"}},)"
          R"("spec":{{"ttlSecondsAfterFinished":0}},"status":{{"conditions":{}}}}})",
          kComplete));
  const auto plan =
      objects.reconcile({"default", "job"}, *kube::parse_time("2026-01-01T00:01:00Z"));
  const auto& erase = std::get<runtime::EraseAction>(plan.actions().at(0));
  EXPECT_EQ(erase.target.uid, "u");
  EXPECT_EQ(erase.target.revision, 7u);
  EXPECT_EQ(erase.pin, runtime::Pin::kRevision);
  EXPECT_EQ(erase.propagation, kube::Propagation::kForeground);
}

}  // namespace
}  // namespace berth::controllers
