// SPDX-License-Identifier: Apache-2.0
// What is in a Testbed's slots, what will be, and what a Scheduling would change (P-02).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kube/ours/ours.h"
#include "kube/time.h"
#include "policy/slots/ledger.h"
#include "story.h"

namespace berth::gateway {
namespace {

using testing::HasSubstr;

// A Testbed of two nodes with one slot each, held by ghosts, and jobs with a history.
class TimelineStory : public Story {
 public:
  TimelineStory() {
    if (!definition()) create(kube::slot_ledger_kind().crd());
    for (const char* node : {"n0", "n1"}) {
      create(fmt::format(
          R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}","labels":{{"tb":"{}"}}}},)"
          R"("spec":{{}},"status":{{"conditions":[{{"type":"Ready","status":"True"}}]}}}})",
          node, node[1]));
    }
    create(R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Testbed","metadata":{"name":"tb",)"
           R"("namespace":"default"},"spec":{"slotsPerNode":1,"nodeLabel":"tb",)"
           R"("resourcesPerSlot":{"cpu":"1","memory":"1Gi"}}})");
    create(R"({"apiVersion":"berth.dev/v1alpha1","kind":"SlotLedger","metadata":{"name":"tb",)"
           R"("namespace":"default"},"spec":{"blocks":[{"class":"default","base":0,"perNode":1,)"
           R"("nodes":["n0","n1"]}],"grants":[],"slots":[]}})");
    create(R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default",)"
           R"("namespace":"default"}})");
    for (int slot = 0; slot < 2; ++slot) ghost(slot);
    pass(30s);
  }

  void ghost(int slot) {
    create(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"ghost-{0}","namespace":"default",)"
        R"("labels":{{"{1}":"tb","{2}":"true"}},"annotations":{{"{3}":"{0}"}}}},)"
        R"("spec":{{"nodeName":"n{0}","containers":[{{"name":"c","image":"pause"}}]}}}})",
        slot, kube::kTestbedLabel, kube::kGhostLabel, kube::kSlotAnnotation));
  }
  // Its runs took so long.
  void job_that_took(const std::string& name, std::vector<int> seconds) {
    job(name);
    std::string events;
    for (std::size_t i = 0; i < seconds.size(); ++i)
      events += fmt::format(
          R"({}{{"run":{},"start":"2026-01-01T00:00:00Z","stop":"2026-01-01T00:{:02}:{:02}Z",)"
          R"("successful":true,"scheduling":"old","testbed":"tb","slotIds":[0]}})",
          i == 0 ? "" : ",", i + 1, seconds[i] / 60, seconds[i] % 60);
    patch_status(
        Topic::kJobs, name,
        fmt::format(R"({{"status":{{"run":{0},"closedRun":{0},"scheduledEvents":[{1}]}}}})",
                    seconds.size(), events));
  }
  json::Slice asked(const Client& client) {
    EXPECT_EQ(client->status(), 200) << client->body();
    return json::Slice(client->sent->body);
  }
  Client dry_run(const std::string& body) {
    return send("POST", "/external/v1/namespaces/default/schedulings?dryRun=All", body);
  }

 private:
  bool definition() {
    bool there = false;
    api->get(kube::kCustomResourceDefinition, {"", kube::slot_ledger_kind().crd_name()},
             scope.done<kube::Object>(
                 60s, [&](const Result<kube::Object>& found) { there = found.has_value(); }));
    pass();
    return there;
  }
};

