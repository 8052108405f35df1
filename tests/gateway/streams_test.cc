// SPDX-License-Identifier: Apache-2.0
// Changes as they reach listeners: STOMP on both framings, and server-sent events.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "gateway/stomp.h"
#include "stomp_client.h"

namespace berth::gateway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr std::string_view kWatchJobs =
    R"([{"apiGroups":["batchjob.gcr.io"],"resources":["batchjobs"],"verbs":["watch"]}])";

struct Framing {
  const char* name;
  const char* path;
};
std::string name_of_framing(const testing::TestParamInfo<Framing>& framing) {
  return framing.param.name;
}
class OverBoth : public testing::TestWithParam<Framing> {};
INSTANTIATE_TEST_SUITE_P(Stomp, OverBoth,
                         testing::Values(Framing{"Plain", "/scheduler"},
                                         Framing{"Raw", "/scheduler/websocket"},
                                         Framing{"SockJs", "/scheduler/123/abcdef/websocket"}),
                         name_of_framing);

TEST_P(OverBoth, ESI_103_ChangesAreToldByNameAndAsObjects) {
  Story story;
  story.job("a");
  StompClient client(story, GetParam().path);
  client.connect("", "20000,0");
  const auto connected = client.frames();
  ASSERT_THAT(connected, SizeIs(1));
  EXPECT_EQ(connected[0].command, "CONNECTED");
  EXPECT_EQ(connected[0].text("version"), "1.2");
  client.subscribe("sub-0", "/topic/jobs");
  client.subscribe("sub-1", "/topic/jobs/a", {{"receipt", "r1"}});
  client.subscribe("sub-2", "/topic/schedulings");
  const auto receipts = client.frames();
  ASSERT_THAT(receipts, SizeIs(1));
  EXPECT_EQ(receipts[0].text("receipt-id"), "r1");

  story.patch_status(Topic::kJobs, "a", R"({"status":{"state":"Running"}})");
  const auto told = client.frames();
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[0].text("subscription"), "sub-0");
  EXPECT_EQ(told[0].text("destination"), "/topic/jobs");
  EXPECT_EQ(told[0].body, R"({"action":"MODIFIED","resource":"a"})");
  EXPECT_EQ(told[1].text("subscription"), "sub-1");
  EXPECT_EQ(json::Slice(told[1].body)["resource"]["state"].text(), "RunningState");
  const auto object = story.get(Topic::kJobs, "a");
  EXPECT_EQ(told[1].text("seq"), std::to_string(object->revision()));
  EXPECT_EQ(told[1].text("resourceVersion"), told[1].text("seq"));
  story.erase(Topic::kJobs, "a");
  EXPECT_EQ(client.frames()[0].body, R"({"action":"DELETED","resource":"a"})");

  client.say(stomp("UNSUBSCRIBE", {{"id", "sub-0"}}));
  story.job("a");
  EXPECT_THAT(client.bodies(), ElementsAre(HasSubstr(R"("action":"ADDED","resource":{)")));
  client.say(stomp("DISCONNECT", {{"receipt", "bye"}}));
  EXPECT_EQ(client.frames()[0].text("receipt-id"), "bye");
  EXPECT_EQ(client.client->socket->closed, 1000);
}

TEST(SockJs, InfoAndOpeningAreAsItsClientWantsThem) {
  Story story;
  story.token = "";
  EXPECT_THAT(story.get("/scheduler/info")->body(), HasSubstr(R"("websocket":true)"));
  StompClient client(story, "/scheduler/123/abcdef/websocket");
  EXPECT_EQ(client.client->socket->received[0].bytes, "o");
  client.connect("owners");
  story.pass(26s);
  EXPECT_EQ(client.client->socket->received.back().bytes, "h");
  client.client->socket->say("not a list");
  story.pass();
  EXPECT_THAT(client.client->socket->received.back().bytes, testing::StartsWith("c["));
}

