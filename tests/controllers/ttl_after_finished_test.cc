// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "kube/time.h"
#include "sweep.h"

namespace berth::controllers::stories {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Controllers ttl() {
  return [] { return *make_controllers({"ttl-after-finished-controller"}); };
}

void job(Lab& lab, const std::string& name, int ttl_seconds) {
  ASSERT_TRUE(lab.create(fmt::format(
      R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"ttlSecondsAfterFinished":{}}}}})",
      name, ttl_seconds)));
}
void finish(Lab& lab, const std::string& name) {
  ASSERT_TRUE(lab.patch(
      kube::kJob, {"default", name},
      fmt::format(
          R"({{"status":{{"conditions":[{{"type":"Complete","status":"True","lastTransitionTime":"{}"}}]}}}})",
          kube::time_text(lab.world.clock().wall())),
      "status"));
}
// What the garbage collector does once nothing depends on the job any more.
void collect(Lab& lab, const std::string& name) {
  lab.patch(kube::kJob, {"default", name}, R"({"metadata":{"finalizers":[]}})");
}

TEST(TtlAfterFinishedStory, AJobGoesWhenItsTimeIsOverAndNotBefore) {
  Lab lab({.controllers = ttl()});
  job(lab, "short", 10);
  job(lab, "long", 3600);
  job(lab, "running", 10);
  finish(lab, "short");
  finish(lab, "long");
  lab.run(9s);
  EXPECT_FALSE(lab.get(kube::kJob, {"default", "short"}).deleting());
  lab.run(2s);
  const Object gone = lab.get(kube::kJob, {"default", "short"});
  EXPECT_TRUE(gone.deleting());
  EXPECT_THAT(gone.finalizers(), ElementsAre("foregroundDeletion"));
  collect(lab, "short");
  EXPECT_THAT(lab.names(kube::kJob), ElementsAre("long", "running"));
  lab.run(1h);
  EXPECT_TRUE(lab.get(kube::kJob, {"default", "long"}).deleting());
  EXPECT_FALSE(lab.get(kube::kJob, {"default", "running"}).deleting());
  EXPECT_EQ(lab.writes(), 2u);
}

TEST(TtlAfterFinishedStory, ATimeThatIsExtendedInTimeCounts) {
  Lab lab({.controllers = ttl()});
  job(lab, "job", 10);
  finish(lab, "job");
  lab.run(9s);
  ASSERT_TRUE(
      lab.patch(kube::kJob, {"default", "job"}, R"({"spec":{"ttlSecondsAfterFinished":20}})"));
  lab.run(9s);
  EXPECT_FALSE(lab.get(kube::kJob, {"default", "job"}).deleting());
  lab.run(3s);
  EXPECT_TRUE(lab.get(kube::kJob, {"default", "job"}).deleting());
}

TEST(TtlAfterFinishedCrashSweep, EndsTheSameWhereverItIsKilled) {
  crash_sweep({ttl(), [](Lab& lab) {
                 for (int i = 0; i < 5; ++i) {
                   job(lab, fmt::format("job-{}", i), 5 * i);
                   finish(lab, fmt::format("job-{}", i));
                 }
                 lab.run(1min);
               }});
}

}  // namespace
}  // namespace berth::controllers::stories
