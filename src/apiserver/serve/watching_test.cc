// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/watching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/serve/test_server.h"

namespace berth::apiserver {
namespace {

using kube::kConfigMap;
using kube::kPod;
using kube::Verb;
using kube::WatchEvent;
using testing::ElementsAre;
using testing::IsEmpty;

// Reads a watch to its end and writes down what it sees: "ADDED p", "BOOKMARK end".
class Reader {
 public:
  Reader(TestServer& server, kube::KindId kind, std::string ns, kube::Options options)
      : server_(server) {
    Result<kube::ApiReply> reply = server.call(
        TestServer::ask(Verb::kWatch, kind, {std::move(ns), ""}, "", std::move(options)), 5s);
    if (!reply) {
      refused = reply.error();
      return;
    }
    stream = std::move(std::get<std::unique_ptr<kube::WatchStream>>(reply->body));
    read();
    server_.world.run_until_idle({});
  }

  std::vector<std::string> take() { return std::exchange(seen, {}); }

  std::unique_ptr<kube::WatchStream> stream;
  std::vector<std::string> seen;
  std::optional<Error> refused;
  bool ended = false;

 private:
  static std::string text(const WatchEvent& event) {
    switch (event.type) {
      case WatchEvent::Type::kAdded:
        return fmt::format("ADDED {}", event.object.name());
      case WatchEvent::Type::kModified:
        return fmt::format("MODIFIED {}", event.object.name());
      case WatchEvent::Type::kDeleted:
        return fmt::format("DELETED {}", event.object.name());
      case WatchEvent::Type::kBookmark:
        return fmt::format("BOOKMARK{}", event.initial_events_end ? " end" : "");
      case WatchEvent::Type::kError:
        break;
    }
    return fmt::format("ERROR {} {}", event.error->code, name_of(event.error->reason));
  }
  void read() {
    stream->read(server_.scope().done<kube::WatchStream::Batch>(
        kNoLimit, [this](Result<kube::WatchStream::Batch> batch) {
          if (!batch) return;
          for (const WatchEvent& event : batch->events) seen.push_back(text(event));
          ended = batch->end;
          if (!ended) read();
        }));
  }
  TestServer& server_;
};

std::string config(std::string_view name, std::string_view more = "") {
  return fmt::format(R"({{"metadata":{{"name":"{}"{}}}}})", name, more);
}

TEST(Watching, WithoutARevisionBeginsWithWhatThereIs) {
  TestServer server;
  ASSERT_TRUE(server.create(kConfigMap, "a", config("x")).has_value());
  Reader reader(server, kConfigMap, "a", {});
  EXPECT_THAT(reader.take(), ElementsAre("ADDED x"));
  ASSERT_TRUE(server.create(kConfigMap, "a", config("y")).has_value());
  ASSERT_TRUE(server.create(kConfigMap, "b", config("z")).has_value());
  EXPECT_THAT(reader.take(), ElementsAre("ADDED y"));
}

TEST(Watching, FromARevisionGivesWhatCameAfter) {
  TestServer server;
  const auto first = server.create(kConfigMap, "a", config("x"));
  ASSERT_TRUE(server.create(kConfigMap, "a", config("y")).has_value());
  Reader reader(server, kConfigMap, "a", {.resource_version = std::to_string(first->revision())});
  EXPECT_THAT(reader.take(), ElementsAre("ADDED y"));
}

TEST(Watching, WithoutInitialEventsAndRevisionBeginsNow) {
  TestServer server;
  ASSERT_TRUE(server.create(kConfigMap, "a", config("x")).has_value());
  server.store().compact(server.store().published());
  kube::Options options;
  options.send_initial_events = false;
  options.version_match = kube::VersionMatch::kNotOlderThan;
  Reader reader(server, kConfigMap, "a", options);
  ASSERT_TRUE(server.create(kConfigMap, "a", config("y")).has_value());
  EXPECT_THAT(reader.take(), ElementsAre("ADDED y"));
}

TEST(Watching, OfWhatIsForgottenGivesOneErrorAndEnds) {
  TestServer server;
  ASSERT_TRUE(server.create(kConfigMap, "a", config("x")).has_value());
  ASSERT_TRUE(server.create(kConfigMap, "a", config("y")).has_value());
  server.store().compact(server.store().published());
  Reader reader(server, kConfigMap, "a", {.resource_version = "1"});
  EXPECT_THAT(reader.seen, ElementsAre("ERROR 410 Expired"));
  EXPECT_TRUE(reader.ended);
}

TEST(Watching, ThatWantsInitialEventsIsToldWhereTheyEnd) {
  TestServer server;
  ASSERT_TRUE(server.create(kConfigMap, "a", config("x")).has_value());
  Reader reader(server, kConfigMap, "",
                {.version_match = kube::VersionMatch::kNotOlderThan,
                 .bookmarks = true,
                 .send_initial_events = true});
  EXPECT_THAT(reader.take(), ElementsAre("ADDED x", "BOOKMARK end"));
  Reader refused(server, kConfigMap, "", {.send_initial_events = true});
  ASSERT_TRUE(refused.refused.has_value());
  EXPECT_EQ(refused.refused->code, 422);
}

TEST(Watching, ObjectsComeAndGoWithTheSelector) {
  TestServer server;
  Reader reader(server, kPod, "",
                {.field_selector = "status.phase!=Succeeded,status.phase!=Failed"});
  ASSERT_TRUE(server.create(kPod, "a", pod_json("p")).has_value());
  ASSERT_TRUE(server
                  .patch(kPod, {"a", "p"}, R"({"status":{"phase":"Running"}})",
                         kube::PatchType::kMerge, "status")
                  .has_value());
  ASSERT_TRUE(server
                  .patch(kPod, {"a", "p"}, R"({"status":{"phase":"Succeeded"}})",
                         kube::PatchType::kMerge, "status")
                  .has_value());
  EXPECT_THAT(reader.take(), ElementsAre("ADDED p", "MODIFIED p", "DELETED p"));
}

TEST(Watching, EndsCleanlyWhenItsTimeIsOverWithABookmarkBefore) {
  TestServer server;
  Reader reader(server, kConfigMap, "",
                {.resource_version = std::to_string(server.store().published()),
                 .bookmarks = true,
                 .timeout_seconds = 10});
  server.world.run_for(9s);
  EXPECT_THAT(reader.take(), ElementsAre("BOOKMARK"));
  EXPECT_FALSE(reader.ended);
  server.world.run_for(2s);
  EXPECT_THAT(reader.take(), IsEmpty());
  EXPECT_TRUE(reader.ended);
  EXPECT_EQ(server.store().stats().watchers, 0U);
}

TEST(Watching, WithoutATimeLastsBetweenOneAndTwoOfTheServers) {
  TestServer server({}, {}, {.watch_from = 60s});
  Reader reader(server, kConfigMap, "", {});
  server.world.run_for(59s);
  EXPECT_FALSE(reader.ended);
  server.world.run_for(62s);
  EXPECT_TRUE(reader.ended);
}

TEST(Watching, TheStoreForgetsAReaderThatHasGone) {
  TestServer server;
  {
    Reader reader(server, kConfigMap, "", {});
    EXPECT_EQ(server.store().stats().watchers, 1U);
  }
  server.world.run_until_idle({});
  EXPECT_EQ(server.store().stats().watchers, 0U);
  ASSERT_TRUE(server.create(kConfigMap, "a", config("x")).has_value());
}

TEST(Watching, NoMoreThanAllowedAreOpen) {
  TestServer server({}, {}, {.limits = {.watches = 1}});
  Reader first(server, kConfigMap, "", {});
  Reader second(server, kConfigMap, "", {});
  ASSERT_TRUE(second.refused.has_value());
  EXPECT_EQ(second.refused->code, 429);
  EXPECT_EQ(second.refused->retry_after, Duration(1s));
}

TEST(Watching, AServerThatClosesEndsItsWatches) {
  TestServer server;
  auto reader = std::make_unique<Reader>(server, kConfigMap, "", kube::Options{});
  server.scope().close(1s, [] {});
  server.world.run_until_idle(5s);
  EXPECT_TRUE(reader->ended);
}

TEST(Watching, BothGroupsSeeAnEventInTheirOwnWords) {
  TestServer server;
  Reader core(server, kube::kCoreEvent, "", {.field_selector = "involvedObject.name=p"});
  Reader newer(server, kube::kEvent, "", {.field_selector = "regarding.name=p"});
  for (const std::string_view about : {"p", "q"})
    ASSERT_TRUE(
        server
            .create(
                kube::kEvent, "default",
                fmt::format(
                    R"({{"metadata":{{"name":"e-{0}"}},"eventTime":"2026-01-02T00:00:00.000000Z",)"
                    R"("reportingController":"c","reportingInstance":"i","action":"A","reason":"R",)"
                    R"("regarding":{{"name":"{0}","namespace":"default"}},"type":"Normal"}})",
                    about))
            .has_value());
  EXPECT_THAT(core.take(), ElementsAre("ADDED e-p"));
  EXPECT_THAT(newer.take(), ElementsAre("ADDED e-p"));
}

}  // namespace
}  // namespace berth::apiserver