TEST(Stomp, ESI_127_ThePasscodeIsATokenAndRightsAreAskedFor) {
  Story story;
  const std::string reader = story.account("reader", kWatchJobs);
  story.token = "";
  StompClient nobody(story);
  nobody.connect();
  EXPECT_THAT(nobody.bodies(), ElementsAre("ERROR Unauthorized"));
  EXPECT_EQ(nobody.client->socket->closed, 1008);
  StompClient client(story);
  client.connect(reader);
  client.subscribe("0", "/topic/jobs");
  EXPECT_THAT(client.bodies(), ElementsAre("CONNECTED "));
  client.subscribe("1", "/topic/testbeds");
  EXPECT_THAT(client.bodies(), ElementsAre(HasSubstr("cannot watch resource \"testbeds\"")));
  EXPECT_EQ(client.client->socket->closed, 1008);
}

TEST(Stomp, ESI_127_AnExpiredTokenClosesTheSessionWithinAMinute) {
  Story story;
  const std::string reader = story.account("reader", kWatchJobs);
  story.token = "";
  StompClient client(story);
  client.connect(reader);
  client.subscribe("0", "/topic/jobs");
  story.pass(599s);
  EXPECT_EQ(client.client->socket->closed, 0);
  story.pass(60s);
  EXPECT_EQ(client.client->socket->closed, 1008);
  EXPECT_EQ(story.service->gateway().seats().taken(), 0U);
}

TEST(Stomp, ESI_103_WhatBreaksTheProtocolIsAnErrorAndTheEnd) {
  Story story;
  const std::pair<std::string, const char*> rows[] = {
      {stomp("SUBSCRIBE", {{"id", "0"}, {"destination", "/topic/jobs"}}), "must be CONNECT"},
      {stomp("CONNECT", {{"accept-version", "1.0"}}), "1.2 and 1.1"},
      {"NONSENSE\n\n", "no such command"},
  };
  for (const auto& [bytes, why] : rows) {
    StompClient client(story);
    client.say(bytes);
    EXPECT_THAT(client.bodies(),
                ElementsAre(testing::AllOf(testing::StartsWith("ERROR "), HasSubstr(why))));
    EXPECT_NE(client.client->socket->closed, 0);
  }
  const std::pair<std::string, const char*> later[] = {
      {stomp("SUBSCRIBE", {{"id", "0"}, {"destination", "/queue/x"}}), "no destination"},
      {stomp("SUBSCRIBE", {{"id", "0"}, {"destination", "/topic/pods"}}), "no destination"},
      {stomp("SUBSCRIBE", {{"destination", "/topic/jobs"}}), "needs an id"},
      {stomp("SEND", {{"destination", "/app/other"}}, "x"), "only /app/schedulings"},
      {stomp("BEGIN", {{"transaction", "t"}}), "not supported"},
      {stomp("CONNECT", {{"accept-version", "1.2"}}), "already connected"},
  };
  for (const auto& [bytes, why] : later) {
    StompClient client(story);
    client.connect();
    client.say(bytes);
    EXPECT_THAT(client.bodies(), ElementsAre("CONNECTED ", HasSubstr(why)));
    EXPECT_NE(client.client->socket->closed, 0);
  }
}

TEST(Stomp, ESI_103_AFrameMayComeInManyMessages) {
  Story story;
  StompClient client(story);
  const std::string bytes =
      stomp("CONNECT", {{"accept-version", "1.2"}}) +
      stomp("SUBSCRIBE", {{"id", "0"}, {"destination", "/topic/jobs"}, {"receipt", "1"}});
  for (const char byte : bytes) client.client->socket->say(std::string(1, byte));
  story.pass();
  EXPECT_THAT(client.bodies(), ElementsAre("CONNECTED ", "RECEIPT "));
}

