// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "apiserver/store/store_lab.h"

namespace berth::apiserver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const kube::Key kWeb{"a", "web"};

TEST(Watch, TellsWhatHappensAfterItsRevision) {
  Lab lab;
  lab.put(pod(kWeb));  // 2
  Watching watching(lab.store(), {.after = 2});
  EXPECT_THAT(watching.read(), IsEmpty());
  lab.put(pod(kWeb, {.node = "n1"}));  // 3
  lab.put(pod({"b", "x"}));            // 4
  lab.erase(kWeb);                     // 5
  EXPECT_THAT(watching.read(), ElementsAre("MODIFIED a/web@3", "ADDED b/x@4", "DELETED a/web@5"));
  EXPECT_THAT(watching.read(), IsEmpty());
  Watching late(lab.store(), {.after = 3});
  EXPECT_THAT(late.read(), ElementsAre("ADDED b/x@4", "DELETED a/web@5"));
}

TEST(Watch, ADeletionCarriesTheLastStateWithItsOwnRevision) {
  Lab lab;
  lab.put(pod(kWeb, {.node = "n1"}));
  Watching watching(lab.store(), {.after = 2});
  lab.erase(kWeb);
  EXPECT_THAT(watching.read(), ElementsAre("DELETED a/web@3"));
  EXPECT_EQ(read_pod_field(watching.events[0].object, "spec.nodeName"), "n1");
  EXPECT_EQ(watching.events[0].object.metadata()["resourceVersion"].text(), "3");
}

TEST(Watch, ComingIntoSightIsAddedAndLeavingIsDeletedWithWhatWasSeenLast) {
  Lab lab;
  Watching watching(lab.store(),
                    {.selector = select("app=web", "status.phase!=Failed"), .after = 1});
  lab.put(pod(kWeb, {.phase = "Pending"}));                // 2: not seen
  lab.put(pod(kWeb, {.phase = "Pending", .app = "web"}));  // 3: enters
  lab.put(pod(kWeb, {.phase = "Running", .app = "web"}));  // 4
  lab.put(pod(kWeb, {.phase = "Failed", .app = "web"}));   // 5: leaves
  lab.put(pod(kWeb, {.phase = "Failed"}));                 // 6: not seen
  lab.erase(kWeb);                                         // 7: not seen
  EXPECT_THAT(watching.read(), ElementsAre("ADDED a/web@3", "MODIFIED a/web@4", "DELETED a/web@5"));
  EXPECT_EQ(read_pod_field(watching.events[2].object, "status.phase"), "Running");
}

TEST(Watch, IsWokenOnlyByWhatMayConcernIt) {
  struct Row {
    const char* name;
    WatchSpec spec;
  };
  Row rows[] = {
      {"namespace", {.range = {.ns = "a"}}},
      {"name", {.range = {.ns = "a", .name = "web"}}},
      {"name by selector", {.range = {.ns = "a"}, .selector = select("", "metadata.name=web")}},
      {"node", {.selector = select("", "spec.nodeName=n1")}},
      {"owner", {.range = {.index = "metadata.ownerReferences.uid", .value = "u1"}}},
  };
  for (Row& row : rows) {
    Lab lab;
    row.spec.after = 1;
    Watching watching(lab.store(), row.spec);
    EXPECT_THAT(watching.read(), IsEmpty());
    for (int i = 0; i < 5; ++i) lab.put(pod({"b", "other"}, {.node = "n2", .owner = "u2"}));
    EXPECT_EQ(watching.readies, 0) << row.name;
    lab.put(pod(kWeb, {.node = "n1", .owner = "u1"}));
    EXPECT_EQ(watching.readies, 1) << row.name;
    EXPECT_THAT(watching.read(), ElementsAre("ADDED a/web@7")) << row.name;
    lab.erase(kWeb);
    EXPECT_EQ(watching.readies, 2) << row.name;
    EXPECT_THAT(watching.read(), ElementsAre("DELETED a/web@8")) << row.name;
  }
}

TEST(Watch, ByAnIndexedFieldHearsWhatComesAndWhatGoes) {
  Lab lab;
  Watching one(lab.store(), {.selector = select("", "spec.nodeName=n1"), .after = 1});
  Watching two(lab.store(), {.selector = select("", "spec.nodeName=n2"), .after = 1});
  Watching none(lab.store(), {.selector = select("", "spec.nodeName="), .after = 1});
  one.read(), two.read(), none.read();
  lab.put(pod(kWeb));
  lab.put(pod(kWeb, {.node = "n1"}));
  lab.put(pod(kWeb, {.node = "n2"}));
  EXPECT_THAT(one.read(), ElementsAre("ADDED a/web@3", "DELETED a/web@4"));
  EXPECT_THAT(two.read(), ElementsAre("ADDED a/web@4"));
  EXPECT_THAT(none.read(), ElementsAre("ADDED a/web@2", "DELETED a/web@3"));
}

