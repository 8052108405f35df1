// SPDX-License-Identifier: Apache-2.0
#include "client/event_recorder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/world.h"
#include "client/faulty_transport.h"
#include "client/local_transport.h"
#include "fake_server.h"

namespace berth::faults {
namespace {

using client::EventNote;
using client::EventRecorder;
using client::EventRecorderOptions;
using client::EventType;
using client::ObjectRef;
using kube::kEvent;
using kube::Object;

const ObjectRef kWeb{"v1", "Pod", "shop", "web", "uid-web", "77"};
const EventNote kScheduled{EventType::kNormal, "Scheduled", "Binding", "put on n1"};

class EventRecorderTest : public testing::Test {
 protected:
  ~EventRecorderTest() override { EXPECT_TRUE(closed || close()); }
  EventRecorder& make(EventRecorderOptions options = {}) {
    options.controller = "berth-scheduler";
    options.instance = "berth-scheduler-host1";
    recorder = std::make_unique<EventRecorder>(root, api, Random(4), options);
    return *recorder;
  }
  bool close(Duration grace = 5s) {
    root.close(grace, [this] { closed = true; });
    world.run_for(grace + 1s);
    return closed;
  }
  std::vector<Object> events() {
    std::vector<Object> out;
    for (const auto& [key, object] : server.all(kEvent)) out.push_back(object);
    return out;
  }