TEST(Stomp, HeartBeatsGoBothWays) {
  Story story;
  StompClient client(story);
  client.connect("", "10000,5000");
  EXPECT_EQ(client.frames()[0].text("heart-beat"), "10000,10000");
  story.pass(10s);
  EXPECT_EQ(client.client->socket->received.back().bytes, "\n");
  for (int i = 0; i < 10; ++i) {
    client.client->socket->say("\n");
    story.pass(10s);
  }
  EXPECT_EQ(client.client->socket->closed, 0);
  story.pass(41s);
  EXPECT_NE(client.client->socket->closed, 0);
}

TEST(Stomp, WhoNeverConnectsIsShownOut) {
  Story story;
  StompClient client(story);
  story.pass(11s);
  EXPECT_NE(client.client->socket->closed, 0);
}

TEST(Stomp, SendCreatesASchedulingAndTheReceiptSaysSo) {
  Story story;
  StompClient client(story);
  client.connect();
  client.say(stomp("SEND", {{"destination", "/app/schedulings"}, {"receipt", "1"}},
                   R"({"name":"s","testBed":"tb","queue":["a"]})"));
  story.pass();
  EXPECT_THAT(client.bodies(), ElementsAre("CONNECTED ", "RECEIPT "));
  EXPECT_TRUE(story.get(Topic::kSchedulings, "s"));
}

TEST(Stomp, ACursorResumesWithoutAGapAndWithoutARepeat) {
  Story story;
  story.job("a");
  StompClient first(story);
  first.connect();
  first.subscribe("0", "/topic/jobs");
  first.frames();
  story.patch_status(Topic::kJobs, "a", R"({"status":{"state":"InQueue"}})");
  const auto seen = first.frames();
  ASSERT_THAT(seen, SizeIs(1));
  first.client->socket->leave();
  story.pass();
  story.job("b");
  story.patch_status(Topic::kJobs, "a", R"({"status":{"state":"Running"}})");
  StompClient second(story);
  second.connect();
  second.subscribe("0", "/topic/jobs", {{"cursor", seen[0].text("cursor")}});
  EXPECT_THAT(second.bodies(),
              ElementsAre("CONNECTED ", R"(MESSAGE {"action":"ADDED","resource":"b"})",
                          R"(MESSAGE {"action":"MODIFIED","resource":"a"})"));
}

TEST(Stomp, ACursorOfAnotherLifeIsResetAndBeginsWithASnapshot) {
  Story story;
  story.job("a");
  for (const char* cursor : {"t99999999.j99999999.s99999999", "t1.j1.s1", "nonsense"}) {
    StompClient client(story);
    client.connect();
    client.subscribe("0", "/topic/jobs", {{"cursor", cursor}});
    EXPECT_THAT(client.bodies(),
                ElementsAre("CONNECTED ", R"(MESSAGE {"action":"RESET","resource":null})",
                            R"(MESSAGE {"action":"ADDED","resource":"a"})",
                            R"(MESSAGE {"action":"BOOKMARK","resource":null})"))
        << cursor;
  }
}

TEST(Stomp, AListenerThatIsTooSlowForTheRingBeginsAgain) {
  Story story({.feeds = {.ring = {.changes = 5}}});
  story.job("a");
  StompClient client(story);
  client.connect();
  client.subscribe("0", "/topic/jobs", {{"snapshot", "true"}});
  client.frames();
  client.client->socket->reads = false;
  for (int i = 0; i < 20; ++i)
    story.patch_status(Topic::kJobs, "a", fmt::format(R"({{"status":{{"run":{}}}}})", i));
  client.frames();
  client.client->socket->read_all();
  story.pass();
  EXPECT_THAT(client.bodies(), ElementsAre(R"(MESSAGE {"action":"RESET","resource":null})",
                                           R"(MESSAGE {"action":"ADDED","resource":"a"})",
                                           R"(MESSAGE {"action":"BOOKMARK","resource":null})"));
}

