// SPDX-License-Identifier: Apache-2.0
// The interface over HTTP, as the thesis' client uses it and with namespaces.
#include <gmock/gmock.h>

#include "story.h"

namespace berth::gateway {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kAllRules =
    R"([{"apiGroups":["batchjob.gcr.io"],"resources":["*"],"verbs":["*"]}])";

json::Slice body_of(const Story::Client& client) {
  EXPECT_TRUE(client->sent.has_value());
  return json::Slice(client->sent->body);
}

TEST(ThesisRest, ESI_101_TheOriginalClientsCallsAreAnswered) {
  Story story;
  story.testbed("tb");
  story.job("a");
  story.job("b");

  const auto testbeds = story.get("/external/testbeds");
  ASSERT_EQ(testbeds->status(), 200);
  const json::Slice testbed = body_of(testbeds)[std::size_t{0}];
  EXPECT_EQ(testbed["name"].text(), "tb");
  EXPECT_EQ(testbed["state"].text(), "SUCCESS");
  EXPECT_EQ(testbed["numberOfNodes"].integer(), 2);
  EXPECT_EQ(testbed["numberOfSlotsPerNode"].integer(), 1);
  EXPECT_EQ(testbed["slotsByNode"]["n1"][std::size_t{0}]["position"].integer(), 1);
  EXPECT_EQ(body_of(story.get("/external/testbeds/tb"))["name"].text(), "tb");
  EXPECT_EQ(story.get("/external/testbeds/none")->status(), 404);

  const auto jobs = story.get("/external/jobs");
  EXPECT_EQ(body_of(jobs).size(), 2U);
  EXPECT_EQ(body_of(jobs)["a"]["state"].text(), "ReadyState");
  EXPECT_EQ(body_of(story.get("/external/v1/jobs"))["a"]["state"].text(), "Ready");
  EXPECT_EQ(body_of(jobs)["a"]["externalScheduler"]["profiler"][std::size_t{0}]["other"].text(),
            "24 of 16");

  const auto made = story.send("POST", "/external/schedulings",
                               R"({"name":"s","testBed":"tb","queue":["a","b","a"],"slots":null})");
  ASSERT_EQ(made->status(), 200) << made->body();
  EXPECT_EQ(body_of(made)["queue"].raw(), R"(["a","b","a"])");
  EXPECT_TRUE(body_of(made)["slots"].is_null());
  const auto stored = story.get(Topic::kSchedulings, "s");
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->member("spec")["queueBased"][std::size_t{1}].raw(),
            R"({"name":"b","namespace":"default"})");
  EXPECT_EQ(stored->annotation("berth.dev/requested-by"), "kubernetes-admin");

  const auto replaced = story.send(
      "POST", "/external/schedulings",
      R"({"name":"s","testBed":"tb","slots":{"mode":"STRICT","jobs":[{"name":"a","slots":[0,1]}]}})");
  ASSERT_EQ(replaced->status(), 200) << replaced->body();
  EXPECT_TRUE(body_of(replaced)["queue"].is_null());
  EXPECT_EQ(body_of(replaced)["slots"].raw(),
            R"({"mode":"strict","jobs":[{"name":"a","slots":[0,1]}]})");
  EXPECT_EQ(body_of(story.get("/external/schedulings")).size(), 1U);

  const auto gone = story.send("DELETE", "/external/schedulings/s");
  EXPECT_EQ(gone->status(), 200);
  EXPECT_EQ(body_of(gone)["name"].text(), "s");
  const auto again = story.send("DELETE", "/external/schedulings/s");
  EXPECT_EQ(again->status(), 304);
  EXPECT_EQ(again->body(), "");
  EXPECT_EQ(story.get("/external/schedulings/s")->status(), 404);
}