TEST(DryRun, P_02_TellsTheTimelineAndWritesNothing) {
  TimelineStory story;
  story.job_that_took("a", {60});
  story.job_that_took("b", {30});
  const auto before = story.service->feeds().ring().now();
  const auto client = story.dry_run(R"({"name":"s","testBed":"tb","queue":["a","a","b"]})");
  const json::Slice told = story.asked(client);
  EXPECT_EQ(told["testbed"]["name"].text(), "tb");
  EXPECT_EQ(told["scheduling"]["name"].text(), "s");
  EXPECT_EQ(told["order"].text(), "certain");
  ASSERT_EQ(told["planned"].size(), 2U) << told.raw();
  const json::Slice a = told["planned"][0], b = told["planned"][1];
  EXPECT_EQ(a["job"]["name"].text(), "a");
  EXPECT_EQ(a["slots"].raw(), "[0,1]");
  EXPECT_TRUE(a["draft"].boolean());
  EXPECT_TRUE(a["waits"].is_null());
  EXPECT_EQ(a["begin"].text(), told["now"].text());
  EXPECT_EQ(b["begin"].text(), a["finish"].text());
  EXPECT_EQ(b["after"].raw(), R"([{"name":"a","namespace":"default"}])");
  EXPECT_EQ(b["waits"]["reason"].text(), "WaitingForCapacity");
  EXPECT_THAT(b["waits"]["remedy"].text(), HasSubstr("Wait"));
  EXPECT_EQ(told["slots"].size(), 2U);
  EXPECT_EQ(told["slots"][0]["nodeName"].text(), "n0");
  EXPECT_EQ(told["slots"][0]["spans"].size(), 2U);
  EXPECT_TRUE(told["waiting"].raw() == "[]");
  EXPECT_FALSE(story.get(Topic::kSchedulings, "s"));
  EXPECT_EQ(story.service->feeds().ring().now(), before);
}

TEST(DryRun, P_02_OfWhatTheServerRefusesIsItsRefusal) {
  TimelineStory story;
  EXPECT_EQ(story.dry_run(R"({"name":"Not a name","testBed":"tb","queue":["a"]})")->status(), 422);
  EXPECT_EQ(story
                .send("POST", "/external/v1/namespaces/default/schedulings?dryRun=Some",
                      R"({"name":"s","testBed":"tb","queue":["a"]})")
                ->status(),
            400);
  EXPECT_FALSE(story.get(Topic::kSchedulings, "s"));
}

TEST(DryRun, P_02_SaysWhatIsMissing) {
  TimelineStory story;
  story.job_that_took("a", {60});
  const auto nowhere = story.dry_run(R"({"name":"s","testBed":"none","queue":["a"]})");
  EXPECT_EQ(story.asked(nowhere)["waiting"][0]["reason"].text(), "TestbedNotFound");
  const auto nobody = story.dry_run(R"({"name":"s","testBed":"tb","queue":["a","ghost"]})");
  const json::Slice told = story.asked(nobody);
  EXPECT_EQ(told["planned"].size(), 1U);
  EXPECT_EQ(told["waiting"][0]["reason"].text(), "JobNotFound");
  EXPECT_EQ(told["waiting"][0]["job"]["name"].text(), "ghost");
  EXPECT_THAT(told["waiting"][0]["remedy"].text(), HasSubstr("Create the BatchJob"));
}

TEST(DryRun, P_02_StandsBehindTheSchedulingsThatAreThere) {
  TimelineStory story;
  story.job_that_took("a", {60});
  story.job_that_took("b", {30});
  ASSERT_EQ(story
                .send("POST", "/external/v1/schedulings",
                      R"({"name":"first","testBed":"tb","queue":["a"]})")
                ->status(),
            200);
  const auto client = story.dry_run(R"({"name":"draft","testBed":"tb","queue":["b"]})");
  const json::Slice told = story.asked(client);
  ASSERT_EQ(told["planned"].size(), 2U);
  EXPECT_EQ(told["planned"][0]["scheduling"]["name"].text(), "first");
  EXPECT_FALSE(told["planned"][0]["draft"].boolean());
  EXPECT_EQ(told["planned"][1]["waits"]["reason"].text(), "TestbedHeld");
  EXPECT_THAT(told["assumes"][0].text(), HasSubstr("deleted"));
  // One of that name takes the place of the one that is there.
  const auto other = story.dry_run(R"({"name":"first","testBed":"tb","queue":["b"]})");
  ASSERT_EQ(story.asked(other)["planned"].size(), 1U);
  EXPECT_EQ(story.asked(other)["planned"][0]["job"]["name"].text(), "b");
}

