// SPDX-License-Identifier: Apache-2.0
// What an informer promises, promise by promise, against a small server in virtual time.
#include "client/informer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/world.h"
#include "client/faulty_transport.h"
#include "client/local_transport.h"
#include "fake_server.h"

namespace berth::faults {
namespace {

using client::Informer;
using client::InformerHandler;
using client::InformerOptions;
using client::Keep;
using kube::Key;
using kube::kPod;
using kube::Object;
using testing::ElementsAre;
using testing::IsEmpty;

Key pod(std::string name) { return {"default", std::move(name)}; }
std::string on_node(const std::string& node) { return R"("spec":{"nodeName":")" + node + "\"}"; }

class InformerTest : public testing::Test {
 protected:
  ~InformerTest() override {
    bool closed = false;
    root.close({}, [&] { closed = true; });
    world.run_for(1s);
    EXPECT_TRUE(closed);
  }
  InformerOptions pods() {
    InformerOptions options;
    options.feed.kind = kPod;
    options.feed.server = traits;
    return options;
  }
  Informer<>& start(InformerOptions options) {
    informer = std::make_unique<Informer<>>(root, transport, Random(5), std::move(options));
    informer->add_handler(tell_story());
    informer->start();
    return *informer;
  }
  Informer<>& start() { return start(pods()); }
  InformerHandler<Object> tell_story() {
    InformerHandler<Object> handler;
    handler.added = [this](const Object& o) { say("+", o); };
    handler.updated = [this](const Object&, const Object& o) { say("~", o); };
    handler.deleted = [this](const Object& o) { say("-", o); };
    return handler;
  }
  void say(std::string_view what, const Object& o) {
    story.push_back(fmt::format("{}{} {}", what, o.name(), o.member("spec")["nodeName"].text()));
  }
  std::vector<std::string> told() { return std::exchange(story, {}); }
  std::vector<std::string> cached() {
    std::vector<std::string> out;
    for (const Object* o : informer->list())
      out.push_back(fmt::format("{} {}", o->name(), o->member("spec")["nodeName"].text()));
    return out;
  }