TEST(ThesisRest, ESI_003_ESI_101_PutChangesTheExternalSchedulersDataOnly) {
  Story story;
  story.job("a");
  const auto before = story.get(Topic::kJobs, "a");
  const auto put = story.send(
      "PUT", "/external/jobs/",
      R"({"name":"a","state":"Nonsense","externalScheduler":{"mine":[{"b":"1 of 1"}]}})");
  ASSERT_EQ(put->status(), 200) << put->body();
  EXPECT_EQ(body_of(put)["externalScheduler"].raw(), R"({"mine":[{"b":"1 of 1"}]})");
  const auto after = story.get(Topic::kJobs, "a");
  EXPECT_EQ(after->member("spec")["sparkSpec"].raw(), before->member("spec")["sparkSpec"].raw());
  EXPECT_EQ(after->member("spec")["externalScheduler"].raw(), R"({"mine":[{"b":"1 of 1"}]})");
  EXPECT_EQ(
      story.send("PUT", "/external/jobs/", R"({"name":"none","externalScheduler":{}})")->status(),
      404);
  EXPECT_EQ(
      story.send("PUT", "/external/jobs/", R"({"name":"a","externalScheduler":null})")->status(),
      200);
  EXPECT_FALSE(story.get(Topic::kJobs, "a")->member("spec")["externalScheduler"]);
}

TEST(ThesisRest, ESI_101_ASchedulingThatAJobHasStoppedIsInItsFailedState) {
  Story story;
  story.testbed("tb");
  story.job("a");
  ASSERT_EQ(
      story.send("POST", "/external/schedulings", R"({"name":"s","testBed":"tb","queue":["a"]})")
          ->status(),
      200);
  const auto states = [&](std::string_view reason) {
    story.patch_status(
        Topic::kSchedulings, "s",
        fmt::format(
            R"({{"status":{{"state":"AwaitingCompletion","conditions":[{{"type":"Progressing","status":"False","reason":"{}","message":"BatchJob default/a has failed","lastTransitionTime":"2026-01-01T00:00:00Z"}}]}}}})",
            reason));
    story.pass();
    return body_of(story.get("/external/schedulings/s"))["state"].text() + " " +
           body_of(story.get("/external/v1/schedulings/s"))["state"].text();
  };
  EXPECT_EQ(states("JobFailed"), "FailedState AwaitingCompletion");
  EXPECT_EQ(states("Stalled"), "AwaitingCompletionState AwaitingCompletion");
}

TEST(ThesisRest, ESI_101_WhatIsWrongInASchedulingIs400AndSaysWhat) {
  Story story;
  const std::pair<const char*, const char*> rows[] = {
      {"", "line 1"},
      {"[]", "name"},
      {R"({"testBed":"tb","queue":[]})", "name: must not be blank"},
      {R"({"name":" ","testBed":"tb","queue":[]})", "name: must not be blank"},
      {R"({"name":"s","queue":[]})", "testBed: must not be blank"},
      {R"({"name":"s","testBed":"tb"})", "exactly one of queue and slots"},
      {R"({"name":"s","testBed":"tb","queue":["a"],"slots":{"mode":"strict","jobs":[]}})",
       "exactly one of queue and slots"},
      {R"({"name":"s","testBed":"tb","queue":[1]})", "every entry must be a name"},
      {R"({"name":"s","testBed":"tb","slots":{"jobs":[]}})", "slots.mode"},
      {R"({"name":"s","testBed":"tb","slots":{"mode":"strict","jobs":[{"name":"a","slots":[-1]}]}})",
       "a slot is a number"},
      {R"({"name":"Not a name","testBed":"tb","queue":["a"]})", "Invalid value"},
  };
  for (const auto& [body, why] : rows) {
    const auto refused = story.send("POST", "/external/schedulings", body);
    EXPECT_EQ(refused->status(), 400) << body;
    EXPECT_THAT(refused->body(), HasSubstr(why)) << body;
  }
}

TEST(ThesisRest, ESI_006_TestbedsAreNotWrittenHere) {
  Story story;
  for (const char* method : {"POST", "PUT", "DELETE"}) {
    EXPECT_EQ(story.send(method, "/external/testbeds")->status(), 405);
    EXPECT_EQ(story.send(method, "/external/testbeds/tb")->status(), 405);
  }
}