TEST(DryRun, P_02_ESI_127_TakesTheRightToSeeWhatItShows) {
  TimelineStory story;
  story.job_that_took("a", {60});
  story.token = story.account(
      "writer", R"([{"apiGroups":["batchjob.gcr.io"],"resources":["schedulings"],"verbs":["*"]}])");
  const std::string body = R"({"name":"s","testBed":"tb","queue":["a"]})";
  EXPECT_EQ(story.dry_run(body)->status(), 403);
  EXPECT_EQ(story.get("/external/testbeds/tb/timeline")->status(), 403);
  EXPECT_EQ(story.get("/external/testbeds/tb/slots")->status(), 403);
}

TEST(Timeline, TellsWhatRunsUntilWhen) {
  TimelineStory story;
  story.job_that_took("a", {60});
  const auto job = story.get(Topic::kJobs, "a");
  const std::string grant = slots::grant_id(job->uid(), 2);
  story.api->patch(
      kube::thesis_kinds().ledger, {"default", "tb"},
      fmt::format(R"({{"spec":{{"grants":[{{"id":"{0}","job":"default/a","scheduling":"default/s",)"
                  R"("since":"{1}"}}],"slots":[{{"slot":1,"grant":"{0}"}}]}}}})",
                  grant, kube::time_text(story.world.clock().wall())),
      kube::PatchType::kMerge, story.scope.done<kube::Object>(60s, [](const auto& patched) {
        EXPECT_TRUE(patched) << patched.error().message;
      }));
  story.pass(10s);
  const auto client = story.get("/external/v1/testbeds/tb/timeline");
  const json::Slice told = story.asked(client);
  ASSERT_EQ(told["running"].size(), 1U) << told.raw();
  EXPECT_EQ(told["running"][0]["job"]["name"].text(), "a");
  EXPECT_EQ(told["running"][0]["slots"].raw(), "[1]");
  EXPECT_FALSE(told["running"][0]["finish"].is_null());
  EXPECT_EQ(told["slots"][0]["spans"][0]["kind"].text(), "running");
  const auto seen = story.get("/external/v1/testbeds/tb/slots");
  const json::Slice slots = story.asked(seen)["slots"];
  ASSERT_EQ(slots.size(), 2U) << story.asked(seen).raw();
  EXPECT_EQ(slots[0]["phase"].text(), "free");
  EXPECT_EQ(slots[1]["state"].text(), "RESERVED");
  EXPECT_EQ(slots[1]["job"]["name"].text(), "a");
  EXPECT_THAT(slots[1]["cause"].text(), HasSubstr("reserved for default/a"));
  EXPECT_EQ(story.get("/external/v1/testbeds/none/timeline")->status(), 404);
  EXPECT_EQ(story.get("/external/v1/testbeds/none/slots")->status(), 404);
}

TEST(Explanation, P_20_NamesACauseAndARemedy) {
  TimelineStory story;
  story.job("a");
  const auto slot = story.get("/external/v1/testbeds/tb/slots/1/explanation");
  EXPECT_TRUE(story.asked(slot)["well"].boolean());
  EXPECT_EQ(story.asked(slot)["cause"].text(), "slot 1 on n1 is free");
  story.pass(60s);
  const auto job = story.get("/external/v1/namespaces/default/jobs/a/explanation");
  EXPECT_FALSE(story.asked(job)["well"].boolean());
  EXPECT_THAT(story.asked(job)["cause"].text(), HasSubstr("no controller has looked at BatchJob"));
  EXPECT_THAT(story.asked(job)["remedy"].text(), HasSubstr("berth controllers"));
  EXPECT_EQ(story.get("/external/v1/jobs/none/explanation")->status(), 404);
  EXPECT_EQ(story.get("/external/v1/schedulings/none/explanation")->status(), 404);
  EXPECT_EQ(story.get("/external/v1/testbeds/tb/slots/7/explanation")->status(), 404);
  EXPECT_EQ(story.get("/external/v1/testbeds/tb/slots/x/explanation")->status(), 404);
  story.token = story.account(
      "reader",
      R"([{"apiGroups":["batchjob.gcr.io"],"resources":["batchjobs"],"verbs":["get","list"]}])");
  EXPECT_EQ(story.get("/external/v1/jobs/a/explanation")->status(), 403);
}

}  // namespace
}  // namespace berth::gateway