  World world{11};
  std::shared_ptr<client::ServerTraits> traits = std::make_shared<client::ServerTraits>();
  FakeServer server{world.loop("api"), Random(1)};
  client::LocalTransport wire{world.loop("api"), server, {}};
  Scope root{world.loop("client"), "test"};
  client::FaultyTransport transport{root, wire, {}, Random(2)};
  std::unique_ptr<Informer<>> informer;
  std::vector<std::string> story;
};

TEST_F(InformerTest, StreamsTheStateThenFollowsEveryChange) {
  server.set(kPod, pod("b"), on_node("n1"));
  server.set(kPod, pod("a"), on_node("n1"));
  start();
  EXPECT_FALSE(informer->synced());
  world.run_for(1s);
  EXPECT_TRUE(informer->synced());
  EXPECT_THAT(told(), ElementsAre("+a n1", "+b n1"));
  server.set(kPod, pod("a"), on_node("n2"));
  server.remove(kPod, pod("b"));
  server.set(kube::kNode, {"", "n1"}, R"("spec":{})");
  world.run_for(1s);
  EXPECT_THAT(told(), ElementsAre("~a n2", "-b n1"));
  EXPECT_THAT(cached(), ElementsAre("a n2"));
  EXPECT_EQ(server.requests, 1u) << "one WatchList, no list";
}

TEST_F(InformerTest, SaysThatItsKindIsWithheldUntilItIsServed) {
  server.set(kPod, pod("a"), on_node("n1"));
  server.serve({kube::kNode});
  informer = std::make_unique<Informer<>>(root, transport, Random(5), pods());
  int told_of = 0;
  informer->on_withheld([&] { ++told_of; });
  informer->start();
  EXPECT_FALSE(informer->withheld()) << "nobody was asked yet";
  world.run_for(1min);
  EXPECT_TRUE(informer->withheld());
  EXPECT_FALSE(informer->synced());
  EXPECT_EQ(told_of, 1) << "once, however often it is refused";
  server.serve({});
  world.run_for(1min);
  EXPECT_FALSE(informer->withheld());
  EXPECT_TRUE(informer->has(pod("a")));
}

TEST_F(InformerTest, AServerThatIsAwayDoesNotWithhold) {
  transport.set_away(true);
  start();
  world.run_for(1min);
  EXPECT_FALSE(informer->withheld());
}

// 1
TEST_F(InformerTest, PerKeyRevisionsRiseStrictly) {
  transport.set({.watch_duplicate = 1});
  kube::Revision last = 0;
  int events = 0;
  informer = std::make_unique<Informer<>>(root, transport, Random(5), pods());
  InformerHandler<Object> handler;
  handler.added = [&](const Object& o) { last = o.revision(); };
  handler.updated = [&](const Object& before, const Object& after) {
    EXPECT_EQ(before.revision(), last);
    EXPECT_GT(after.revision(), last);
    last = after.revision();
    ++events;
  };
  informer->add_handler(std::move(handler));
  informer->start();
  for (int i = 0; i < 50; ++i) {
    server.set(kPod, pod("a"), on_node("n" + std::to_string(i)));
    world.run_for(10ms);
  }
  EXPECT_EQ(events, 49);
  EXPECT_GT(informer->stats().stale, 0u);
}

// 1
TEST_F(InformerTest, ANewUidUnderTheSameNameArrivesAsDeleteThenAdd) {
  server.set(kPod, pod("a"), on_node("n1"));
  start();
  world.run_for(1s);
  told();
  transport.set_away(true);
  server.remove(kPod, pod("a"));
  server.set(kPod, pod("a"), on_node("n2"));
  server.compact();
  transport.set_away(false);
  world.run_for(1min);
  EXPECT_THAT(told(), ElementsAre("-a n1", "+a n2"));
}

// 1, the other side of it
TEST_F(InformerTest, ADeletedKeyDoesNotComeBackWithAnOldEvent) {
  start();
  world.run_for(1s);
  transport.set({.watch_duplicate = 1});
  for (int i = 0; i < 30; ++i) {
    server.set(kPod, pod("b"), on_node("n1"));  // alone in its batch; the next two share one
    server.set(kPod, pod("a"), on_node("n1"));
    server.remove(kPod, pod("a"));
    world.run_for(100ms);
    EXPECT_FALSE(informer->has(pod("a")));
  }
  EXPECT_EQ(told().size(), 90u);
}

// 2
TEST_F(InformerTest, IntermediateStatesMayBeSkippedTheLastOneNever) {
  server.set(kPod, pod("a"), on_node("n1"));
  start();
  world.run_for(1s);
  told();
  transport.set_away(true);
  for (int i = 2; i < 20; ++i) server.set(kPod, pod("a"), on_node("n" + std::to_string(i)));
  server.compact();
  transport.set_away(false);
  world.run_for(1min);
  EXPECT_THAT(told(), ElementsAre("~a n19"));
  EXPECT_THAT(cached(), ElementsAre("a n19"));
}

// 3
TEST_F(InformerTest, TheCacheAlreadyShowsAnEventWhenItsHandlerRuns) {
  informer = std::make_unique<Informer<>>(root, wire, Random(5), pods());
  int events = 0;
  InformerHandler<Object> handler;
  handler.added = [&](const Object& o) {
    ASSERT_TRUE(informer->has(o.key()));
    EXPECT_EQ(informer->get(o.key())->revision(), o.revision());
    EXPECT_TRUE(world.loop("client").here());
    ++events;
  };
  handler.updated = [&](const Object&, const Object& o) {
    EXPECT_EQ(informer->get(o.key())->revision(), o.revision());
    ++events;
  };
  handler.deleted = [&](const Object& o) {
    EXPECT_FALSE(informer->has(o.key()));
    ++events;
  };
  informer->add_handler(std::move(handler));
  informer->start();
  for (int i = 0; i < 5; ++i) {
    server.set(kPod, pod("a"), on_node("n1"));
    server.set(kPod, pod("a"), on_node("n2"));
    server.remove(kPod, pod("a"));
    world.run_for(1s);
  }
  EXPECT_GE(events, 12);
}

// 4
TEST_F(InformerTest, AKeyMissingAfterARelistIsDeletedWithTheLastKnownObject) {
  server.set(kPod, pod("a"), on_node("n1"));
  server.set(kPod, pod("b"), on_node("n2"));
  start();
  world.run_for(1s);
  told();
  transport.set_away(true);
  server.remove(kPod, pod("b"));
  server.compact();
  transport.set_away(false);
  world.run_for(1min);
  EXPECT_THAT(told(), ElementsAre("-b n2"));
  EXPECT_EQ(informer->stats().relists, 1u);
}

// 5
TEST_F(InformerTest, SeenIsTheRevisionUpToWhichTheCacheIsComplete) {
  start();
  EXPECT_EQ(informer->seen(), 0u);
  world.run_for(1s);
  EXPECT_EQ(informer->seen(), server.revision());
  for (int i = 0; i < 20; ++i) {
    const Object written = server.set(kPod, pod("a"), on_node("n" + std::to_string(i)));
    EXPECT_LT(informer->seen(), written.revision());
    world.run_for(1s);
    EXPECT_GE(informer->seen(), written.revision());
    EXPECT_EQ(informer->get(pod("a"))->revision(), written.revision());
  }
  server.set(kube::kNode, {"", "n1"}, R"("spec":{})");
  world.run_for(61s);
  EXPECT_EQ(informer->seen(), server.revision()) << "by a bookmark";
}

// 6
TEST_F(InformerTest, TellsWheneverItHasSeenMoreWithEventsBookmarksAndSnapshots) {
  std::vector<kube::Revision> seen;
  start().on_advanced([&] { seen.push_back(informer->seen()); });
  world.run_for(1s);
  EXPECT_THAT(std::exchange(seen, {}), ElementsAre(server.revision()));
  server.set(kPod, pod("a"), on_node("n1"));
  world.run_for(1s);
  EXPECT_THAT(std::exchange(seen, {}), ElementsAre(server.revision()));
  server.set(kube::kNode, {"", "n1"}, "");  // only a bookmark tells of it
  world.run_for(1s);
  EXPECT_THAT(seen, IsEmpty());
  world.run_for(1min);
  EXPECT_THAT(std::exchange(seen, {}), ElementsAre(server.revision()));
  server.set(kube::kNode, {"", "n2"}, "");
  server.compact();
  server.cut_watches();
  world.run_for(1min);
  EXPECT_EQ(seen.back(), server.revision()) << "by a new snapshot";
}

TEST_F(InformerTest, ListsOneNamespace) {
  for (const char* ns : {"a", "b", "bb"})
    for (const char* name : {"x", "y"}) server.set(kPod, {ns, name}, "");
  start();
  world.run_for(1s);
  std::vector<std::string> found;
  for (const Object* object : informer->list("b")) found.push_back(object->key().text());
  EXPECT_THAT(found, ElementsAre("b/x", "b/y"));
  EXPECT_THAT(informer->list("c"), IsEmpty());
}

TEST_F(InformerTest, WhileTheServerIsAwayThereIsOneTimerAndNoWork) {
  server.set(kPod, pod("a"), on_node("n1"));
  start();
  world.run_for(1s);
  transport.set_away(true);
  world.run_for(5min);
  const std::uint64_t calls = transport.calls(), steps = world.steps();
  world.run_for(1h);
  EXPECT_LE(transport.calls() - calls, 240u) << "every 15 s at most";
  EXPECT_GE(transport.calls() - calls, 120u) << "every 30 s at least";
  EXPECT_LE(world.steps() - steps, 4 * (transport.calls() - calls));
  server.set(kPod, pod("a"), on_node("n2"));
  transport.set_away(false);
  world.run_for(31s);
  EXPECT_THAT(cached(), ElementsAre("a n2"));
  EXPECT_EQ(informer->stats().relists, 0u) << "it resumed where it was";
}

TEST_F(InformerTest, HandlersAddedLaterGetTheCurrentStateAsAdds) {
  server.set(kPod, pod("a"), on_node("n1"));
  start();
  world.run_for(1s);
  server.set(kPod, pod("b"), on_node("n1"));
  world.run_for(1s);
  told();
  informer->add_handler(tell_story());
  EXPECT_THAT(told(), IsEmpty()) << "never inline";
  world.run_for(1s);
  EXPECT_THAT(told(), ElementsAre("+a n1", "+b n1"));
  server.set(kPod, pod("b"), on_node("n2"));
  world.run_for(1s);
  EXPECT_THAT(told(), ElementsAre("~b n2", "~b n2"));
}

TEST_F(InformerTest, ListsPageByPageWhereWatchListIsUnknownAndRemembersThatForTheServer) {
  server.knows_watch_list(false);
  for (int i = 0; i < 1200; ++i) server.set(kPod, pod(fmt::format("p{:04}", i)), on_node("n1"));
  start();
  world.run_for(1s);
  EXPECT_TRUE(informer->synced());
  EXPECT_EQ(informer->size(), 1200u);
  EXPECT_EQ(server.lists, 3u);
  EXPECT_EQ(server.watches, 2u);
  Informer<> second(root, transport, Random(6), pods());
  second.start();
  world.run_for(1s);
  EXPECT_TRUE(second.synced());
  EXPECT_EQ(server.watches, 3u) << "it did not try again";
  bool closed = false;
  root.close({}, [&] { closed = true; });
  world.run_for(1s);
  EXPECT_TRUE(closed);
}

TEST_F(InformerTest, AListThatExpiresBetweenPagesIsTakenAgainInOnePiece) {
  server.knows_watch_list(false);
  for (int i = 0; i < 1200; ++i) server.set(kPod, pod(fmt::format("p{:04}", i)), on_node("n1"));
  start();
  while (server.lists == 0) world.step();
  server.compact();
  world.run_for(1s);
  EXPECT_TRUE(informer->synced());
  EXPECT_EQ(server.lists, 3u);
  EXPECT_EQ(told().size(), 1200u) << "each key once, although it was listed twice";
}

TEST_F(InformerTest, ResumesWithoutARelistWhenTheServerComesBackWithItsHistory) {
  start();
  world.run_for(1s);
  for (int i = 0; i < 10; ++i) {
    server.cut_watches();
    server.set(kPod, pod("a"), on_node("n" + std::to_string(i)));
    world.run_for(5min);
  }
  EXPECT_EQ(server.lists, 0u);
  EXPECT_EQ(told().size(), 10u);
}

TEST_F(InformerTest, ConvergesOnAServerThatWasRestoredToAnOlderState) {
  server.set(kPod, pod("a"), on_node("n1"));
  server.set(kPod, pod("b"), on_node("n1"));
  const FakeServer::Backup backup = server.backup();
  start();
  world.run_for(1s);
  server.set(kPod, pod("a"), on_node("n2"));
  server.set(kPod, pod("c"), on_node("n2"));
  world.run_for(1s);
  told();
  server.restore(backup);
  world.run_for(10min);
  EXPECT_THAT(cached(), ElementsAre("a n1", "b n1"));
  EXPECT_THAT(told(), ElementsAre("-a n2", "+a n1", "-c n2"));
  server.set(kPod, pod("b"), on_node("n3"));
  world.run_for(1s);
  EXPECT_THAT(told(), ElementsAre("~b n3"));
}

TEST_F(InformerTest, AHalfOpenConnectionIsNoticedAfterTwoBookmarkIntervals) {
  start();
  world.run_for(1s);
  transport.set({.watch_silence = 1});
  server.set(kPod, pod("a"), on_node("n1"));
  world.run_for(1s);
  transport.set({});
  EXPECT_THAT(told(), IsEmpty());
  world.run_for(125s);
  EXPECT_THAT(told(), ElementsAre("+a n1"));
}

TEST_F(InformerTest, FollowsOnlyItsNamespace) {
  InformerOptions options = pods();
  options.feed.ns = "default";
  server.set(kPod, {"other", "x"}, on_node("n1"));
  server.set(kPod, pod("a"), on_node("n1"));
  start(std::move(options));
  world.run_for(1s);
  server.set(kPod, {"other", "y"}, on_node("n1"));
  world.run_for(1s);
  EXPECT_THAT(cached(), ElementsAre("a n1"));
}

TEST_F(InformerTest, IndexesFollowTheirObjects) {
  informer = std::make_unique<Informer<>>(root, wire, Random(5), pods());
  informer->add_index("node", [](const Object& o) -> std::vector<std::string> {
    return {o.member("spec")["nodeName"].text()};
  });
  informer->start();
  const auto names = [&](std::string_view node) {
    std::vector<std::string> out;
    for (const Object* o : informer->by_index("node", node)) out.emplace_back(o->name());
    return out;
  };
  server.set(kPod, pod("b"), on_node("n1"));
  server.set(kPod, pod("a"), on_node("n1"));
  world.run_for(1s);
  EXPECT_THAT(names("n1"), ElementsAre("a", "b"));
  server.set(kPod, pod("a"), on_node("n2"));
  world.run_for(1s);
  EXPECT_THAT(names("n1"), ElementsAre("b"));
  EXPECT_THAT(names("n2"), ElementsAre("a"));
  server.remove(kPod, pod("b"));
  world.run_for(1s);
  EXPECT_THAT(names("n1"), IsEmpty());
}

TEST_F(InformerTest, KeepsWhatItCompiledAndDropsTheDocument) {
  int compiled = 0;
  Informer<std::string> nodes(root, wire, Random(5), pods(), [&](const Object& o) {
    ++compiled;
    return o.member("spec")["nodeName"].text();
  });
  std::vector<std::string> changes;
  InformerHandler<std::string> handler;
  handler.updated = [&](const std::string& before, const std::string& after) {
    changes.push_back(before + ">" + after);
  };
  handler.deleted = [&](const std::string& last) { changes.push_back("-" + last); };
  nodes.add_handler(std::move(handler));
  nodes.start();
  server.set(kPod, pod("a"), on_node("n1"));
  world.run_for(1s);
  server.set(kPod, pod("a"), on_node("n2"));
  server.remove(kPod, pod("a"));
  world.run_for(1s);
  EXPECT_THAT(changes, ElementsAre("n1>n2", "-n2"));
  EXPECT_EQ(compiled, 3);
  bool closed = false;
  root.close({}, [&] { closed = true; });
  world.run_for(1s);
  EXPECT_TRUE(closed);
}

TEST_F(InformerTest, CutsManagedFieldsUnlessAskedAndAllButMetadataWhenAsked) {
  server.set(
      kPod, pod("a"),
      R"("metadata":{"labels":{"x":"y"},"managedFields":[{"manager":"m"}]},)" + on_node("n"));
  start();
  InformerOptions whole = pods(), meta = pods();
  whole.feed.managed_fields = true;
  meta.keep = Keep::kMetadata;
  Informer<> with(root, wire, Random(6), whole), metadata(root, wire, Random(7), meta);
  with.start();
  metadata.start();
  world.run_for(1s);
  EXPECT_FALSE(informer->get(pod("a"))->metadata()["managedFields"].present());
  EXPECT_TRUE(with.get(pod("a"))->metadata()["managedFields"].present());
  EXPECT_EQ(metadata.get(pod("a"))->label("x"), "y");
  EXPECT_FALSE(metadata.get(pod("a"))->member("spec").present());
  bool closed = false;
  root.close({}, [&] { closed = true; });
  world.run_for(1s);
  EXPECT_TRUE(closed);
}

TEST_F(InformerTest, CountsItsTroublesAsMetrics) {
  Metrics metrics;
  InformerOptions options = pods();
  options.feed.metrics = &metrics;
  start(std::move(options));
  world.run_for(1s);
  server.cut_watches();
  server.set(kPod, pod("a"), on_node("n1"));
  server.compact();
  world.run_for(1min);
  EXPECT_THAT(metrics.exposition(),
              testing::HasSubstr("berth_informer_relists_total{resource=\"pods\"} 1"));
  EXPECT_THAT(metrics.exposition(),
              testing::HasSubstr("berth_informer_watch_restarts_total{resource=\"pods\"} 2"));
}

TEST_F(InformerTest, SaysWhenItIsSyncedAfterTheAdds) {
  server.set(kPod, pod("a"), on_node("n1"));
  start();
  informer->on_synced([this] { story.push_back("synced"); });
  world.run_for(1s);
  EXPECT_THAT(told(), ElementsAre("+a n1", "synced"));
}

TEST_F(InformerTest, NothingIsDeliveredOnceItsScopeCloses) {
  server.set(kPod, pod("a"), on_node("n1"));
  server.set(kPod, pod("b"), on_node("n1"));
  informer = std::make_unique<Informer<>>(root, wire, Random(5), pods());
  InformerHandler<Object> handler;
  bool closed = false;
  handler.added = [&](const Object& o) {
    say("+", o);
    root.close({}, [&] { closed = true; });
  };
  informer->add_handler(std::move(handler));
  informer->start();
  world.run_for(1s);
  server.set(kPod, pod("c"), on_node("n1"));
  world.run_for(10min);
  EXPECT_TRUE(closed);
  EXPECT_EQ(told().size(), 1u);
}

}  // namespace
}  // namespace berth::faults