TEST(Stomp, ManyChangesBetweenTwoRoundsShareAMessage) {
  Story story;
  StompClient client(story);
  client.connect();
  client.subscribe("0", "/topic/jobs");
  const std::size_t before = client.client->socket->received.size();
  for (int i = 0; i < 10; ++i)
    story.api->create(
        kind_of(Topic::kJobs), "default",
        fmt::format(
            R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"j{}"}},"spec":{{"jobSpec":{{}}}}}})",
            i),
        story.scope.done<kube::Object>(60s, [](const auto& made) { EXPECT_TRUE(made); }));
  story.pass();
  EXPECT_EQ(client.client->socket->received.size(), before + 1);
  client.frames();
}

TEST(Sse, BeginsWithWhatThereIsAndGoesOn) {
  Story story;
  story.job("a");
  const auto client = story.get("/external/v1/events?kinds=jobs,schedulings");
  EXPECT_EQ(client->header("Content-Type"), "text/event-stream");
  EXPECT_THAT(client->body(),
              HasSubstr("event: change\ndata: {\"kind\":\"jobs\",\"action\":\"ADDED\""));
  EXPECT_THAT(client->body(), HasSubstr("event: synced\n"));
  client->pieces.clear();
  story.patch_status(Topic::kJobs, "a", R"({"status":{"state":"Running"}})");
  story.testbed("tb");  // not asked for
  EXPECT_THAT(client->body(), testing::StartsWith("id: t"));
  EXPECT_THAT(client->body(), HasSubstr("\"state\":\"Running\""));
  EXPECT_THAT(client->body(), Not(HasSubstr("testbeds")));
}

TEST(Sse, LastEventIdResumesWithTheSameNumbers) {
  Story story;
  story.job("a");
  const auto first = story.get("/external/v1/events?kinds=jobs");
  first->pieces.clear();
  story.patch_status(Topic::kJobs, "a", R"({"status":{"state":"InQueue"}})");
  const std::string id = first->body().substr(4, first->body().find('\n') - 4);
  first->leave();
  const auto changed = story.patch_status(Topic::kJobs, "a", R"({"status":{"state":"Running"}})");
  const auto second =
      story.send("GET", "/external/v1/events?kinds=jobs", "", {{"Last-Event-ID", id}});
  EXPECT_THAT(second->body(), HasSubstr(fmt::format("\"seq\":{}", changed.revision())));
  EXPECT_THAT(second->body(), Not(HasSubstr("InQueue")));
  EXPECT_THAT(second->body(), Not(HasSubstr("reset")));
  const auto lost =
      story.send("GET", "/external/v1/events?kinds=jobs", "", {{"Last-Event-ID", "t1.j1.s1"}});
  EXPECT_THAT(lost->body(), HasSubstr("event: reset\n"));
}

TEST(Sse, ACommentComesWhereNothingHappens) {
  Story story;
  const auto client = story.get("/external/v1/events");
  client->pieces.clear();
  story.pass(31s);
  EXPECT_THAT(client->body(), HasSubstr(": still here\n\n"));
}

TEST(Sse, AnUnknownKindIsRefused) {
  Story story;
  EXPECT_EQ(story.get("/external/v1/events?kinds=pods")->status(), 400);
}

TEST(Destinations, SayWhatTheyMean) {
  EXPECT_EQ(filter_of("/topic/jobs", "d")->ns, "d");
  EXPECT_EQ(filter_of("/topic/ns/x/jobs/a", "d")->ns, "x");
  EXPECT_EQ(filter_of("/topic/ns/x/jobs/a", "d")->name, "a");
  EXPECT_EQ(filter_of("/topic/schedulings/ns", "d")->name, "ns");
  for (const char* bad : {"", "/topic/", "/topic/jobs/", "/topic/jobs/a/b", "/topic/ns/x", "/jobs",
                          "/topic/ns//jobs", "/topic//jobs"})
    EXPECT_FALSE(filter_of(bad, "d")) << bad;
}

}  // namespace
}  // namespace berth::gateway