TEST(ThesisRest, ESI_101_TheOriginalClientWorksWithoutATokenOnItsOwnListener) {
  Story story({.gateway = {.compat_user = "thesis"}});
  story.testbed("tb");
  story.token = "";
  EXPECT_EQ(story.get("/external/testbeds")->status(), 401);
  story.compat = true;
  EXPECT_EQ(story.get("/external/testbeds")->status(), 403);
  story.create(
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"thesis"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"thesis"}]})");
  story.pass(11s);
  EXPECT_EQ(story.get("/external/testbeds")->status(), 200);
}

TEST(Rest, ESI_121_NamespacesAreInThePathAndKeptApart) {
  Story story;
  story.create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}})");
  story.job("a");
  story.job("b", "other");
  EXPECT_EQ(body_of(story.get("/external/v1/namespaces/other/jobs")).size(), 1U);
  EXPECT_EQ(body_of(story.get("/external/v1/namespaces/other/jobs/b"))["namespace"].text(),
            "other");
  EXPECT_EQ(story.get("/external/v1/namespaces/other/jobs/a")->status(), 404);
  EXPECT_EQ(story.send("DELETE", "/external/v1/namespaces/other/schedulings/s")->status(), 404);
  const auto made = story.send("POST", "/external/v1/namespaces/other/schedulings",
                               R"({"name":"s","testBed":"tb","queue":["b"]})");
  EXPECT_EQ(made->status(), 200) << made->body();
  EXPECT_TRUE(story.get(Topic::kSchedulings, "s", "other"));
  story.token = story.account("reader", kAllRules);
  EXPECT_EQ(story.get("/external/v1/namespaces/default/jobs")->status(), 200);
  EXPECT_EQ(story.get("/external/v1/namespaces/other/jobs")->status(), 403);
}

TEST(Rest, ESI_100_OneSnapshotShowsAllThreeWithOneCursor) {
  Story story;
  story.testbed("tb");
  story.job("a");
  const auto snapshot = story.get("/external/snapshot");
  ASSERT_EQ(snapshot->status(), 200);
  EXPECT_EQ(body_of(snapshot)["testbeds"].size(), 1U);
  EXPECT_EQ(body_of(snapshot)["jobs"]["a"]["name"].text(), "a");
  EXPECT_EQ(body_of(snapshot)["schedulings"].size(), 0U);
  const auto cursor = Cursor::parse(body_of(snapshot)["cursor"].text());
  ASSERT_TRUE(cursor);
  EXPECT_GE(cursor->of(Topic::kJobs), story.get(Topic::kJobs, "a")->revision());
}

TEST(Rest, ESI_134_ARunSaysWhenAndWhere) {
  Story story;
  story.job("a");
  story.patch_status(
      Topic::kJobs, "a",
      R"({"status":{"scheduledEvents":[{"run":1,"start":"2026-01-01T00:00:00Z","stop":"2026-01-01T00:01:00Z","successful":true,"scheduling":"s","slotIds":[0],"pods":[{"name":"a-exec-1","node":"n0"}]}]}})");
  EXPECT_EQ(body_of(story.get("/external/jobs/a/runs")).size(), 1U);
  const auto run = story.get("/external/jobs/a/runs/0");
  EXPECT_EQ(body_of(run)["pods"][std::size_t{0}]["node"].text(), "n0");
  EXPECT_EQ(body_of(run)["start"].text(), "2026-01-01T00:00:00Z");
  for (const char* none : {"/external/jobs/a/runs/1", "/external/jobs/a/runs/x",
                           "/external/jobs/a/runs/-1", "/external/jobs/b/runs"})
    EXPECT_EQ(story.get(none)->status(), 404) << none;
}

TEST(Rest, ESI_048_ResetIsARequestToTheJobsController) {
  Story story;
  story.job("a");
  EXPECT_EQ(story.send("POST", "/external/jobs/a/reset")->status(), 202);
  EXPECT_EQ(story.get(Topic::kJobs, "a")->annotation("berth.dev/reset"), "true");
}

