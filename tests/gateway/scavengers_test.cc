// SPDX-License-Identifier: Apache-2.0
// Scavenger jobs as the page is told of them, and checkpoints as programs report them.
#include "gateway/scavenge/scavengers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "gateway/scavenge/checkpoint_door.h"
#include "kube/ours/ours.h"
#include "kube/time.h"
#include "story.h"

namespace berth::gateway {
namespace {

using testing::HasSubstr;
using testing::Not;

class ScavengerStory : public testing::Test {
 protected:
  ScavengerStory()
      : door_(story_.scope, *story_.api, story_.service->gateway().auth()),
        scavengers_(story_.scope, *story_.transport, Random(7), story_.metrics, nullptr) {
    door_.mount(story_.service->gateway().routes());
    scavengers_.mount(story_.service->gateway().routes());
    scavengers_.start();
    story_.create(
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"allocatable":{)"
        R"("cpu":"10","memory":"40Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}})");
    story_.pass(5s);
  }
  ~ScavengerStory() override { owned_.reset(); }  // what it runs outlives its scope

  WallTime now() const { return story_.world.clock().wall(); }
  std::string text(WallTime at) const { return '"' + kube::micro_time_text(at) + '"'; }

  kube::Object job(std::string_view name, std::string_view cpu) {
    const kube::Object made = story_.create(
        fmt::format(R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{)"
                    R"("name":"{}","namespace":"default"}},"spec":{{"image":"i","resources":{{)"
                    R"("requests":{{"cpu":"{}"}}}}}}}})",
                    name, cpu));
    uid_ = made.uid();
    return made;
  }
  void status(std::string_view name, const std::string& members) {
    story_.api->patch(kube::scavenger_kinds().job, {"default", std::string(name)},
                      R"({"status":{)" + members + "}}", kube::PatchType::kMerge,
                      story_.scope.done<kube::Object>(60s,
                                                      [](const Result<kube::Object>& done) {
                                                        EXPECT_TRUE(done) << done.error().message;
                                                      }),
                      "status");
    story_.pass();
  }
  std::string running(WallTime since) const {
    return R"("phase":"Running","attempt":1,"started":1,"jobName":"a-1","jobUid":"the-job",)"
           R"("runningTimestamps":[)" +
           text(since) + R"(],"cost":{"since":)" + text(since) +
           R"(,"rateMilli":4000,"windowSeconds":1800,"steps":3,"reported":true,"restart":0})";
  }
  json::Slice row(const std::string& body, std::string_view name) const {
    for (const json::Slice one : json::Slice(body)["jobs"].elements())
      if (one["name"].equals(name)) return one;
    return {};
  }

  // A pod of the job, and the token that its container would find.
  std::string pod_token(std::string_view name, std::string_view job_uid) {
    const kube::Object pod = story_.create(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default","labels":{{)"
        R"("berth.dev/scavenger":"{}"}},"ownerReferences":[{{"apiVersion":"batch/v1","kind":"Job",)"
        R"("name":"a-1","uid":"{}","controller":true}}]}},"spec":{{"serviceAccountName":"runner",)"
        R"("containers":[{{"name":"c","image":"i"}}]}}}})",
        name, uid_, job_uid));
    kube::ApiRequest request;
    request.verb = kube::Verb::kCreate;
    request.kind = kube::kServiceAccount;
    request.ns = "default";
    request.name = "runner";
    request.subresource = "token";
    request.body.bytes = std::make_shared<const std::string>(fmt::format(
        R"({{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{{)"
        R"("expirationSeconds":600,"boundObjectRef":{{"apiVersion":"v1","kind":"Pod","name":"{}",)"
        R"("uid":"{}"}}}}}})",
        name, pod.uid()));
    std::string given;
    story_.api->call(std::move(request), client::Urgency::kStatus,
                     story_.scope.done<kube::ApiReply>(60s, [&](Result<kube::ApiReply> reply) {
                       ASSERT_TRUE(reply) << reply.error().message;
                       given = std::get<kube::Object>(reply->body).status()["token"].text();
                     }));
    story_.pass();
    return given;
  }
  std::string annotation(std::string_view pod) {
    std::string found;
    story_.api->get(kube::kPod, {"default", std::string(pod)},
                    story_.scope.done<kube::Object>(60s, [&](Result<kube::Object> got) {
                      if (got) found = got->annotation(kube::kCheckpointAnnotation);
                    }));
    story_.pass();
    return found;
  }
  Story::Client report(const std::string& token, std::string body = "") {
    const std::string before = std::exchange(story_.token, token);
    auto client =
        story_.send("POST", "/api/v1/scavengerjobs/default/a/checkpoints", std::move(body));
    story_.token = before;
    return client;
  }

  std::string uid_;  // of the last job
  std::unique_ptr<Story> owned_ = std::make_unique<Story>();
  Story& story_ = *owned_;
  CheckpointDoor door_;
  Scavengers scavengers_;
};