  World world{3};
  FakeServer server{world.loop("api"), Random(1)};
  client::LocalTransport wire{world.loop("api"), server, {}};
  Scope root{world.loop("client"), "test"};
  client::FaultyTransport transport{root, wire, {}, Random(2)};
  client::Api api{root, transport, Random(3)};
  std::unique_ptr<EventRecorder> recorder;
  bool closed = false;
};

TEST_F(EventRecorderTest, WritesWhatClientGoWrites) {
  const ObjectRef node{"v1", "Node", "", "n1", "uid-n1", ""};
  make().event(kWeb, kScheduled, &node);
  EXPECT_TRUE(events().empty()) << "never inline";
  world.run_for(1s);
  ASSERT_EQ(events().size(), 1u);
  const Object event = events()[0];
  EXPECT_EQ(event.ns(), "shop");
  EXPECT_EQ(event.name(), fmt::format("web.{:x}", World::kNewYear2026.unix_nanos));
  EXPECT_EQ(event.member("reason").text(), "Scheduled");
  EXPECT_EQ(event.member("action").text(), "Binding");
  EXPECT_EQ(event.member("note").text(), "put on n1");
  EXPECT_EQ(event.member("type").text(), "Normal");
  EXPECT_EQ(event.member("reportingController").text(), "berth-scheduler");
  EXPECT_EQ(event.member("reportingInstance").text(), "berth-scheduler-host1");
  EXPECT_EQ(event.member("eventTime").text(), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(event.member("regarding").raw(),
            R"({"kind":"Pod","namespace":"shop","name":"web","uid":"uid-web","apiVersion":"v1",)"
            R"("resourceVersion":"77"})");
  EXPECT_EQ(event.member("related")["name"].text(), "n1");
  EXPECT_FALSE(event.member("series").present());
}

TEST_F(EventRecorderTest, EventsOfClusterScopedObjectsGoToDefault) {
  make().event(ObjectRef{"v1", "Node", "", "n1", "u", ""}, kScheduled);
  world.run_for(1s);
  EXPECT_EQ(events().at(0).ns(), "default");
}

TEST_F(EventRecorderTest, AnObjectWhoseNameDoesNotFitGivesAUuid) {
  make().event(ObjectRef{"rbac.authorization.k8s.io/v1", "ClusterRole", "", "system:node", "u", ""},
               kScheduled);
  world.run_for(1s);
  EXPECT_EQ(events().at(0).name().size(), 36u);
}

TEST_F(EventRecorderTest, EqualEventsBecomeOneSeriesWrittenEveryTenSeconds) {
  make();
  for (int i = 0; i < 20; ++i) {
    recorder->event(kWeb, kScheduled);
    world.run_for(1s);
  }
  world.run_for(10s);
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(events()[0].member("series")["count"].integer(), 20);
  EXPECT_EQ(events()[0].member("series")["lastObservedTime"].text(), "2026-01-01T00:00:19.000000Z");
  EXPECT_EQ(server.requests, 3u) << "one create, a patch each ten seconds";
  EXPECT_EQ(recorder->stats().aggregated, 19u);
}

TEST_F(EventRecorderTest, AnotherNoteIsAnotherEvent) {
  make();
  EventNote other = kScheduled;
  other.note = "put on n2";
  recorder->event(kWeb, kScheduled);
  recorder->event(kWeb, other);
  world.run_for(1s);
  EXPECT_EQ(events().size(), 2u);
}

TEST_F(EventRecorderTest, ASeriesEndsAfterSixQuietMinutes) {
  make().event(kWeb, kScheduled);
  world.run_for(7min);
  recorder->event(kWeb, kScheduled);
  world.run_for(1min);
  EXPECT_EQ(events().size(), 2u);
}

TEST_F(EventRecorderTest, ASeriesWhoseEventExpiredIsCreatedAnew) {
  make().event(kWeb, kScheduled);
  world.run_for(1s);
  server.remove(kEvent, events()[0].key());
  recorder->event(kWeb, kScheduled);
  world.run_for(1min);
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(events()[0].member("series")["count"].integer(), 2);
}

TEST_F(EventRecorderTest, AnObjectMayCauseTwentyFiveAtOnceAndOneMoreEachFiveMinutes) {
  make();
  const auto burst = [&](int n) {
    for (int i = 0; i < n; ++i) {
      EventNote note = kScheduled;
      note.note = fmt::format("number {} of {}", i, server.requests);
      recorder->event(kWeb, note);
    }
    world.run_for(1s);
    return events().size();
  };
  EXPECT_EQ(burst(40), 25u);
  EXPECT_EQ(recorder->stats().spam, 15u);
  recorder->event(ObjectRef{"v1", "Pod", "shop", "other", "u", ""}, kScheduled);
  world.run_for(10min);
  EXPECT_EQ(burst(40), 25u + 1 + 2);
}

TEST_F(EventRecorderTest, LongNotesAreCutBetweenCharacters) {
  EventNote note = kScheduled;
  note.note = std::string(1020, 'x') + "\xe2\x82\xac\xe2\x82\xac";
  make().event(kWeb, note);
  world.run_for(1s);
  EXPECT_EQ(events().at(0).member("note").text(), std::string(1020, 'x') + "...");
}

TEST_F(EventRecorderTest, HoldsABoundedNumberWhileTheServerIsAway) {
  transport.set_away(true);
  make();
  for (int i = 0; i < 10'000; ++i)
    recorder->event(ObjectRef{"v1", "Pod", "shop", "p" + std::to_string(i), "u", ""}, kScheduled);
  EXPECT_EQ(recorder->pending(), 4096u);
  EXPECT_EQ(recorder->stats().dropped, 10'000u - 4096u);
  world.run_for(1min);
  transport.set_away(false);
  world.run_for(10min);
  EXPECT_EQ(recorder->pending(), 0u);
  EXPECT_EQ(events().size(), 4096u);
}

TEST_F(EventRecorderTest, GivesUpOnAWriteAfterABoundedNumberOfTries) {
  transport.set_away(true);
  make().event(kWeb, kScheduled);
  world.run_for(3h);
  EXPECT_EQ(recorder->pending(), 0u);
  EXPECT_EQ(recorder->stats().dropped, 1u);
  const std::uint64_t calls = transport.calls();
  world.run_for(1h);
  EXPECT_EQ(transport.calls(), calls);
}

TEST_F(EventRecorderTest, LostRepliesMakeNoSecondEvent) {
  transport.set({.lose_reply = 0.5});
  make();
  for (int i = 0; i < 50; ++i)
    recorder->event(ObjectRef{"v1", "Pod", "shop", "p" + std::to_string(i), "u", ""}, kScheduled);
  world.run_for(10min);
  EXPECT_EQ(events().size(), 50u);
  EXPECT_EQ(recorder->pending(), 0u);
}

TEST_F(EventRecorderTest, ARefusedEventIsDroppedAtOnce) {
  make().event(kWeb, kScheduled);
  world.run_for(1s);
  const auto before = server.requests;
  server.refuse_writes(Reason::kForbidden);
  recorder->event(ObjectRef{"v1", "Pod", "shop", "other", "u", ""}, kScheduled);
  world.run_for(10min);
  EXPECT_EQ(recorder->stats().dropped, 1u);
  EXPECT_EQ(server.requests, before + 1);
}

TEST_F(EventRecorderTest, CountsWhatBecameOfItsEventsAsMetrics) {
  Metrics metrics;
  make({.metrics = &metrics});
  for (int i = 0; i < 30; ++i) recorder->event(kWeb, kScheduled);
  world.run_for(1min);
  for (const auto* line :
       {"{outcome=\"written\"} 2", "{outcome=\"aggregated\"} 24", "{outcome=\"spam\"} 5"})
    EXPECT_THAT(metrics.exposition(), testing::HasSubstr(line));
  EXPECT_TRUE(close());
}

TEST_F(EventRecorderTest, ClosingWritesWhatIsPending) {
  make().event(kWeb, kScheduled);
  world.run_for(1s);
  recorder->event(kWeb, kScheduled);
  for (int i = 0; i < 30; ++i)
    recorder->event(ObjectRef{"v1", "Pod", "shop", "p" + std::to_string(i), "u", ""}, kScheduled);
  EXPECT_TRUE(close());
  EXPECT_EQ(events().size(), 31u);
  EXPECT_EQ(server.all(kEvent).rbegin()->second.member("series")["count"].integer(), 2);
  recorder->event(kWeb, kScheduled);
  EXPECT_EQ(recorder->stats().dropped, 1u) << "after the end there is nobody to tell";
}

}  // namespace
}  // namespace berth::faults