TEST(Rest, MetricsAreForWhomRbacLetsReadThem) {
  Story story;
  story.job("a");
  ASSERT_EQ(story.get("/external/jobs")->status(), 200);
  const auto shown = story.get("/metrics");
  ASSERT_EQ(shown->status(), 200) << shown->body();
  EXPECT_THAT(shown->body(),
              HasSubstr(R"(berth_gateway_requests_total{code="200",method="GET"} 1)"));
  EXPECT_THAT(shown->body(), HasSubstr(R"(berth_gateway_changes_total{kind="jobs"} 1)"));
  for (const char* name :
       {"berth_gateway_streams", "berth_gateway_behind_events", "berth_gateway_resets_total",
        "berth_reviews_total", "berth_gateway_delivered_total", "berth_gateway_request_seconds"})
    EXPECT_THAT(shown->body(), HasSubstr(name));
  story.token = story.account("reader", kAllRules);
  const auto refused = story.get("/metrics");
  EXPECT_EQ(refused->status(), 403);
  EXPECT_THAT(refused->body(), HasSubstr(R"(cannot get path \"/metrics\")"));
  story.token = "";
  EXPECT_EQ(story.get("/metrics")->status(), 401);
  EXPECT_EQ(story.get("/healthz")->status(), 200);
  EXPECT_EQ(story.get("/readyz")->status(), 200);
}

TEST(Rest, ESI_127_EachCallTakesItsOwnRight) {
  Story story;
  story.job("a");
  story.token = story.account(
      "reader",
      R"([{"apiGroups":["batchjob.gcr.io"],"resources":["batchjobs"],"verbs":["get","list"]}])");
  EXPECT_EQ(story.get("/external/jobs")->status(), 200);
  EXPECT_EQ(story.get("/external/jobs/a")->status(), 200);
  EXPECT_EQ(story.get("/external/testbeds")->status(), 403);
  EXPECT_EQ(story.get("/external/snapshot")->status(), 403);
  EXPECT_EQ(story.get("/external/v1/events?kinds=jobs")->status(), 403);
  EXPECT_EQ(story.send("POST", "/external/jobs/a/reset")->status(), 403);
  const auto data = story.send("PUT", "/external/jobs/", R"({"name":"a","externalScheduler":{}})");
  EXPECT_EQ(data->status(), 403);
  EXPECT_THAT(data->body(), HasSubstr(R"(cannot update resource \"batchjobs/externalscheduler\")"));
  EXPECT_EQ(
      story.send("POST", "/external/schedulings", R"({"name":"s","testBed":"t","queue":["a"]})")
          ->status(),
      403);
  EXPECT_EQ(story.send("DELETE", "/external/schedulings/s")->status(), 403);
  story.token = story.account(
      "writer",
      R"([{"apiGroups":["batchjob.gcr.io"],"resources":["batchjobs/externalscheduler"],"resourceNames":["a"],"verbs":["update"]}])");
  EXPECT_EQ(
      story.send("PUT", "/external/jobs/", R"({"name":"a","externalScheduler":{}})")->status(),
      200);
  EXPECT_EQ(
      story.send("PUT", "/external/jobs/", R"({"name":"b","externalScheduler":{}})")->status(),
      403);
}

TEST(OpenApi, EveryRouteIsInTheDocumentAndEverySchemaIsThere) {
  Story story;
  story.token = "";
  const auto answer = story.get("/external/v1/openapi.json");
  ASSERT_EQ(answer->status(), 200);
  const json::Slice document = body_of(answer);
  for (const auto& route : story.service->gateway().routes().all()) {
    std::string method = route->method;
    for (char& c : method) c = static_cast<char>(std::tolower(c));
    const json::Slice operation = document["paths"][route->path][method];
    EXPECT_TRUE(operation) << route->method << " " << route->path << " is not documented";
    EXPECT_NE(operation["summary"].text(), "");
    for (const std::string& name : {route->doc.takes, route->doc.gives}) {
      EXPECT_TRUE(name.empty() || document["components"]["schemas"][name]) << name;
    }
  }
  EXPECT_THAT(answer->body(), Not(HasSubstr("{rest...}")));
}

}  // namespace
}  // namespace berth::gateway