TEST(Watch, IsToldOnceUntilItHasReadEverything) {
  Lab lab;
  Watching watching(lab.store(), {.after = 1});
  lab.put(pod(kWeb));
  EXPECT_EQ(watching.readies, 0);  // a new watch is to be read anyway
  watching.read();
  lab.put(pod(kWeb));
  lab.put(pod(kWeb));
  EXPECT_EQ(watching.readies, 1);
  const WatchBatch part = lab.store().read(watching.id, 1);
  EXPECT_THAT(part.events, SizeIs(1));
  EXPECT_TRUE(part.more);
  lab.put(pod(kWeb));
  EXPECT_EQ(watching.readies, 1);
  EXPECT_THAT(watching.read(1), ElementsAre("MODIFIED a/web@4", "MODIFIED a/web@5"));
  lab.put(pod(kWeb));
  EXPECT_EQ(watching.readies, 2);
}

TEST(Watch, BeginsWithWhatThereIsIfAsked) {
  Lab lab;
  for (const char* name : {"x", "y", "z"}) lab.put(pod({"a", name}));
  lab.put(pod({"b", "x"}));
  Watching plain(lab.store(), {.range = {.ns = "a"}, .initial_events = true});
  Watching marked(lab.store(),
                  {.range = {.ns = "a"}, .initial_events = true, .initial_bookmark = true});
  Watching none(lab.store(),
                {.range = {.ns = "c"}, .initial_events = true, .initial_bookmark = true});
  lab.put(pod({"a", "x"}, {.node = "n1"}));  // 6, after they began
  lab.erase({"a", "z"});                     // 7
  const std::vector<std::string> there{"ADDED a/x@2", "ADDED a/y@3", "ADDED a/z@4"};
  const std::vector<std::string> then{"MODIFIED a/x@6", "DELETED a/z@7"};
  std::vector<std::string> all = there;
  all.insert(all.end(), then.begin(), then.end());
  EXPECT_EQ(plain.read(), all);
  all.insert(all.begin() + 3, "BOOKMARK @5 end");
  EXPECT_EQ(marked.read(2), all);
  EXPECT_THAT(none.read(), ElementsAre("BOOKMARK @5 end"));
}

TEST(Watch, BookmarksComeEveryMinuteToThoseWhoAskedAndAreIdle) {
  Lab lab;
  lab.put(pod(kWeb));
  Watching asked(lab.store(), {.range = {.ns = "a"}, .after = 2, .bookmarks = true});
  Watching silent(lab.store(), {.range = {.ns = "a"}, .after = 2});
  Watching behind(lab.store(), {.range = {.ns = "a"}, .after = 1, .bookmarks = true});
  asked.read();
  silent.read();
  lab.put(pod({"b", "x"}));  // 3
  lab.world.run_for(59s);
  EXPECT_EQ(asked.readies, 0);
  lab.world.run_for(2s);
  EXPECT_EQ(asked.readies, 1);
  EXPECT_THAT(asked.read(), ElementsAre("BOOKMARK @3"));
  EXPECT_EQ(silent.readies, 0);
  EXPECT_EQ(behind.readies, 0);
  EXPECT_THAT(behind.read(), ElementsAre("ADDED a/web@2"));
  lab.world.run_for(60s);
  EXPECT_THAT(asked.read(), ElementsAre("BOOKMARK @3"));
  EXPECT_THAT(behind.read(), ElementsAre("BOOKMARK @3"));
}

TEST(Watch, ABookmarkFollowsTheEventsItCovers) {
  Lab lab;
  Watching watching(lab.store(), {.after = 1, .bookmarks = true});
  watching.read();
  lab.store().bookmark(watching.id);
  EXPECT_EQ(watching.readies, 1);
  lab.put(pod(kWeb));
  lab.put(pod(kWeb));
  EXPECT_THAT(watching.read(1), ElementsAre("ADDED a/web@2", "MODIFIED a/web@3", "BOOKMARK @3"));
}

TEST(Watch, BookmarkTimersDoNotKeepAWorldBusy) {
  Lab lab;
  Watching watching(lab.store(), {.after = 1, .bookmarks = true});
  watching.read();
  EXPECT_TRUE(lab.world.run_until_idle(1h));
  EXPECT_EQ(lab.world.clock().now(), Instant{});
}