TEST_F(ScavengerStory, TellsWhoRunsAtWhichCostAndForWhatOthersWait) {
  job("a", "4");
  status("a", running(now()));
  job("b", "6");
  status("b", R"("phase":"Pending","waitingSince":)" + text(now()));
  const auto reply = story_.get("/api/v1/scavengers");
  ASSERT_EQ(reply->status(), 200) << reply->body();
  const json::Slice runs = row(reply->body(), "a"), waits = row(reply->body(), "b");
  EXPECT_EQ(runs["state"].text(), "running");
  EXPECT_EQ(runs["cores"].integer(), 4000);
  EXPECT_EQ(runs["cost"]["rate"].integer(), 4000);
  EXPECT_EQ(waits["state"].text(), "waiting");
  EXPECT_EQ(waits["waits"]["turn"].integer(), 1);
  EXPECT_EQ(waits["waits"]["reason"].text(), "Threshold");
  EXPECT_EQ(waits["waits"]["short"].integer(), 3000) << "4 in flight and 6 more, of 7";
  EXPECT_EQ(json::Slice(reply->body())["summary"]["threshold"].integer(), 70);
  EXPECT_EQ(json::Slice(reply->body())["summary"]["capacity"].integer(), 10'000);
}

TEST_F(ScavengerStory, AChangeIsPushedAndWhatEndedGoes) {
  job("a", "4");
  const auto listener = story_.get("/api/v1/scavengers/stream");
  story_.pass(3s);
  EXPECT_THAT(listener->body(), HasSubstr("event: summary"));
  EXPECT_THAT(listener->body(), HasSubstr("event: victims"));
  EXPECT_THAT(listener->body(), HasSubstr("event: jobs"));
  EXPECT_THAT(listener->body(), Not(HasSubstr(R"("state":"running")")));
  status("a", running(now()));
  story_.pass(1s);
  EXPECT_THAT(listener->body(), HasSubstr(R"("state":"running")"));
  status("a", R"("phase":"Completed","closedAttempt":1)");
  story_.pass(1s);
  EXPECT_THAT(listener->body(), HasSubstr(R"("gone":["default/a"])"));
  const std::size_t before = listener->body().size();
  story_.pass(60s);
  EXPECT_LT(listener->body().size(), before + 2000) << "an idle cluster is quiet";
  EXPECT_GT(listener->body().size(), before) << "but alive";
}

TEST_F(ScavengerStory, AddsUpWhatIsReclaimedAndLost) {
  job("a", "4");
  status("a", running(now()));
  story_.pass(30min);
  status("a",
         R"("phase":"Interrupted","closedAttempt":1,"interruptedCount":1,"lostCoreSeconds":720,)"
         R"("interruptedTimestamps":[)" +
             text(now()) + R"(],"verdict":{"verdict":"Interrupted","reason":"Preempted"})");
  story_.pass(10min);
  const auto reply = story_.get("/api/v1/scavengers/history?range=1h");
  ASSERT_EQ(reply->status(), 200) << reply->body();
  const json::Slice totals = json::Slice(reply->body())["totals"];
  EXPECT_NEAR(totals["reclaimed"].number().value(), 2, 0.05) << "four cores for half an hour";
  EXPECT_NEAR(totals["lost"].number().value(), 0.2, 1e-9);
  EXPECT_EQ(totals["interrupted"].integer(), 1);
  EXPECT_THAT(reply->body(), HasSubstr(R"("reason":"Preempted","jobs":1)"));
  EXPECT_EQ(story_.get("/api/v1/scavengers/history?range=2h")->status(), 400);
}

TEST_F(ScavengerStory, F20_WhyAJobWasInterruptedIsToldWithTheAlternatives) {
  job("a", "4");
  status("a", R"("phase":"Pending","waitingSince":)" + text(now()));
  scavenge::VictimRecord record{.at = now(), .door = "scheduler"};
  record.pod_ns = "shop";
  record.pod_name = "web";
  record.pod_uid = "w";
  record.node = "n1";
  record.cost = 756'000;
  record.stock_cost = 3'852'000;
  record.victims = {{.ns = "default", .name = "a", .uid = uid_, .cost = 756'000, .reported = true}};
  record.alternatives = {{.node = "n2", .cost = 3'348'000, .jobs = {"render/b", "render/c"}}};
  const auto listener = story_.get("/api/v1/scavengers/stream");
  scavengers_.chose(record);
  scavengers_.chose(record);  // told twice, kept once
  story_.pass(1s);
  EXPECT_THAT(listener->body(), HasSubstr(R"("stockCost":3852000)"));
  EXPECT_THAT(listener->body(), HasSubstr(R"("name":"a","node":"n1","cores":4000)"));
  EXPECT_THAT(listener->body(), HasSubstr(R"("cost":3348000,"chosen":false,"others":1)"));
  EXPECT_EQ(json::Slice(story_.get("/api/v1/scavengers")->body())["victims"].size(), 1U);
  const auto why = story_.get("/api/v1/scavengers/default/a/explanation");
  ASSERT_EQ(why->status(), 200) << why->body();
  EXPECT_THAT(why->body(), HasSubstr("shop/web"));
  record.pod_name = record.pod_uid = "other";
  record.victims.front().uid = "of a job of this name that is gone";
  scavengers_.chose(record);
  EXPECT_THAT(story_.get("/api/v1/scavengers/default/a/explanation")->body(),
              Not(HasSubstr("shop/other")));
  EXPECT_EQ(story_.get("/api/v1/scavengers/default/none/explanation")->status(), 404);
}

TEST_F(ScavengerStory, F20_TheOperatorsOwnChoicesAreToldAsTheSchedulersAre) {
  job("a", "4");
  scavenge::VictimRecord record{.at = now(), .door = "operator"};
  record.pod_ns = "shop";
  record.pod_name = "web";
  record.node = "n1";
  record.cost = 756'000;
  record.victims = {{.ns = "default", .name = "a", .uid = "u", .cost = 756'000}};
  const auto listener = story_.get("/api/v1/scavengers/stream");
  // As berth-reclaim leaves it on the job.
  story_.create(fmt::format(
      R"({{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{{"name":"a.1","namespace":"default",)"
      R"("annotations":{{"berth.dev/victims":{}}}}},"eventTime":{},"reportingController":"berth-reclaim",)"
      R"("reportingInstance":"berth-reclaim","action":"Preempting","reason":"Preempted","type":"Normal",)"
      R"("regarding":{{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","namespace":"default",)"
      R"("name":"a","uid":"{}"}},"note":"x"}})",
      json::quoted(scavenge::victim_record_json(record)), text(now()), uid_));
  story_.pass(1s);
  EXPECT_THAT(listener->body(), HasSubstr(R"("door":"operator")"));
  EXPECT_THAT(listener->body(), HasSubstr(R"("name":"a","node":"n1","cores":4000)"));
}

TEST_F(ScavengerStory, WhoMayNotWatchIsTold) {
  story_.token = story_.account("nobody", "[]");
  for (const char* path :
       {"/api/v1/scavengers", "/api/v1/scavengers/stream", "/api/v1/scavengers/history",
        "/api/v1/scavengers/default/a/explanation"})
    EXPECT_EQ(story_.get(path)->status(), 403) << path;
}

TEST_F(ScavengerStory, F6_AProgramReportsWithTheTokenOfItsOwnPodAndNoOther) {
  job("a", "4");
  status("a", running(now()));
  const std::string unbound = story_.account("runner", "[]");
  const std::string own = pod_token("a-1-x", "the-job"), foreign = pod_token("b-1-x", "another");
  const auto refused = report(foreign);
  EXPECT_EQ(refused->status(), 403) << refused->body();
  EXPECT_THAT(refused->body(), HasSubstr("scavengerjobs/checkpoints"));
  EXPECT_EQ(report(unbound)->status(), 403);
  EXPECT_EQ(report("")->status(), 401);
  EXPECT_EQ(annotation("b-1-x"), "");
  const auto taken =
      report(own, fmt::format(R"({{"time":{},"seconds":2.5,"step":7}})", text(now() + 1h)));
  ASSERT_EQ(taken->status(), 200) << taken->body();
  const auto noted = kube::parse_time(annotation("a-1-x"));
  ASSERT_TRUE(noted);
  EXPECT_LE(*noted, now()) << "what is said of the future is said of now";
}

TEST_F(ScavengerStory, F6_OneReportInTenSecondsIsTaken) {
  job("a", "4");
  status("a", running(now()));
  story_.account("runner", "[]");
  const std::string own = pod_token("a-1-x", "the-job");
  EXPECT_EQ(report(own, "nonsense")->status(), 400);
  EXPECT_EQ(report(own, R"({"time":"yesterday"})")->status(), 400);
  EXPECT_EQ(report(own)->status(), 200);
  const auto soon = report(own);
  EXPECT_EQ(soon->status(), 429);
  EXPECT_FALSE(soon->header("Retry-After").empty());
  story_.pass(10s);
  EXPECT_EQ(report(own)->status(), 200);
  status("a", R"("phase":"Interrupted","closedAttempt":1)");
  story_.pass(10s);
  EXPECT_EQ(report(own)->status(), 403) << "the attempt is over";
}

TEST_F(ScavengerStory, WhoHasTheRightReportsForTheJob) {
  job("a", "4");
  status("a", running(now()));
  story_.account("runner", "[]");
  pod_token("a-1-x", "the-job");
  const std::string sidecar = story_.account(
      "sidecar",
      R"([{"apiGroups":["berth.dev"],"resources":["scavengerjobs/checkpoints"],"verbs":["create"]}])");
  EXPECT_EQ(report(sidecar, R"({"pod":"none"})")->status(), 409);
  EXPECT_EQ(report(sidecar)->status(), 200);
  EXPECT_NE(annotation("a-1-x"), "");
}

}  // namespace
}  // namespace berth::gateway