TEST(Watch, BelowTheFloorIsOneErrorAndTheEnd) {
  Lab lab;
  lab.put(pod(kWeb));  // 2
  lab.put(pod(kWeb));  // 3
  lab.store().compact(3);
  Watching watching(lab.store(), {.after = 2});
  EXPECT_THAT(watching.read(), ElementsAre("ERROR too old resource version: 2 (3)"));
  EXPECT_TRUE(watching.ended);
  EXPECT_EQ(watching.events[0].error->reason, Reason::kExpired);
  EXPECT_EQ(watching.events[0].error->code, 410);
  lab.put(pod(kWeb));
  EXPECT_EQ(watching.readies, 0);
  EXPECT_THAT(watching.read(), IsEmpty());
  EXPECT_TRUE(watching.ended);
  Watching at_the_floor(lab.store(), {.after = 3});
  EXPECT_THAT(at_the_floor.read(), ElementsAre("MODIFIED a/web@4"));
}

TEST(Watch, OfAKindThatIsServedLaterCannotBeginBefore) {
  Lab lab;
  lab.put(pod(kWeb));  // 2
  lab.put(pod(kWeb));  // 3
  lab.store().open(kube::kPod);
  Watching watching(lab.store(), {.after = 2});
  EXPECT_THAT(watching.read(), ElementsAre("ERROR too old resource version: 2 (3)"));
  lab.put(pod(kWeb));
  Watching at_the_floor(lab.store(), {.after = 3});
  EXPECT_THAT(at_the_floor.read(), ElementsAre("MODIFIED a/web@4"));
}

TEST(Watch, OneThatIsTooSlowIsLeftBehindAndOneThatIsIdleIsNot) {
  Lab lab;
  Watching slow(lab.store(), {.after = 1});
  Watching idle(lab.store(), {.range = {.ns = "quiet"}, .after = 1});
  slow.read();
  idle.read();
  for (int i = 0; i < 10; ++i) lab.put(pod(kWeb));
  lab.store().compact(5);
  lab.put(pod({"quiet", "x"}));  // 12
  EXPECT_THAT(slow.read(), ElementsAre(HasSubstr("ERROR too old resource version")));
  EXPECT_THAT(idle.read(), ElementsAre("ADDED quiet/x@12"));
}

TEST(Watch, AnInitialStateThatHistoryOvertakesExpires) {
  Lab lab;
  for (int i = 0; i < 5; ++i) lab.put(pod({"a", fmt::format("p{}", i)}));
  Watching watching(lab.store(), {.initial_events = true});
  EXPECT_THAT(lab.store().read(watching.id, 2).events, SizeIs(2));
  lab.erase({"a", "p4"});
  lab.store().compact(lab.store().published());
  EXPECT_THAT(watching.read(), ElementsAre(HasSubstr("ERROR too old resource version")));
}

TEST(Watch, FromARevisionYetToComeSkipsWhatComesBefore) {
  Lab lab;
  Watching watching(lab.store(), {.after = 3});
  watching.read();
  lab.put(pod(kWeb));
  lab.put(pod(kWeb));
  lab.put(pod(kWeb));
  EXPECT_THAT(watching.read(), ElementsAre("MODIFIED a/web@4"));
}

TEST(Watch, ManyEventsThatConcernOthersAreReadInSlices) {
  Lab lab;
  Watching watching(lab.store(), {.selector = select("app=web"), .after = 1});
  for (std::size_t i = 0; i < Store::kStep + 10; ++i) lab.put(pod(kWeb));
  lab.put(pod(kWeb, {.app = "web"}));
  const WatchBatch first = lab.store().read(watching.id, 100);
  EXPECT_THAT(first.events, IsEmpty());
  EXPECT_TRUE(first.more);
  EXPECT_THAT(watching.read(), SizeIs(1));
}

TEST(Watch, ASinkMayEndAnyWatch) {
  Lab lab;
  struct Ender final : WatchSink {
    explicit Ender(Store& in) : store(in) {}
    void ready(WatchId) override {
      ++readies;
      for (const WatchId id : ids) store.unwatch(id);
    }
    Store& store;
    std::vector<WatchId> ids;
    int readies = 0;
  } ender(lab.store());
  for (int i = 0; i < 3; ++i)
    ender.ids.push_back(lab.store().watch({.kind = kube::kPod, .after = 1}, ender));
  for (const WatchId id : ender.ids) lab.store().read(id, 1);
  lab.put(pod(kWeb));
  EXPECT_EQ(ender.readies, 1);
  EXPECT_EQ(lab.store().stats().watchers, 0u);
}

}  // namespace
}  // namespace berth::apiserver
